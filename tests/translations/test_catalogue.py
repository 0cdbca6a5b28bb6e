"""Every text that people see is there in Chinese, and what Django reads is what was translated."""

from __future__ import annotations

import re
from collections import Counter

from babel.messages.catalog import Catalog, Message

from .catalogue import LOCALE, MO, PO, as_mo, as_po, merge, read_translations, texts_of
from .extracting import marked_texts

BRING_UP_TO_DATE = "run `make messages`, translate what is new, and run it again"
_PLACES = re.compile(r"%\(\w+\)[sd]|%[sd]|\{\w+\}")


def strings_of(message: Message) -> list[str]:
    """The translation, in each of its plural forms."""
    found = message.string
    return [found or ""] if isinstance(found, str) or found is None else list(found)


def test_every_text_that_the_code_marks_is_translated_and_nothing_is_guessed() -> None:
    translated = read_translations()
    known = {
        (message.context, message.id): message
        for message in texts_of(translated)
        if all(strings_of(message)) and not message.fuzzy
    }

    missing = [one.id for one in texts_of(marked_texts()) if (one.context, one.id) not in known]

    assert missing == [], BRING_UP_TO_DATE


def test_a_translation_puts_the_same_values_in() -> None:
    wrong = [
        (message.id, string)
        for message in texts_of(read_translations())
        for string in strings_of(message)
        if Counter(_PLACES.findall(string))
        != Counter(_PLACES.findall(message.id if isinstance(message.id, str) else message.id[1]))
    ]

    assert wrong == []


def test_the_text_file_is_as_make_messages_writes_it() -> None:
    assert as_po(merge(marked_texts(), read_translations())) == PO.read_bytes(), BRING_UP_TO_DATE


def test_the_compiled_file_holds_what_the_text_file_says() -> None:
    assert as_mo(read_with_our_headers()) == MO.read_bytes(), BRING_UP_TO_DATE


def read_with_our_headers() -> Catalog:
    """The text file as it is compiled."""
    translated = read_translations()
    return merge(translated, translated)


def test_chinese_has_one_form_for_every_number() -> None:
    assert read_translations().num_plurals == 1
    assert read_translations().locale_identifier == LOCALE
