"""Incidents: what needs a person, from the moment when it is found until it is over.

`findings` has the value that every detector makes, `severity` the one formula by which it is judged, and
`queue_findings` finds what is wrong with queues. `recording` turns findings into rows of `queues.models.Incident`;
`reading`, `lines`, `wording` and `actions` are for pages, the API and the metrics; `alerts` tells other systems. The
watch that finds what is wrong with pools and calls `recording` is `queues.services.incident_watch`.

Called by services above it, pages, API, admin and roles. It imports `queues.models`, `queues.engine`, `queues.pools`
and the services of permissions, activity and push; nothing of `queues.services.queues`, which calls it.
"""
