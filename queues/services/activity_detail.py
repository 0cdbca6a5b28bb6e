"""What an act was about, as the activity log keeps it and as people read it.

The log keeps English. The phrases that a detail begins with are shown in the reader's language; what follows are names
of fields and what somebody typed, which no language changes.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import takewhile
from typing import Final

from django.utils.translation import gettext, gettext_noop

from queues.engine import JobState

ALL_OF_STATE: Final[Mapping[JobState, str]] = {
    JobState.READY: gettext_noop("all ready"),
    JobState.DELAYED: gettext_noop("all delayed"),
    JobState.RETRY: gettext_noop("all retry"),
    JobState.WORKING: gettext_noop("all working"),
    JobState.DEAD: gettext_noop("all dead"),
    JobState.COMPLETED: gettext_noop("all completed"),
}
ALL_DEAD_LETTERS: Final = gettext_noop("all dead letters")
BY_BODY: Final = gettext_noop("by text in the body")
"""Not the text itself: bodies do not belong into the log."""

_PHRASES: Final = frozenset({*ALL_OF_STATE.values(), ALL_DEAD_LETTERS, BY_BODY})


def split_detail(detail: str) -> tuple[tuple[str, ...], str]:
    """The phrases that a detail begins with, in the active language, and the rest of it as it is."""
    parts = detail.split(", ")
    phrases = list(takewhile(_PHRASES.__contains__, parts))
    return tuple(gettext(phrase) for phrase in phrases), ", ".join(parts[len(phrases) :])
