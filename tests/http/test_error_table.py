"""One table from error code to HTTP status, for API and pages."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator

import queues.api
import queues.services
from dashboard.error_messages import _SENTENCES, is_explained
from queues.api.http.errors import REPLIES
from queues.engine.errors import LayoutError, ScriptError, TaskqError
from queues.services.http_statuses import HTTP_STATUS


def all_errors(base: type[TaskqError] = TaskqError) -> Iterator[type[TaskqError]]:
    yield base
    for error in base.__subclasses__():
        yield from all_errors(error)


def test_every_error_has_a_status_and_every_status_an_error() -> None:
    for package in (queues.services, queues.api):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            importlib.import_module(module.name)

    codes = {error.code for error in all_errors() if error.__module__.startswith("queues.") and not is_internal(error)}

    assert set(HTTP_STATUS) == codes
    assert set(REPLIES) <= codes


def is_internal(error: type[TaskqError]) -> bool:
    """Errors of commands and of the embedded server never reach the API."""
    return error.__module__.startswith(("queues.management", "queues.embedded", "queues.pump"))


def test_replies_that_pass_an_error_on_are_for_the_clients_own_mistakes() -> None:
    passed_on = {code for code in HTTP_STATUS if code not in REPLIES or not REPLIES[code].words}

    assert {HTTP_STATUS[code] for code in passed_on} == {400, 403, 405, 409, 429}


def test_pages_have_a_status_for_all_that_they_explain() -> None:
    assert set(_SENTENCES) <= set(HTTP_STATUS)
    assert not is_explained(ScriptError("defect"))
    assert is_explained(LayoutError("other version"))
