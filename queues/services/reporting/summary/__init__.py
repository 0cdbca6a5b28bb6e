"""The summary of a day, on paper and as a mail: read once, put into words once, dressed twice."""
