"""Delivers the jobs of queues to URLs: what `manage.py runpusher` runs.

`pusher` follows the endpoints in the database and keeps an `EndpointRunner` for each; a runner (`runner`) consumes its
queue like any consumer, has each job posted (`requests`, `queues.http_client`) and ends it by what the receiver
answered (`verdicts`). `recorder` keeps the latest deliveries and counts them. Calls services; called by the command.
"""
