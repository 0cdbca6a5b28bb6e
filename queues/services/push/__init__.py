"""Push endpoints: making, changing and pausing them, and which addresses they may have (`endpoints`), their secrets
(`secrets`), what pages show of them (`reading`) and people do with them (`actions`), and what a pusher reads and notes
(`endpoint_plans`, `records`).

Called by the API, the pages, the admin and `queues.push`; calls models, pools and the engine.
"""
