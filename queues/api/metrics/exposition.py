"""Prometheus' text format."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from .table import METRICS, Metric


class Page:
    """Samples by metric. Written, each metric comes once, with its help and kind, whether it has samples or not.

    `visible`: pool and name of each namespace that the reader may see; None: all of them. Samples of other namespaces,
    and those that sum up several, are left out.
    """

    def __init__(self, *, visible: Collection[tuple[str, str]] | None = None) -> None:
        self._lines: dict[str, list[str]] = {metric.name: [] for metric in METRICS}
        self._visible = visible

    def shows(self, pool: str, namespace: str) -> bool:
        """Whether samples of the namespace are on this page."""
        return self._visible is None or (pool, namespace) in self._visible

    def add(self, metric: Metric, values: Sequence[str], number: float) -> None:
        """One sample. `values`: of the metric's labels, in their order."""
        if self._is_hidden(metric, values):
            return
        self._lines[metric.name].append(f"{metric.name}{_labels(metric.labels, values)} {_number(number)}")

    def add_histogram(
        self, metric: Metric, values: Sequence[str], *, bounds: Iterable[float], buckets: Iterable[float], total: float
    ) -> None:
        """`buckets`: counts between the bounds, and of what is beyond them. `total`: the sum of what was observed."""
        if self._is_hidden(metric, values):
            return
        lines, count = self._lines[metric.name], 0.0
        labels = _labels(metric.labels, values)
        before_bound = f"{metric.name}_bucket{labels[:-1]},le="
        for bound, number in zip([*map(_number, bounds), "+Inf"], buckets, strict=True):
            count += number
            lines.append(f'{before_bound}"{bound}"}} {_number(count)}')
        lines.append(f"{metric.name}_sum{labels} {_number(total)}")
        lines.append(f"{metric.name}_count{labels} {_number(count)}")

    def _is_hidden(self, metric: Metric, values: Sequence[str]) -> bool:
        if self._visible is None or "namespace" not in metric.labels:
            return False
        labels = dict(zip(metric.labels, values, strict=True))
        return not self.shows(labels["pool"], labels["namespace"])

    def text(self) -> str:
        """The page."""
        lines: list[str] = []
        for metric in METRICS:
            lines += (f"# HELP {metric.name} {metric.help}", f"# TYPE {metric.name} {metric.kind}")
            lines += self._lines[metric.name]
        return "\n".join((*lines, ""))


def _labels(names: Sequence[str], values: Sequence[str]) -> str:
    if not names:
        return ""
    return "{" + ",".join([f'{name}="{_escape(value)}"' for name, value in zip(names, values, strict=True)]) + "}"


def _escape(value: str) -> str:
    if value.isalnum():
        return value
    return value.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')


def _number(number: float) -> str:
    """Shortest form that reads back as the same number."""
    return str(int(number)) if number == int(number) else repr(number)
