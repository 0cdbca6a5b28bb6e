"""What the commands print: words, tables, JSON, and log lines. Whatever producers wrote, a terminal only shows it."""

from __future__ import annotations

import argparse
import json
import logging
from collections.abc import Sequence
from typing import Any, Final

from queues.odd_characters import ODD, spell_out


def say(options: argparse.Namespace, text: str, **content: Any) -> int:
    """A sentence, or with `--json` what it says."""
    return print_json(content) if options.json else print_text(text)


def print_text(text: str) -> int:
    """Control characters, which could give orders to the terminal, are spelled out."""
    print(spell_out(text))
    return 0


def print_json(content: object) -> int:
    """Indented; what a terminal would obey, or not show, as JSON's escapes."""
    text = json.dumps(content, default=str, ensure_ascii=False, indent=2)
    print(ODD.sub(lambda found: json.dumps(found[0])[1:-1], text))
    return 0


def print_table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> int:
    """Columns as wide as what is in them. In the last of two a cell may have several lines."""
    clean = [
        [spell_out(" ".join(cell.split()) if "\n" not in cell or len(heads) > 2 else cell) for cell in row]
        for row in rows
    ]
    widths = [max(len(row[i]) for row in (heads, *clean)) for i in range(len(heads))]
    for row in (heads, *clean):
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
    return 0


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
