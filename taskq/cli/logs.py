"""Log lines of the worker: `time level message field=value ...` on standard error."""

from __future__ import annotations

import logging
from typing import Final

_OWN: Final = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "action"}


class _Formatter(logging.Formatter):
    """Adds the fields of a record. Control characters, which could give orders to a terminal, are spelled out."""

    def format(self, record: logging.LogRecord) -> str:
        from queues.odd_characters import spell_out

        fields = "".join(f" {name}={_shown(value)}" for name, value in vars(record).items() if name not in _OWN)
        text = super().format(record)
        head, separator, rest = text.partition("\n")
        return spell_out(f"{head}{fields}{separator}{rest}")


def _shown(value: object) -> str:
    text = str(value)
    return repr(text) if not text or any(map(str.isspace, text)) else text  # a line feed must not begin a line


def log_to_stderr() -> None:
    """Unless the application has set up logging already."""
    root = logging.getLogger()
    if root.handlers:
        return
    handler = logging.StreamHandler()
    handler.setFormatter(_Formatter("%(asctime)s %(levelname)s %(message)s"))
    root.addHandler(handler)
    root.setLevel(logging.INFO)
    for chatty in ("httpx", "watchfiles"):
        logging.getLogger(chatty).setLevel(logging.WARNING)
