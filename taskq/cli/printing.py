"""What the commands print: words, tables and JSON. Whatever producers wrote, a terminal only shows it."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from typing import Any

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
