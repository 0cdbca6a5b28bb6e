"""URL, namespace and token: from the setting TASKQ, and from the OPTIONS of TASKS backends."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from django.conf import settings

from ..errors import NotConfiguredError
from ..queue_limits import QueueLimits, read_queue_limits

BACKEND_NAMES: Final = ("taskq.django.TaskqBackend", "taskq.django.backend.TaskqBackend")
SETTINGS: Final = ("URL", "NAMESPACE", "TOKEN", "SERVICE_URL")
OUTBOX: Final = "OUTBOX"
QUEUE_LIMITS: Final = "QUEUE_LIMITS"


class ConnectionSettings(NamedTuple):
    """Arguments of `open_broker`. None: by the environment (TASKQ_URL, TASKQ_NAMESPACE, TASKQ_TOKEN).

    `service_url`: where the service's HTTP API is, if `url` is a Redis: for schedules (TASKQ_HTTP_URL).
    """

    url: str | None
    namespace: str | None
    token: str | None
    service_url: str | None = None


def project_connection() -> ConnectionSettings:
    """The settings of `taskq.django.app`: TASKQ; without it, the options of the TASKS backend `default`."""
    return _settings_in(_project_options())


def backend_connection(options: Mapping[str, Any]) -> ConnectionSettings:
    """The settings of a TASKS backend: its OPTIONS; what they leave out is as for the project."""
    return _settings_in({**_project_options(), **options})


def project_outbox() -> bool | str:
    """TASKQ's OUTBOX: whether jobs are written to the outbox; or the alias of a database, whose outbox it is."""
    return read_outbox(getattr(settings, "TASKQ", None) or {})


def project_queue_limits() -> Mapping[str, QueueLimits]:
    """TASKQ's QUEUE_LIMITS: what workers in direct mode keep to. Raises NotConfiguredError."""
    return read_queue_limits((getattr(settings, "TASKQ", None) or {}).get(QUEUE_LIMITS))


def read_outbox(options: Mapping[str, Any]) -> bool | str:
    """OUTBOX in settings. Raises NotConfiguredError."""
    outbox = options.get(OUTBOX, False)
    if not isinstance(outbox, bool) and outbox not in settings.DATABASES:
        raise NotConfiguredError(f"OUTBOX must be True, False or the alias of a database, not {outbox!r}")
    return outbox  # type: ignore[no-any-return]


def _project_options() -> Mapping[str, Any]:
    own = getattr(settings, "TASKQ", None)
    if own is not None:
        if unknown := own.keys() - {*SETTINGS, OUTBOX, QUEUE_LIMITS}:
            raise NotConfiguredError(f"unknown names in TASKQ: {', '.join(sorted(unknown))}")
        return own  # type: ignore[no-any-return]
    default = getattr(settings, "TASKS", {}).get("default", {})
    options: Mapping[str, Any] = default.get("OPTIONS", {}) if default.get("BACKEND") in BACKEND_NAMES else {}
    return {name: options[name] for name in SETTINGS if name in options}


def _settings_in(options: Mapping[str, Any]) -> ConnectionSettings:
    return ConnectionSettings(*map(options.get, SETTINGS))
