"""Reads reports from the database for one user.

`days` lists the days, `day_reports` reads the report of one day, `merging` adds up several namespaces or days.
"""
