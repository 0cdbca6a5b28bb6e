"""Reports of days: `making` them, `reading` them, and `presenting` them on pages, on paper, as CSV and in mails;
`planning` says what was used, what it costs, and what is to come.

`values` are what readers get, `failures` why there is no report. Called by the pages, the command `runreport` and the
pump; calls `queues.models` and `queues.lake`, and `queues.reports` through a command line and files only, but for the
names of their columns.
"""
