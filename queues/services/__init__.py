"""Use cases: what the API, the pages, the admin, the roles and the commands do with jobs and metadata.

A package per noun; beside them what several share: `permissions` of users, `policies` of queues, the `activity` log,
`errors` with their HTTP statuses, and `recent` answers. Services check what a user may do, and note what people did.
They call the models, the pools and the engine.
"""
