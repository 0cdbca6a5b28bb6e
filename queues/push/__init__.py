"""Delivers the jobs of queues to URLs: what `manage.py runpusher` runs.

`service` follows the endpoints in the database and keeps an `EndpointRunner` for each; a runner (`delivery`) consumes
its queue like any consumer, posts each job (`request_headers`, `queues.http_client`) and ends it by what the receiver
answered (`verdicts`). `recorder` keeps the latest deliveries and counts them. Calls services; called by the
command.
"""
