"""Why the service cannot start here. Each message is one line that says what to do."""

from __future__ import annotations


class CannotStartError(Exception):
    """Something about this machine or the options is in the way."""
