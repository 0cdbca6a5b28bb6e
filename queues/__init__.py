"""taskq: jobs on Redis, the metadata about them, the HTTP API, background roles and reports."""

__version__ = "0.1.0"
"""The one place of the version: the wheel, `/version` and the OpenAPI document take it from here."""
