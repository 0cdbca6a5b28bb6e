"""The HTTP API of taskq.

`http/` reads requests and makes responses; `handlers/` holds what each route does, free of Django; `route_docs/`
describes it; `metrics/` counts it. `routes.py` is the one table of routes; `pipeline.py` takes a request through names,
pool, token, limits, handler and errors. Two things call it: `fast_path.py`, below the ASGI middleware of `asgi.py`
that stands in front of Django, and the DRF views of `views.py`. Both answer through `pipeline.answer`, so they cannot
differ. The package calls services; of the engine it knows values, errors and limits.
"""
