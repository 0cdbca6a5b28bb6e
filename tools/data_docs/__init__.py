"""Writes what docs/data/ says of columns, from `queues.lake.schema`, `queues.lake.counts` and `queues.reports.schema`.

`documents` makes the tables of the pages, the JSON Schema and the SQL; `python -m tools.data_docs` writes them. A test
compares them with the files.
"""
