"""The page of one queue, and of one job: what they show, find and do, and for whom."""
