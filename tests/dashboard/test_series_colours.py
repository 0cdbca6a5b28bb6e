"""One meaning, one colour, live and in reports: the table of colours, and the code that draws by it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import pytest
from django.utils.translation import override

from dashboard.live_charts import CHARTS
from dashboard.series import NAMES, Meaning
from dashboard.templatetags.reports import funnel
from dashboard.views.reports import charts
from queues.services.reporting.values import Figures, Metric
from tests.support.rows import in_one_test

ROOT: Final = Path(__file__).parents[2]
STATIC: Final = ROOT / "static"
CHARTS_CSS: Final = (STATIC / "dashboard" / "charts.css").read_text()
BASE_CSS: Final = (STATIC / "taskq" / "base.css").read_text()
COLOURS: Final = dict(re.findall(r"(--tq-[\w-]+): ([^;]+);", BASE_CSS + CHARTS_CSS))
DRAWING: Final = sorted({*(ROOT / "dashboard").rglob("*.py")} - {ROOT / "dashboard" / "series.py"})


def colours_of(variable: str) -> tuple[str, str]:
    """For light and for dark, as #rrggbb."""
    value = COLOURS[variable]
    if named := re.fullmatch(r"var\((--[\w-]+)\)", value):
        return colours_of(named[1])
    pair = re.fullmatch(r"light-dark\((#\w{6}), (#\w{6})\)", value)
    assert pair, f"{variable} has no colour for light and one for dark"
    return pair[1], pair[2]


def luminance(colour: str) -> float:
    """As WCAG defines it."""
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    darker, lighter = sorted((luminance(one), luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


@in_one_test("meaning", Meaning)
def test_a_meaning_has_a_colour_that_is_seen_in_light_and_dark(meaning: Meaning) -> None:
    assert f".m-{meaning.value} {{ --c: var(--tq-m-{meaning.value}); }}" in CHARTS_CSS
    for colour, surface in zip(colours_of(f"--tq-m-{meaning.value}"), colours_of("--tq-surface"), strict=True):
        assert contrast(colour, surface) >= 3


def test_the_stylesheet_has_no_colours_for_anything_else() -> None:
    assert set(re.findall(r"--tq-m-([\w-]+):", CHARTS_CSS)) == {meaning.value for meaning in Meaning}


@pytest.mark.parametrize("kind", CHARTS)
def test_the_lines_of_a_live_chart_have_different_colours(kind: str) -> None:
    meanings = [meaning for meaning, _value in CHARTS[kind][2]]

    assert len({colours_of(f"--tq-m-{meaning.value}") for meaning in meanings}) == len(meanings)


def test_a_state_has_the_colour_of_what_leads_to_it() -> None:
    for state, event in (("completed", "acked"), ("working", "consumed"), ("retry", "failed"), ("ready", "published")):
        assert colours_of(f"--tq-m-{state}") == colours_of(f"--tq-m-{event}")
    assert colours_of("--tq-m-working") != colours_of("--tq-m-failed"), "which were the same"


def names_in_charts(node: ast.AST) -> Iterator[tuple[str, int]]:
    """Texts that are given as the name of a series."""
    for one in ast.walk(node):
        if isinstance(one, ast.Dict) and {"name", "values"} <= {getattr(key, "value", None) for key in one.keys}:
            yield "a series that is not made by dashboard/series.py", one.lineno
        if isinstance(one, ast.Call) and getattr(one.func, "id", "") == "named_series":
            for text in ast.walk(one.args[0]):
                if isinstance(text, ast.Constant) and text.value in {str(name) for name in NAMES.values()}:
                    yield f"{text.value} has a meaning", one.lineno


def test_code_that_draws_takes_names_and_colours_from_the_table() -> None:
    for path in DRAWING:
        with override("en"):
            assert list(names_in_charts(ast.parse(path.read_text()))) == [], path
        assert not re.search(r"""["' ]c[1-6]["' ]""", path.read_text()), f"{path}: charts.js gives neutral colours"


def test_what_stands_for_jobs_takes_no_colour_of_the_neutral_row() -> None:
    drawn = re.compile(r"\.(chart|sparkline|node|parts|moment|funnel|tile|pill|totals)\b[^{}]*\{[^}]*var\(--tq-c\d\)")

    assert [path.name for path in STATIC.rglob("*.css") if drawn.search(path.read_text())] == []
    assert drawn.search(".parts .info { fill: var(--tq-c1); }"), "as it was"


def meanings_in(chart: dict[str, Any]) -> Sequence[str | None]:
    return [one.get("meaning") for one in chart["series"]]


def test_reports_draw_what_live_charts_draw_by_the_same_meanings() -> None:
    flow, tries = charts.flow([]), charts.tries([])

    assert meanings_in(flow) == ["published", "acked", "failed", "dead"]
    assert meanings_in(tries) == ["acked", "dead"]
    assert meanings_in(charts.percentiles([], Metric.WAIT)) == ["p50", "p95", "p99"]
    live = {meaning.value for meaning, _value in CHARTS["throughput"][2]}
    assert {"published", "acked", "failed"} <= live


def test_the_funnel_has_the_colours_of_its_words() -> None:
    text = funnel(Figures(acked=7, failed=2, dead=1, expired=1))

    for word in ("acked", "failed", "dead", "expired"):
        assert re.search(rf'class="chart-bar m-{word}" width="10" height="10" rx="2"/></svg> {word} <b', text)
