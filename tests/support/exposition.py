"""A strict reader of Prometheus' text format: it accepts what taskq should write, and nothing sloppier."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

_SAMPLE = re.compile(r"(?P<name>[a-z_]+)(?:\{(?P<labels>.*)\})? (?P<value>[0-9.e+-]+)\Z")
_LABEL = re.compile(r'([a-z_]+)="((?:[^"\\\n]|\\["\\n])*)"(?:,|\Z)')
_SUFFIXES = {"histogram": ("_bucket", "_sum", "_count"), "counter": ("",), "gauge": ("",)}

Labels = frozenset[tuple[str, str]]


@dataclass(slots=True)
class Family:
    """A metric as read. Samples: name of the sample, then its labels, then its value."""

    name: str
    kind: str
    help: str
    samples: dict[tuple[str, Labels], float] = field(default_factory=dict)

    def values(self, **labels: str) -> list[float]:
        """Those of samples with (at least) these labels."""
        return [value for (_, found), value in self.samples.items() if labels.items() <= dict(found).items()]

    def value(self, **labels: str) -> float:
        (value,) = self.values(**labels)
        return value


def read_page(text: str) -> dict[str, Family]:
    """Metrics by name. Raises AssertionError for anything that is not as it should be."""
    assert text.endswith("\n")
    families: dict[str, Family] = {}
    lines = text.splitlines()
    place = 0
    while place < len(lines):
        _, word, name, help_text = lines[place].split(" ", 3)
        assert word == "HELP", lines[place]
        hash_sign, word, same_name, kind = lines[place + 1].split(" ")
        assert (hash_sign, word, same_name) == ("#", "TYPE", name), lines[place + 1]
        assert name not in families, f"{name} comes twice"
        family = families[name] = Family(name, kind, help_text)
        place += 2
        while place < len(lines) and not lines[place].startswith("#"):
            _read_sample(family, lines[place])
            place += 1
        if kind == "histogram":
            _check_histogram(family)
    return families


def _read_sample(family: Family, line: str) -> None:
    found = _SAMPLE.match(line)
    assert found, line
    assert found["name"] in [family.name + suffix for suffix in _SUFFIXES[family.kind]], line
    key = (found["name"], _labels(found["labels"] or ""))
    assert key not in family.samples, f"{line}: twice"
    family.samples[key] = float(found["value"])


def _labels(text: str) -> Labels:
    pairs: list[tuple[str, str]] = []
    while text:
        found = _LABEL.match(text)
        assert found, text
        pairs.append((found[1], found[2]))
        text = text[found.end() :]
    assert len(dict(pairs)) == len(pairs), "a label comes twice"
    return frozenset(pairs)


def _check_histogram(family: Family) -> None:
    """Each has buckets that never fall, the last of them +Inf and equal to the count, and a sum."""
    series: dict[Labels, list[tuple[float, float]]] = {}
    for (name, labels), value in family.samples.items():
        if name.endswith("_bucket"):
            bound = dict(labels)["le"]
            rest = frozenset(pair for pair in labels if pair[0] != "le")
            series.setdefault(rest, []).append((math.inf if bound == "+Inf" else float(bound), value))
    counted = {labels for (name, labels) in family.samples if name.endswith("_count")}
    summed = {labels for (name, labels) in family.samples if name.endswith("_sum")}
    assert series.keys() == counted == summed
    for labels, buckets in series.items():
        assert buckets == sorted(buckets), "bounds ascend"
        numbers = [number for _, number in buckets]
        assert numbers == sorted(numbers), "buckets are cumulative"
        assert buckets[-1] == (math.inf, family.samples[f"{family.name}_count", labels])


def counters(page: Mapping[str, Family]) -> dict[tuple[str, Labels], float]:
    """Every sample that may only grow."""
    return {key: value for family in page.values() if family.kind != "gauge" for key, value in family.samples.items()}
