"""The background roles: work that no request triggers.

A role is `tick(engine, now_ms) -> Counts`: bounded, idempotent, and safe to run in several processes at once, for all
it does are atomic scripts. Which roles there are: `roles/`. When they run: `pool_runner`; in which threads:
`role_scheduler`, the one module that knows APScheduler. How one run of a role goes, and what happens when a pool does
not answer: `role`. Every pool has threads of its own, so that one pool's dead Redis delays no other pool. Called by
`manage.py runpump`; calls services, pools and the engine.
"""
