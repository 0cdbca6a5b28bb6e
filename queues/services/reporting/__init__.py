"""Reports of days: made, read, and put into words.

Making: `nightly` says which days are due, `running` has Spark compute them in a child process, `claims` keeps two
processes from computing one day, `files` reads what Spark wrote, `rows` and `loading` put it into the database,
`upkeep` deletes and reopens. Reading: `days`, `reading`, `merging` and `queue_list` read for one user; `account` reads
all that a page, paper and the mail tell of a day. Showing: `figures` names and writes figures, `tables` describes the
tables, `summary` and `mail` put a day on paper and into a mail. Called by the pages, the command `runreport` and the
pump; calls `queues.models` and `queues.lake`, and `queues.reports` through a command line and files only.
"""
