"""Workflows: jobs with dependencies between them, under one id.

`nodes`: how a node is stored; `records`: one operation for each script on a workflow's record; `node_jobs`: on the jobs
of nodes. Plans: `adding`, `publishing`, `noting`, `reading`, `cancelling`, `retrying`, `attending`.

Called by the relay, services and the library (by way of `queues.engine`); calls scripts.
"""
