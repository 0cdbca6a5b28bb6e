"""What fails on the way from the database to Redis, at each step: before and after its effect."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

import pytest

from queues.engine import StoreUnavailableError
from taskq.brokers import Broker
from taskq.django.outbox.relay import OutboxRelay

STEPS = ("before the publish", "after the publish", "before the delete", "after the delete", "before the settling")


class KilledError(BaseException):
    """Ends a tick where it is, as the end of its process would: nothing of the tick runs after it but rollbacks."""


@contextmanager
def killed(relay: OutboxRelay, step: str, *, at_call: int = 1) -> Iterator[None]:
    """A tick that ends at this step, of the `at_call`-th publish where it is one."""
    patch = pytest.MonkeyPatch()
    calls = 0

    def die(*_args: Any, **_options: Any) -> NoReturn:
        raise KilledError

    def run(broker: Broker, work: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls < at_call:
            return original(broker, work)
        if step == "after the publish":
            original(broker, work)
        raise KilledError

    original = type(relay.app.broker).run
    if step.endswith("the publish"):
        patch.setattr(type(relay.app.broker), "run", run)
    elif step == "before the settling":
        patch.setattr(OutboxRelay, "_settle", die)
    else:
        patch.setattr(OutboxRelay, "_delete", _deletion(step, OutboxRelay._delete))
    try:
        with pytest.raises(KilledError):
            relay.tick()
        yield
    finally:
        patch.undo()


def _deletion(step: str, original: Any) -> Any:
    def delete(relay: OutboxRelay, rows: Any) -> NoReturn:
        if step == "after the delete":
            original(relay, rows)
        raise KilledError

    return delete


@contextmanager
def redis_away(relay: OutboxRelay, *, after_effect: bool = False) -> Iterator[None]:
    """Each call to Redis fails within the block, before or after its effect."""
    patch = pytest.MonkeyPatch()
    original = type(relay.app.broker).run

    def run(broker: Broker, work: Any) -> NoReturn:
        if after_effect:
            original(broker, work)
        raise StoreUnavailableError("connection refused", reason="refused")

    patch.setattr(type(relay.app.broker), "run", run)
    try:
        yield
    finally:
        patch.undo()
