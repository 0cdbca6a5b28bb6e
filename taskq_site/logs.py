"""Log lines: a constant message plus fields, one line each, as logfmt for people or JSON for machines.

    logger.warning("pool may lose jobs", extra={"action": "pool.check", "pool": "default"})
    2026-01-31T12:00:00.000Z WARNING queues.services.pools.managing "pool may lose jobs" action=pool.check pool=default

Only plain values become fields, so that a request or a model that some library attaches is never printed. Nobody here
logs a body, and our own code logs paths without tokens (`queues.api.log_paths`). What libraries log of a path or a
query is masked from the token's place on, however it is encoded: a decoded path does not show where a token ends.
"""

from __future__ import annotations

import json
import logging
import re
from datetime import UTC, datetime
from typing import Final

_STANDARD: Final = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}
_BARE: Final = re.compile(r"[^\s\"=\\\x00-\x1f\x7f]+\Z")

Value = str | int | float | bool | None


def _any_of(characters: str) -> str:
    """A pattern for one of these characters, as it is or percent-encoded any number of times."""
    codes = "|".join(f"{ord(character):02x}" for character in characters)
    return f"(?:[{re.escape(characters)}]|%(?:25)*(?:{codes}))"


_WORD: Final = "".join(_any_of(letter + letter.upper()) for letter in "token")
_ROUTE: Final = r"\{namespace\}/\{token\}(?:/limit)?\Z"
_TOKEN: Final = re.compile(
    f"({_any_of('/')}{_WORD}{_any_of('/')}+(?!{_ROUTE})|{_any_of('?&;')}{_WORD}{_any_of('=')}).+",
    re.IGNORECASE | re.DOTALL,
)


def mask_tokens(text: str) -> str:
    """`text` with all that follows `/token/` or `?token=` replaced by `***`. The patterns of our routes stay."""
    if "%" not in text and "token" not in text.lower():
        return text  # most are not, and the pattern has no letter by which it would find out as fast
    return _TOKEN.sub(r"\1***", text)


class JsonFormatter(logging.Formatter):
    """One JSON object per line: time, level, logger, message, then the fields."""

    def format(self, record: logging.LogRecord) -> str:
        return json.dumps(self._head(record) | self._fields(record), ensure_ascii=False)

    def _head(self, record: logging.LogRecord) -> dict[str, Value]:
        at = datetime.fromtimestamp(record.created, tz=UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        message = mask_tokens(record.getMessage())
        return {"time": at, "level": record.levelname, "logger": record.name, "message": message}

    def _fields(self, record: logging.LogRecord) -> dict[str, Value]:
        fields: dict[str, Value] = {
            key: mask_tokens(value) if isinstance(value, str) else value
            for key, value in vars(record).items()
            if key not in _STANDARD and (value is None or isinstance(value, str | int | float | bool))
        }
        if record.exc_info:
            lines = self.formatException(record.exc_info).split("\n")
            fields["exception"] = "\n".join([mask_tokens(line) for line in lines])
        return fields


class LogfmtFormatter(JsonFormatter):
    """The same, as `TIME LEVEL logger "message" key=value`; values with spaces or line breaks are quoted."""

    def format(self, record: logging.LogRecord) -> str:
        head = self._head(record)
        fields = " ".join(f"{key}={_logfmt(value)}" for key, value in self._fields(record).items())
        message = json.dumps(head["message"], ensure_ascii=False)
        return f"{head['time']} {head['level']} {head['logger']} {message} {fields}".rstrip()


def _logfmt(value: Value) -> str:
    text = value if isinstance(value, str) else json.dumps(value)
    return text if _BARE.match(text) else json.dumps(text, ensure_ascii=False)
