"""The Django project: `settings` from environment variables (`env`), root `urls`, `asgi`, and the command `taskq`.

What settings name is here, too: cache, connections, error pages, logs, middleware, static files.
"""
