"""Makes the reports of days.

`due_days` says which days are due; `upkeep` reopens and deletes reports; `running` has Spark compute them in a child
process; `claims` keeps two processes from computing one day; `files` reads what Spark wrote; `day_rows` and `loading`
put it into the database; `exporting` copies days of the lake into an Iceberg table; `readiness` tells whether the lake
has all of a day. Called by the commands `runreport`, `exporticeberg` and `lakeready`, and by the pump.
"""
