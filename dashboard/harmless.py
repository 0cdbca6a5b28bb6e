"""Text that strangers wrote, made safe to look at: escaped, and with what is invisible or misleading made visible."""

from __future__ import annotations

from django.utils.html import escape, format_html
from django.utils.safestring import SafeString, mark_safe

from queues.services.odd_characters import ODD, spell_out


def harmless(text: str) -> SafeString:
    """`text` as HTML. What cannot be seen becomes a mark with its number: `<mark class="odd">U+202E</mark>`."""
    parts = []
    at = 0
    for found in ODD.finditer(text):
        parts.append(escape(text[at : found.start()]))
        parts.append(format_html('<mark class="odd">U+{}</mark>', f"{ord(found[0]):04X}"))
        at = found.end()
    parts.append(escape(text[at:]))
    return mark_safe("".join(parts))  # noqa: S308 - every part was escaped above


def harmless_words(text: str) -> str:
    """The same as plain text, for attributes, where no mark can stand: `gnp[U+202E]exe`. Not escaped."""
    return spell_out(text)


def count_odd(text: str) -> int:
    """How many characters would be marked."""
    return sum(1 for _ in ODD.finditer(text))
