"""The nightly report, computed by PySpark: Parquet files in (the event lake), Parquet files out.

`command` is the program that `queues.services.reporting` starts as a child process; `day` computes the report of one
day, of `tables` that turn DataFrames into DataFrames; `session` starts Spark, and `java` finds what it runs on. Knows
neither Django nor Redis; nothing imports it.
"""
