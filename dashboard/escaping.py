"""Escapes text that clients wrote, and makes invisible and misleading characters visible."""

from __future__ import annotations

import re

from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe

from queues.odd_characters import ODD, spell_out


def escape_visibly(text: str) -> SafeString:
    """`text` as HTML. What cannot be seen becomes a mark with its number: `<mark class="odd">U+202E</mark>`."""
    return mark_safe(ODD.sub(_mark, escape(text)))  # noqa: S308 - escaped; what escaping writes is never odd


def _mark(found: re.Match[str]) -> str:
    return f'<mark class="odd">U+{ord(found[0]):04X}</mark>'


def visible_text(text: str) -> str:
    """The same as plain text, for attributes, where no mark can stand: `gnp[U+202E]exe`. Not escaped."""
    return spell_out(text)


def count_invisible(text: str) -> int:
    """How many characters would be marked."""
    return len(ODD.findall(text))
