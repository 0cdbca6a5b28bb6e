"""The HTTP doors of taskq.

`operations/` holds what each route does, free of Django; `routes.py` is the one table of routes; `pipeline.py` takes a
request through names, pool, token, limits, operation and errors. `views.py` and `urls.py` are the DRF door over it, and
`asgi.py` stands in front of Django. Every door answers through `pipeline.answer`, so that doors cannot differ.
"""
