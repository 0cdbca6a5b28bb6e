"""One table of errors for the whole API."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator

import queues.api
import queues.services
from queues.api.http.errors import REPLIES
from queues.engine.errors import TaskqError


def all_errors(base: type[TaskqError] = TaskqError) -> Iterator[type[TaskqError]]:
    yield base
    for error in base.__subclasses__():
        yield from all_errors(error)


def test_every_error_has_a_reply_and_every_reply_an_error() -> None:
    for package in (queues.services, queues.api):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            importlib.import_module(module.name)

    codes = {error.code for error in all_errors() if error.__module__.startswith("queues.") and not is_internal(error)}

    assert set(REPLIES) == codes


def is_internal(error: type[TaskqError]) -> bool:
    """Errors of commands and of the embedded server never reach the API."""
    return error.__module__.startswith(("queues.management", "queues.embedded", "queues.pump"))


def test_replies_that_pass_an_error_on_are_for_the_clients_own_mistakes() -> None:
    assert {reply.status for reply in REPLIES.values() if not reply.words} == {400, 403, 405, 409, 429}
