"""Six sizes of text in all styles, and no unknown variable; the styleguide has every part, in DEBUG only."""

from __future__ import annotations

import html
import re
from collections import Counter
from pathlib import Path
from typing import Final

import pytest
from pytest_django import Settings

from dashboard.views.styleguide import PARTS, token_groups

from .people import People

ROOT: Final = Path(__file__).parents[2]
STYLES: Final = sorted((ROOT / "static").rglob("*.css"))
SIZES_MAX: Final = 6

_SIZE: Final = re.compile(r"font-size:\s*([^;}]+)")
_FONT: Final = re.compile(r"font:\s*([^;}]+)")
_VARIABLE: Final = re.compile(r"var\(--(tq-[a-z0-9-]+)")
_DEFINED: Final = re.compile(r"--(tq-[a-z0-9-]+)\s*:")
_CLASS: Final = re.compile(r'class="([^"]+)"')


def sizes_of(css: str) -> list[str]:
    """All that say how large text is: of `font` the part before the family, without weight and line height."""
    shorthands = [re.sub(r"^(?:(?:italic|bold|\d{3})\s+)*", "", value).split("/")[0] for value in _FONT.findall(css)]
    return [size.split()[0] for size in (*_SIZE.findall(css), *shorthands)]


def test_text_has_six_sizes_and_no_style_has_another() -> None:
    sizes = next(group for group in token_groups() if group.kind == "text").tokens
    allowed = {f"var(--{token.name})" for token in sizes} | {"inherit", "var(--tq-code)"}

    others = {path.name: odd for path in STYLES if (odd := [s for s in sizes_of(path.read_text()) if s not in allowed])}

    assert 0 < len(sizes) <= SIZES_MAX
    assert others == {}, "use var(--tq-text-...) of static/taskq/base.css"


def test_styles_use_no_variable_that_none_defines() -> None:
    texts = [path.read_text() for path in STYLES]
    defined = {name for text in texts for name in _DEFINED.findall(text)}

    assert {name for text in texts for name in _VARIABLE.findall(text)} <= defined


@pytest.mark.django_db
def test_the_styleguide_shows_each_part_with_its_html(people: People, settings: Settings) -> None:
    settings.DEBUG = True
    answer = people.alice.browser.get("/styleguide/")

    assert answer.status_code == 200
    names = {path.stem for path in (ROOT / "templates/dashboard/styleguide").iterdir()}
    assert {part[0] for part in PARTS} == names
    for part in answer.context["parts"]:
        assert str(part.html) in answer.text, part.name
        assert html.escape(str(part.html)) in answer.text, part.name
    ids = re.findall(r'\bid="([^"]+)"', answer.text)
    assert [one for one, number in Counter(ids).items() if number > 1] == []


@pytest.mark.django_db
def test_what_the_styleguide_shows_is_styled(people: People, settings: Settings) -> None:
    settings.DEBUG = True
    css = "".join(path.read_text() for path in STYLES)
    parts = people.alice.browser.get("/styleguide/").context["parts"]

    used = {name for part in parts for names in _CLASS.findall(str(part.html)) for name in names.split()}

    assert {name for name in used if f".{name}" not in css} == set()
