"""Incidents: what needs a person, from the moment when it is found until it is over.

`findings` has the value that every detector makes, `severity` the one formula by which it is judged, and `detection`
finds what is wrong with queues and pools. `recording` turns findings into rows of `queues.models.Incident`; `reading`,
`lines` and `actions` are for pages, the API and the metrics; `alerts` tells other systems. The watch that calls
detection and recording is `queues.services.incident_watch`.

Called by services above it, pages, API, admin and roles. It imports `queues.models`, `queues.engine`, `queues.pools`
and the services of permissions, activity, push and `recent`; nothing of `queues.services.queues`, which calls it.
"""
