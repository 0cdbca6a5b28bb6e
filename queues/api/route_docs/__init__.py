"""What each route says of itself in the OpenAPI document. Read by the table of routes.

docs/protocol.md says the same at length; a test compares the two.
"""
