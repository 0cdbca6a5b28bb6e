"""What pages are made of: tokens and parts, each with its HTML. For who writes pages, so only while DEBUG is on."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from django.conf import settings
from django.contrib.staticfiles import finders
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.template.loader import render_to_string
from django.urls import path
from django.utils import timezone
from django.utils.safestring import SafeString, mark_safe

from dashboard.series import Meaning, meant_series, named_series

from .decorators import page

MINUTE_MS: Final = 60_000
ROOT_PX: Final = 16
STYLES: Final = "taskq/base.css"

_TOKEN: Final = re.compile(r"^\s*--(tq-[a-z0-9-]+):\s*([^;]+);", re.MULTILINE)

PARTS: Final = (
    (
        "page_head",
        "Head of a page",
        "dashboard.css",
        "Where one is, the title with its state, and at the right end what one can do.",
    ),
    (
        "buttons",
        "Buttons",
        "pieces.css",
        "Plain is neutral, .primary is what the page is for, .danger destroys, .quiet leads on.",
    ),
    ("pills", "Pills", "taskq/base.css", "A word with a state. The word says it; the colour only helps."),
    ("banners", "Banners", "taskq/base.css", "What the reader must know of the page, above its content."),
    ("card", "Card", "pieces.css", "A box with a title."),
    ("tiles", "Tiles", "pieces.css", "The few figures that a page is about."),
    ("facts", "Facts", "taskq/base.css", "Names and values that do not change while one looks."),
    ("tabs", "Tabs", "pieces.css, reveal.js", "Views of one thing. On a phone the current one is scrolled into view."),
    (
        "form",
        "Filters and fields",
        "pieces.css",
        "A .toolbar above a table; .fields of a form, each with help or error.",
    ),
    (
        "table",
        "Table",
        "tables.css",
        "The one table. Numbers at the right, zeros quiet; .stack makes cards of rows on a phone.",
    ),
    ("empty", "Nothing there", "pieces.css", "Why, and what to do."),
    ("copy", "Something to copy", "taskq/base.css", "One click selects all of it."),
    (
        "times",
        "Times and durations",
        "times.js, durations.js",
        "Filters when and duration. The exact time is a tooltip.",
    ),
    (
        "dialog",
        "Dialog",
        "dialogs.js",
        "The one dialog asks before what destroys; data-confirm says what and how many.",
    ),
    ("menu", "Menu", "taskq/bar.css", "Acts that are needed now and then."),
    (
        "charts",
        "Charts",
        "charts.js",
        "The one chart module: lines, area, bars, band, histogram, heat. In tables: {% sparkline %}.",
    ),
    ("progress", "Progress", "pieces.css", "How far something is."),
    ("timeline", "Timeline", "incidents.css", "What happened, in order."),
)
"""Name of the template, title, file, use."""

SKELETON: Final = """{% extends "dashboard/base.html" %}{% load i18n %}
{% block title %}{% translate "Parcels" %} · taskq{% endblock %}
{% block main %}
<div class="page-head"><h1>{% translate "Parcels" %}</h1></div>
<section data-live="{{ request.get_full_path }}" data-every="5000">
  {% include "dashboard/_parcels.html" %}
</section>
{% endblock %}"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """A variable of the styles. `pixels`: its size if it is one, for pictures of it."""

    name: str
    value: str
    pixels: float


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenGroup:
    """`kind`: text, space, radius, colour, or other."""

    kind: str
    title: str
    tokens: tuple[Token, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """`html`: as pages have it."""

    name: str
    title: str
    source: str
    use: str
    html: SafeString


@page
def styleguide(request: HttpRequest) -> HttpResponse:
    """404 unless DEBUG is on."""
    if not settings.DEBUG:
        raise Http404
    context = {"tokens": token_groups(), "parts": _parts(request), "skeleton": SKELETON}
    return render(request, "dashboard/styleguide.html", context)


def token_groups() -> tuple[TokenGroup, ...]:
    """All variables, read from the file that defines them."""
    found = finders.find(STYLES)
    assert isinstance(found, str)
    tokens = [_token(name, value) for name, value in _TOKEN.findall(Path(found).read_text(encoding="utf-8"))]
    return tuple(
        TokenGroup(kind=kind, title=title, tokens=tuple(token for token in tokens if _kind(token) == kind))
        for kind, title in _KINDS.items()
    )


_KINDS: Final = {
    "text": "Sizes of text",
    "space": "Space",
    "radius": "Corners",
    "colour": "Surfaces, text and colours by meaning (light, dark)",
    "other": "Other",
}


def _kind(token: Token) -> str:
    kind = token.name.split("-")[1]
    if kind in ("text", "space", "radius"):
        return kind
    return "colour" if re.match(r"light-dark|#|rgb", token.value) else "other"


def _token(name: str, value: str) -> Token:
    size = re.fullmatch(r"([\d.]+)(px|rem)", value)
    pixels = float(size[1]) * (ROOT_PX if size[2] == "rem" else 1) if size else 0
    return Token(name=name, value=value, pixels=pixels)


def _parts(request: HttpRequest) -> list[Part]:
    context = _examples()
    return [
        Part(
            name=name,
            title=title,
            source=source if source.startswith("taskq/") else f"dashboard/{source}",
            use=use,
            html=mark_safe(render_to_string(f"dashboard/styleguide/{name}.html", context, request).strip()),  # noqa: S308 - a template's
        )
        for name, title, source, use in PARTS
    ]


def _examples() -> dict[str, Any]:
    now_ms = int(timezone.now().timestamp() * 1_000)
    times = [now_ms - (59 - minute) * MINUTE_MS for minute in range(60)]
    published = [40 + (minute * 7) % 23 for minute in range(60)]
    lines = {
        "title": "Throughput",
        "x": {"unit": "time", "values": times},
        "y": {"unit": "jobs/min"},
        "series": [
            meant_series(Meaning.PUBLISHED, published, style="line"),
            meant_series(Meaning.ACKED, [value - 6 for value in published], style="line"),
        ],
    }
    bars = {
        "title": "Attempts",
        "x": {"unit": "attempt", "values": [1, 2, 3, 4, 5]},
        "y": {"unit": "jobs"},
        "series": [named_series("jobs", [420, 61, 18, 7, 3], style="bar")],
    }
    return {
        "moment": now_ms - 3 * MINUTE_MS,
        "earlier": now_ms - 300 * MINUTE_MS,
        "later": now_ms + 5 * MINUTE_MS,
        "lines": json.dumps(lines),
        "bars": json.dumps(bars),
    }


urlpatterns = [path("styleguide/", styleguide, name="styleguide")]
