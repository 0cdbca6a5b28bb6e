"""What people are told of an error: in their language, and nothing of where Redis is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from dashboard.mistakes import mistake_of
from queues.services.errors import InvalidArgumentError, TaskqError

_WORDS: Final[Mapping[str, Promise]] = {
    "role_too_low": _("You may not do that"),
    "namespace_not_found": _("There is no such thing here"),
    "pool_not_found": _("There is no such thing here"),
    "queue_not_found": _("There is no such thing here"),
    "job_not_found": _("There is no such thing here"),
    "worker_not_found": _("There is no such worker, or it has not been heard of lately"),
    "lease_lost": _("The job has changed meanwhile: look at it again."),
    "metadata_unavailable": _("The database does not answer"),
    "store_unavailable": _("Redis does not answer"),
    "not_replicated": _("Published, but too few replicas have confirmed it: a failover may lose it"),
    "store_full": _("Redis is full"),
}
"""By the code of the error, in a sentence."""


def words_of(error: TaskqError) -> str:
    """The sentence; of what nobody can mend here, the error's own."""
    if isinstance(error, InvalidArgumentError):
        return str(mistake_of(error).words)
    return str(_WORDS.get(error.code, error))
