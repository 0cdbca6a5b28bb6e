"""The nightly report, computed by PySpark: Parquet files in (the event lake), Parquet files out.

`command` is the program that `queues.services.reporting` starts as a child process; `day` computes the report of one
day, of `tables` that turn DataFrames into DataFrames; `session` starts Spark, and `java` finds what it runs on.
`schema` says what is in the files that come out; it is all that others import. Knows neither Django nor Redis.
"""
