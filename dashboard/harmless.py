"""Text that strangers wrote, made safe to look at: escaped, and with what is invisible or misleading made visible.

A job's body, key, attributes, errors and consumer's name come from whoever holds a token. HTML escaping keeps scripts
out, but a right-to-left override (U+202E) still makes `gnp.exe` read `exe.png`, and zero-width characters hide.
"""

from __future__ import annotations

import re
from typing import Final

from django.utils.html import escape, format_html
from django.utils.safestring import SafeString, mark_safe

_ODD: Final = re.compile(
    "["
    "\x00-\x08\x0b-\x1f\x7f-\x9f"  # controls but tab and line feed
    "\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e"  # invisible, or turning the text round
    "\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff"  # halves of characters, and none at all
    "\U000e0000-\U000e007f"  # tags
    "]"
)
"""Joiners (U+200C, U+200D) and variation selectors stay: Persian and emoji need them, and they move nothing."""


def harmless(text: str) -> SafeString:
    """`text` as HTML. What cannot be seen becomes a mark with its number: `<mark class="odd">U+202E</mark>`."""
    parts = []
    at = 0
    for found in _ODD.finditer(text):
        parts.append(escape(text[at : found.start()]))
        parts.append(format_html('<mark class="odd">U+{}</mark>', f"{ord(found[0]):04X}"))
        at = found.end()
    parts.append(escape(text[at:]))
    return mark_safe("".join(parts))  # noqa: S308 - every part was escaped above


def harmless_words(text: str) -> str:
    """The same as plain text, for attributes, where no mark can stand: `gnp[U+202E]exe`. Not escaped."""
    return _ODD.sub(lambda found: f"[U+{ord(found[0]):04X}]", text)


def count_odd(text: str) -> int:
    """How many characters would be marked."""
    return sum(1 for _ in _ODD.finditer(text))
