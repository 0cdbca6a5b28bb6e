"""Thousands of operations in random order: after each, every job is in the one place where the model has it."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test

from .walk import Walk

EXAMPLES = int(os.environ.get("TASKQ_WALK_EXAMPLES", "60"))
STEPS = int(os.environ.get("TASKQ_WALK_STEPS", "40"))
"""More of them make a longer walk, by hand: about 100 steps a second."""


def test_a_random_walk_agrees_with_the_model_after_every_step(redis_url: str) -> None:
    Walk.redis_url = redis_url
    run_state_machine_as_test(
        Walk,
        settings=settings(
            max_examples=EXAMPLES,
            stateful_step_count=STEPS,
            database=None,
            report_multiple_bugs=False,
            suppress_health_check=list(HealthCheck),
        ),
    )
