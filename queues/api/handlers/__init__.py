"""What each route does, a module per family of verbs: request in, response out, free of Django's requests and views.

Called by `queues.api.pipeline` with an authenticated request; calls services and engine operations, and runs them on
the pool's engine. `job_json` and `bulk_body` read and write the JSON of several verbs.
"""
