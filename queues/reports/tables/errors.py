"""What goes wrong, by what the errors have in common."""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as f

from queues.lake import error_patterns as patterns
from queues.lake.schema import LEASE_LOST

from .cells import SCOPE

TOP: Final = 20
"""Patterns of a queue."""

# Spark has one replacement for all matches, so a token is first written between marks that tell its group. By then the
# text has no spaces but blanks, so other spaces serve as marks.
_MARKS: Final = patterns.SPACES.replace(" ", "")[: len(patterns.PLACEHOLDERS)]
_MARKED: Final = "".join(f"{mark}${group}" for group, mark in enumerate(_MARKS, 1)) + _MARKS[0]
MARKED_TOKENS: Final = tuple(
    (
        f"{_MARKS[:group]}[^{_MARKS}]{'*+' if placeholder == patterns.NUMBER_PLACEHOLDER else '++'}"
        f"{_MARKS[group:]}{_MARKS[0]}",
        placeholder,
    )
    for group, placeholder in enumerate(patterns.PLACEHOLDERS, 1)
)
"""What a marked token looks like, by group, and its placeholder. The group of a number only may be empty."""


def errors_of(notable: DataFrame, lost: DataFrame) -> DataFrame:
    """(scope, pattern, failed, dead, first_at, last_at, job), the most frequent of each queue; `job`: of the latest."""
    ended = notable.where(f.col("kind").isin("failed", "dead"))
    # A death of which nobody said a word is one by a lost lease if that delivery's lease was lost.
    leases = lost.withColumn("lease_lost", f.lit(True))
    by_lease = f.col("lease_lost").isNotNull() & (f.col("kind") == "dead")
    told = ended.join(leases, [*SCOPE, "job", "attempt"], "left").withColumns(
        {"lease_lost": by_lease, "error": f.when(~(by_lease & (f.col("error") == LEASE_LOST)), f.col("error"))}
    )
    # Texts are few against events, so they are looked at once each.
    kind = f.col("kind")
    by_text = told.groupBy(*SCOPE, "error", "lease_lost").agg(
        f.count(f.when(kind == "failed", 1)).alias("failed"),
        f.count(f.when(kind == "dead", 1)).alias("dead"),
        f.min("at").alias("first_at"),
        f.max("at").alias("last_at"),
        f.max(f.struct("at", "job")).alias("latest"),
    )
    pattern = pattern_of(f.col("error"), f.col("lease_lost"))
    summed = by_text.groupBy(*SCOPE, pattern.alias("pattern")).agg(
        f.sum("failed").alias("failed"),
        f.sum("dead").alias("dead"),
        f.min("first_at").alias("first_at"),
        f.max("last_at").alias("last_at"),
        f.max("latest").getField("job").alias("job"),
    )
    often = Window.partitionBy(*SCOPE).orderBy((f.col("failed") + f.col("dead")).desc(), "pattern")
    ranked = summed.withColumn("rank", f.row_number().over(often)).where(f.col("rank") <= TOP)
    return ranked.drop("rank")


def pattern_of(error: Column, lease_lost: Column) -> Column:
    """As `queues.lake.error_patterns.pattern_of`, by the same expressions."""
    text = f.btrim(f.coalesce(error, f.lit("")), f.lit(patterns.SPACES))
    last = f.substring_index(f.translate(text, "\r", "\n"), "\n", -1)
    named = f.when(text.startswith(patterns.TRACEBACK), last).otherwise(text)
    # Not as one expression: each character would be held against all kinds of space.
    blanks = f.translate(f.substring(named, 1, patterns.TEXT_MAX), patterns.SPACES, " " * len(patterns.SPACES))
    line = f.btrim(f.regexp_replace(blanks, " {2,}+", " "))
    beginning = f.substring(f.substring_index(line, " ", patterns.WORDS_MAX), 1, patterns.PATTERN_MAX)
    result = _replace_tokens(f.regexp_replace(beginning, patterns.EMAIL, patterns.EMAIL_PLACEHOLDER))
    # Not `when`: each expression comes once, for Spark would work out again what comes in two branches.
    result = f.regexp_replace(result, f"({patterns.HEAD})[^\\n]*+", "$1")
    result = f.regexp_replace(result, patterns.NUMBER_PARTS, patterns.NUMBER_PLACEHOLDER)
    silent = f.when(lease_lost, patterns.LEASE_LOST).otherwise(patterns.NO_TEXT)
    return f.when(text == "", silent).otherwise(f.substring(result, 1, patterns.PATTERN_MAX))


def _replace_tokens(text: Column) -> Column:
    """Each token by the placeholder of the group that matches. Codes stay."""
    result = f.regexp_replace(text, patterns.CODE, patterns.MARKED_CODE)
    result = f.regexp_replace(result, patterns.TOKEN, _MARKED)
    for found, placeholder in MARKED_TOKENS:
        result = f.regexp_replace(result, found, placeholder)
    return f.translate(result, patterns.CODE_MARK, "")
