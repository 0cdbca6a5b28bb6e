"""The commands of `manage.py`, and what only they need: the service on one machine (`local`), a load (`demo_load`).

The outermost layer: commands call everything below, and nothing calls them.
"""
