"""Compares a reply with what the table wants."""

from __future__ import annotations

import re
from typing import Any


def difference(want: Any, got: Any, where: str = "reply") -> str:
    """ "" if `got` is as wanted, else where it is not."""
    if isinstance(want, re.Pattern):
        return "" if isinstance(got, str) and want.match(got) else f"{where}: {got!r} does not match {want.pattern}"
    if callable(want):
        return "" if want(got) else f"{where}: {got!r} is out of range"
    if isinstance(want, dict) and isinstance(got, dict):
        if want.keys() != got.keys():
            return f"{where}: keys {sorted(got)}, wanted {sorted(want)}"
        return _first(difference(want[key], got[key], f"{where}.{key}") for key in want)
    if isinstance(want, list) and isinstance(got, list):
        if len(want) != len(got):
            return f"{where}: {len(got)} items, wanted {len(want)}"
        return _first(
            difference(one, other, f"{where}[{i}]") for i, (one, other) in enumerate(zip(want, got, strict=True))
        )
    return "" if type(want) is type(got) and want == got else f"{where}: {got!r}, wanted {want!r}"


def _first(differences: Any) -> str:
    return next((one for one in differences if one), "")
