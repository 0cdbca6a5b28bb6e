"""The event lake: what happened to jobs, as Parquet files by day and hour, on a local path or any fsspec URL.

`names` says how files are called, `files` which of them count, `storage` where they are, `schema` what is in them;
`footers` and `damage` find those that are damaged, also by `python -m queues.lake`. A drain writes with `writer` what
`lines` made of a stream's entries; `compact` makes few large files of many small ones; `deletion` deletes days;
`iceberg` copies days into an Iceberg table.
`counts` and `appended` hold what Redis itself counts; `reconciliation` holds the lake against the latter.
Needs pyarrow and fsspec; knows neither Django nor Redis. docs/lake.md tells how no event is lost, nor there twice.
"""
