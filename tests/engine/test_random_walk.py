"""Thousands of operations in random order: after each, every job is in the one place where the model has it.

And what events say of arrivals and departures adds up to Redis's own counts of jobs.
"""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test

from .counted_walk import CountedWalk

EXAMPLES = int(os.environ.get("TASKQ_WALK_EXAMPLES", "60"))
STEPS = int(os.environ.get("TASKQ_WALK_STEPS", "40"))
"""More of them make a longer walk, by hand: about 100 steps a second."""


def test_after_every_step_of_a_random_walk_jobs_are_where_the_model_has_them_and_events_add_up(redis_url: str) -> None:
    CountedWalk.redis_url = redis_url
    run_state_machine_as_test(
        CountedWalk,
        settings=settings(
            max_examples=EXAMPLES,
            stateful_step_count=STEPS,
            database=None,
            report_multiple_bugs=False,
            suppress_health_check=list(HealthCheck),
        ),
    )
