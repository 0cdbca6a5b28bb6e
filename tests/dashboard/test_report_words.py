"""How figures of reports, and differences between them, are written."""

from __future__ import annotations

from datetime import date

from django.utils.translation import override

from dashboard.templatetags.reports import exactly, funnel, weekday, written
from queues.services.reporting.presenting.figures import brief, difference, in_full, share
from queues.services.reporting.values import Figures
from tests.support.rows import in_one_test


@in_one_test(
    ("part", "text"),
    [
        (None, "–"),
        (0.0, "0 %"),
        (0.00001, "< 0.01 %"),
        (0.004, "0.4 %"),
        (0.871, "87.1 %"),
        (0.9987, "99.87 %"),
        (0.99996, "> 99.99 %"),
        (1.0, "100 %"),
    ],
)
def test_a_share_is_never_rounded_to_all_or_nothing(part: float | None, text: str) -> None:
    assert share(part) == text


@in_one_test(
    ("ms", "text"),
    [
        (None, "–"),
        (0, "0 ms"),
        (999, "999 ms"),
        (1_500, "1.5 s"),
        (131_000, "2.2 min"),
        (7_200_000, "2 h"),
        (1e9, "11.6 d"),
    ],
)
def test_a_time_has_one_unit(ms: float | None, text: str) -> None:
    assert brief(ms) == text


@in_one_test(
    ("value", "against", "unit", "text"),
    [
        (5, None, "jobs", ""),
        (None, 5, "jobs", ""),
        (5, 5, "jobs", "the same"),
        (1_001, 1_000, "jobs", "about the same"),
        (112, 100, "jobs", "12 % more"),
        (88, 100, "jobs", "12 % less"),
        (850, 100, "jobs", "8.5 times as much"),
        (3_000, 100, "ms", "30 times as much"),
        (5, 0, "jobs", "instead of none"),
        (0.871, 0.994, "share", "12.3 points less"),
        (0.9999, 0.9998, "share", "about the same"),
    ],
)
def test_a_difference_is_told_in_words(value: float | None, against: float | None, unit: str, text: str) -> None:
    assert difference(value, against, unit) == text


def test_each_unit_is_written_in_its_way() -> None:
    assert [written(0.5, "share"), written(1_500, "ms"), written(12_345, "jobs")] == ["50 %", "1.5 s", "12.3 k"]
    assert [in_full(0.5, "share"), in_full(1_500, "ms"), in_full(12_345, "jobs")] == ["50 %", "1.5 s", "12,345"]
    assert [exactly(1_500, "ms"), exactly(12_345.0, "jobs"), exactly(46.5, "jobs")] == ["1,500 ms", "12,345", "46.5"]


def test_weekdays_are_told_apart_in_few_characters() -> None:
    week = [date(2026, 11, day) for day in range(16, 23)]
    for language, longest in (("en", 3), ("zh-hans", 1)):
        with override(language):
            names = [weekday(day) for day in week]
        assert len(set(names)) == 7
        assert max(map(len, names)) == longest


def test_the_bars_of_the_funnel_have_one_scale() -> None:
    drawn = funnel(Figures(published=50, consumed=100, retried=60, acked=25, dead=5))

    assert 'x="0.000%" y="0" width="50.000%"' in drawn
    assert 'x="40.000%" y="0" width="60.000%"' in drawn
    assert 'x="25.000%" y="0" width="5.000%"' in drawn
    assert drawn.count('title="25"') == 2


def test_the_funnel_on_paper_has_every_job() -> None:
    figures = Figures(published=12_345)

    assert '<b title="12,345">12.3 k</b>' in funnel(figures)
    assert '<b title="12,345">12,345</b>' in funnel(figures, in_full=True)
