"""The Chinese catalogue as files: the text that people edit, and the compiled form that Django reads."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Final

from babel.messages.catalog import Catalog, Message
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po, write_po

from .extracting import ROOT

LOCALE: Final = "zh_Hans"
PO: Final = ROOT / "taskq_site" / "locale" / LOCALE / "LC_MESSAGES" / "django.po"
MO: Final = PO.with_suffix(".mo")
WIDTH: Final = 120

_HEADERS: Final = (
    ("Language", LOCALE),
    ("MIME-Version", "1.0"),
    ("Content-Type", "text/plain; charset=utf-8"),
    ("Content-Transfer-Encoding", "8bit"),
    ("Plural-Forms", "nplurals=1; plural=0;"),
)
"""No dates, people or programs: the files are a function of the texts."""


class ChineseCatalog(Catalog):
    """A catalogue with the headers above."""

    def __init__(self) -> None:
        comment = (
            "# taskq in Simplified Chinese. `make messages` brings new texts here, and compiles what was translated."
        )
        super().__init__(LOCALE, header_comment=comment, charset="utf-8", fuzzy=False)

    @property
    def mime_headers(self) -> list[tuple[str, str]]:
        return list(_HEADERS)


def read_translations() -> Catalog:
    """What is in the text file; an empty catalogue if there is none."""
    if not PO.exists():
        return ChineseCatalog()
    with PO.open("rb") as file:
        return read_po(file, locale=LOCALE, charset="utf-8", abort_invalid=True)


def texts_of(catalog: Catalog) -> Iterator[Message]:
    """Its messages, without the header."""
    return (message for message in catalog if message.id)


def merge(marked: Catalog, translated: Catalog) -> ChineseCatalog:
    """Every marked text with its translation, if it has one. What is no longer marked goes; nothing is guessed."""
    merged = ChineseCatalog()
    for message in texts_of(marked):
        known = translated.get(message.id, message.context)
        found = () if known is None else known.flags & {"fuzzy"}
        string = None if known is None else known.string
        merged.add(message.id, string, sorted(set(message.locations)), flags=found, context=message.context)
    return merged


def as_po(catalog: Catalog) -> bytes:
    """The text file."""
    file = io.BytesIO()
    write_po(file, catalog, width=WIDTH, sort_by_file=False, include_lineno=False)
    return file.getvalue()


def as_mo(catalog: Catalog) -> bytes:
    """The compiled file."""
    file = io.BytesIO()
    write_mo(file, catalog)
    return file.getvalue()
