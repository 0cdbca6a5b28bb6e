"""Characters that cannot be seen, or that turn text round, in what strangers wrote.

A job's body, key, attributes, errors and consumer's name come from any holder of a token. HTML escaping keeps scripts
out, but a right-to-left override (U+202E) still makes `gnp.exe` read `exe.png`, and zero-width characters hide.
"""

from __future__ import annotations

import re
from typing import Final

ODD: Final = re.compile(
    "["
    "\x00-\x08\x0b-\x1f\x7f-\x9f"  # controls but tab and line feed
    "\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e"  # invisible, or turning the text round
    "\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff"  # halves of characters, and none at all
    "\U000e0000-\U000e007f"  # tags
    "]"
)
"""Joiners (U+200C, U+200D) and variation selectors stay: Persian and emoji need them, and they move nothing."""


def spell_out(text: str) -> str:
    """`gnp[U+202E]exe`: as plain text, not escaped."""
    return ODD.sub(lambda found: f"[U+{ord(found[0]):04X}]", text)
