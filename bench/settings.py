"""How long and how often a run of the benchmarks measures."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """`load_s`: one run of wrk, after `warm_s`; `hello_s`: the same for the hello application.

    `yardstick`: the S that bars are held against, "unix" or "tcp". `scale`: multiplies numbers of rounds.
    `workers`: web server processes of the runs under wrk, hello's among them; None: as the scenario has it.
    """

    runs: int
    load_s: int
    warm_s: int
    hello_s: int
    set_requests: int
    scale: float
    yardstick: str
    workers: int | None
    quick: bool

    def scaled(self, number: int) -> int:
        """So many, or fewer in a quick run."""
        return max(1, round(number * self.scale))


def full(*, runs: int, yardstick: str, workers: int | None) -> Settings:
    """What figures should come from."""
    return Settings(
        runs=runs,
        load_s=8,
        warm_s=2,
        hello_s=3,
        set_requests=200_000,
        scale=1,
        yardstick=yardstick,
        workers=workers,
        quick=False,
    )


def quick(*, yardstick: str, workers: int | None) -> Settings:
    """One short run each: to see that all works, and which way a change goes."""
    return Settings(
        runs=1,
        load_s=3,
        warm_s=1,
        hello_s=1,
        set_requests=100_000,
        scale=0.2,
        yardstick=yardstick,
        workers=workers,
        quick=True,
    )
