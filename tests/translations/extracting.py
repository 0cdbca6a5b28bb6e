"""Finds the texts that the code marks for translation, without the system's gettext tools."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from babel.messages.catalog import Catalog
from babel.messages.extract import extract
from django.utils.translation.template import templatize

ROOT: Final = Path(__file__).resolve().parent.parent.parent
PACKAGES: Final = ("dashboard", "queues", "taskq_site")
TEMPLATES: Final = "templates"

BORROWED: Final = ("Model name", "Add link", "Change or view list link", "- Select an option -")
"""Texts of Django (the last is of 6.1) that Django's own Chinese lacks. Ours comes first for all of them."""

_KEYWORDS: Final = {
    **dict.fromkeys(("_", "gettext", "gettext_lazy", "gettext_noop"), None),
    **dict.fromkeys(("ngettext", "ngettext_lazy"), (1, 2)),
    **dict.fromkeys(("pgettext", "pgettext_lazy"), ((1, "c"), 2)),
    **dict.fromkeys(("npgettext", "npgettext_lazy"), ((1, "c"), 2, 3)),
}
_INDENT: Final = re.compile(r"^[ \t]+", re.MULTILINE)


def marked_texts() -> Catalog:
    """All texts that Python and templates mark, each with the files that have it.

    No line numbers: every edit above a text would change the catalogue.
    """
    found = Catalog(charset="utf-8")
    for text in BORROWED:
        found.add(text, locations=[("django", 0)])
    for path, code in sorted(_sources()):
        place = path.relative_to(ROOT).as_posix()
        for _line, texts, _comments, context in extract("python", io.BytesIO(code.encode()), _KEYWORDS):
            found.add(texts, locations=[(place, 0)], context=context)
    return found


def _sources() -> Iterator[tuple[Path, str]]:
    """Files as Python. Django turns a template into what looks like it, but for blanks at the beginnings of lines."""
    for package in PACKAGES:
        for path in (ROOT / package).rglob("*.py"):
            yield path, path.read_text(encoding="utf-8")
    for path in (ROOT / TEMPLATES).rglob("*.html"):
        yield path, _INDENT.sub("", templatize(path.read_text(encoding="utf-8"), origin=path.as_posix()))
