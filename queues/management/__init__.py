"""The commands of `manage.py`, and what only they need: the service on one machine (`local`), the demo load (`demo`).

The outermost layer: commands call everything below, and nothing calls them.
"""
