"""Push endpoints: making, changing and pausing them (`endpoints`), their secrets (`secrets`), which addresses they may
have (`addresses`), what pages show of them (`reading`) and people do with them (`actions`), and what a pusher reads and
notes (`pushing`, `records`).

Called by the API, the pages, the admin and `queues.push`; calls models, pools and the engine.
"""
