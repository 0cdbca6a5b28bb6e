"""Queues: lists, the page of one, trends, and the survey of all queues that lists and pages share.

The API, the dashboard and the metrics call these."""
