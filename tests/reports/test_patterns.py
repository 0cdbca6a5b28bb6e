"""Spark groups errors as the dead-letter page does."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession
from pyspark.sql import functions as f

from queues.lake import error_patterns
from queues.reports.tables.errors import pattern_of

PIECES = st.one_of(
    st.sampled_from(
        ("Traceback (most recent call last):", "\n", "\r\n", "  ", "\t", "\u2028", "\u00a0", "\x85", "\x1c")
    ),
    st.sampled_from(
        ("31", "1.5,7", "0xBEEF", "deadbeef01", "a1b2c3d4e5", "01JDB000000000000000000000", "10.0.0.1", "x_12")
    ),
    st.sampled_from(("c7f6ffa0-9a0b-4c5e-8f1e-0123456789ab", "2026-11-18T10:11:12.5Z", "2026-11-18", "me@example.com")),
    st.sampled_from(("Übel", "٣٤", "ſ", "\u212a", "🙂", "$1", "\\", "ERROR", ": ", "é1", "<", ">", "<n>")),
    st.sampled_from(
        ("550 ", "404", "503 Bad", ": ", "HTTP ", "status code ", "[Errno 111]", "code=7", "\u3000", "500 ms")
    ),
)
TEXTS = st.lists(
    st.one_of(PIECES, st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=8)), max_size=12
)


def drawn_texts() -> list[str]:
    """Some hundred errors of Hypothesis's, others each time."""
    found: list[str] = []

    @settings(max_examples=4, suppress_health_check=list(HealthCheck), database=None, phases=[Phase.generate])
    @given(st.lists(TEXTS.map("".join), min_size=150, max_size=150))
    def draw(texts: list[str]) -> None:
        found.extend(texts)

    draw()
    return found


def test_spark_and_python_make_the_same_pattern_of_any_error(spark: SparkSession, tmp_path: Path) -> None:
    """All in one Spark job: to start one for each takes longer than what it does."""
    texts = drawn_texts()
    assert len({*texts}) > 300
    long = ("xxxxx", "7 ", "🙂🙂", "1,5-", "a@b.c ", "deadbeef01 ", ">-", "a\u3000", "🙂 0x1F.", "a" + " " * 14)
    texts += [part * 60 for part in long]
    # By way of bytes in a file, so that no rule for quoting comes in between.
    rows = [
        {"number": number, "text": text.encode(), "lost": lost} for number, text in enumerate(texts) for lost in (0, 1)
    ]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "texts.parquet")
    told = spark.read.parquet(f"{tmp_path}/texts.parquet")

    pattern = pattern_of(f.col("text").cast("string"), f.col("lost") == 1)
    found = told.select("number", "lost", pattern.alias("pattern")).collect()

    assert len(found) == len(rows)
    for row in found:
        text, outcome = texts[row["number"]], "lease_lost" if row["lost"] else "failed"
        assert row["pattern"] == error_patterns.pattern_of(error=text, outcome=outcome), text


def test_an_error_that_is_not_there_is_one_without_text(spark: SparkSession) -> None:
    told = spark.range(1).select(pattern_of(f.lit(None).cast("string"), f.lit(False)).alias("pattern"))

    assert [row["pattern"] for row in told.collect()] == [error_patterns.NO_TEXT]
