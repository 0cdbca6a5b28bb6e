"""docs/metrics.md, the dashboard and the alerts speak of the metrics that there are."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from queues.api.metrics.exposition import METRICS
from tests.support.rows import in_one_test

DOCS = Path(__file__).resolve().parents[2] / "docs"
DASHBOARD: dict[str, Any] = json.loads((DOCS / "grafana" / "taskq.json").read_text())
RULES: dict[str, Any] = yaml.safe_load((DOCS / "prometheus" / "alerts.yml").read_text())

SAMPLES = {metric.name: metric for metric in METRICS if metric.kind != "histogram"} | {
    metric.name + suffix: metric
    for metric in METRICS
    if metric.kind == "histogram"
    for suffix in ("_bucket", "_sum", "_count")
}
_USED = re.compile(r"\b(taskq_\w+)(?:\{([^}]*)\})?")
_MATCHER = re.compile(r'(\w+)(?:=~|!=|!~|=)"(?:[^"\\]|\\.)*"')
_GROUPED = re.compile(r"\b(?:by|on) \(([^)]*)\)")


def panels() -> list[dict[str, Any]]:
    return [panel for panel in DASHBOARD["panels"] if panel["type"] != "row"]


def alerts() -> list[dict[str, Any]]:
    return [rule for group in RULES["groups"] for rule in group["rules"]]


def expressions() -> Iterator[str]:
    for panel in panels():
        yield from (target["expr"] for target in panel["targets"])
    for variable in DASHBOARD["templating"]["list"]:
        if variable["type"] == "query":
            yield variable["definition"]
    yield from (rule["expr"] for rule in alerts())


def test_the_page_has_every_metric_with_kind_labels_and_meaning() -> None:
    rows = [
        line.strip("|").split("|") for line in (DOCS / "metrics.md").read_text().splitlines() if "| `taskq_" in line
    ]
    stated = [
        (name.strip(" `"), kind.strip(), tuple(re.findall(r"`(\w+)`", labels)), meaning.strip())
        for name, kind, labels, meaning in rows
    ]

    assert stated == [(metric.name, metric.kind, metric.labels, metric.help) for metric in METRICS]


def test_names_follow_the_conventions() -> None:
    for metric in METRICS:
        assert (metric.kind == "counter") == metric.name.endswith("_total"), metric.name
        assert not re.search(r"_(ms|milliseconds|kb|mb|count|sum|bucket)\b", metric.name), metric.name
        assert metric.help.endswith("."), metric.name


@in_one_test("expression", sorted(set(expressions())))
def test_an_expression_uses_metrics_and_labels_that_there_are(expression: str) -> None:
    used = _USED.findall(expression)
    assert used or expression == 'up{job="taskq"} == 0'
    known: set[str] = {"instance", "job"}
    for name, matchers in used:
        assert name in SAMPLES, name
        own = {*SAMPLES[name].labels, *(["le"] if name.endswith("_bucket") else []), "instance", "job"}
        assert set(_MATCHER.findall(matchers)) <= own, expression
        known |= own
    for group in _GROUPED.findall(expression):
        assert {label.strip() for label in group.split(",")} <= known, expression
    assert expression.count("(") == expression.count(")")


def test_every_metric_is_on_the_dashboard_or_in_an_alert() -> None:
    used = {SAMPLES[name].name for expression in expressions() for name, _ in _USED.findall(expression)}

    assert used == {metric.name for metric in METRICS}


def test_the_dashboard_is_one_that_grafana_reads() -> None:
    ids = [panel["id"] for panel in DASHBOARD["panels"]]
    rows = [panel["title"] for panel in DASHBOARD["panels"] if panel["type"] == "row"]

    assert DASHBOARD["schemaVersion"] >= 36
    assert len(ids) == len(set(ids))
    sections = ["Traffic", "Backlog", "Latency", "Lateness", "Pump", "Redis", "Errors", "Push"]
    assert rows == [*sections, "Lake and reports", "Incidents"]
    assert any(variable["type"] == "datasource" for variable in DASHBOARD["templating"]["list"])
    for panel in panels():
        assert panel["datasource"]["uid"] == "${datasource}"
        assert panel["targets"], panel["title"]


def test_panels_do_not_overlap() -> None:
    taken: set[tuple[int, int]] = set()
    for panel in DASHBOARD["panels"]:
        at = panel["gridPos"]
        cells = {(at["x"] + x, at["y"] + y) for x in range(at["w"]) for y in range(at["h"])}
        assert not cells & taken, panel["title"]
        assert at["x"] + at["w"] <= 24
        taken |= cells


def test_every_alert_says_what_is_wrong_and_how_bad_it_is() -> None:
    assert len({rule["alert"] for rule in alerts()}) == len(alerts())
    for rule in alerts():
        assert rule["labels"]["severity"] in ("info", "warning", "critical"), rule["alert"]
        assert rule["annotations"]["summary"], rule["alert"]
        labels = set(re.findall(r"\$labels\.(\w+)", rule["annotations"]["summary"]))
        assert labels <= set(re.findall(r"\w+", rule["expr"])) | {"instance"}, rule["alert"]


def test_what_reports_will_lack_is_a_warning() -> None:
    found = {rule["alert"]: rule for rule in alerts()}
    for name, metric in (
        ("TaskqEventsDropped", "taskq_events_dropped_total"),
        ("TaskqLakeBehind", "taskq_lake_lag_seconds"),
        ("TaskqLakeDiffers", "taskq_lake_difference_events"),
        ("TaskqReportFailed", "taskq_report_state"),
        ("TaskqReportOverdue", "taskq_report_age_seconds"),
    ):
        assert metric in found[name]["expr"]
        assert found[name]["labels"]["severity"] == "warning"
