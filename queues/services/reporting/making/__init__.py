"""Makes the reports of days.

`due_days` says which days are due; `upkeep` reopens and deletes reports; `running` has Spark compute them in a child
process; `claims` keeps two processes from computing one day; `files` reads what Spark wrote; `day_rows` and `loading`
put it into the database. Called by the command `runreport` and the pump.
"""
