"""What the made-up service of the demo data does: its queues and its rhythm."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date
from random import Random
from typing import Final

POOL: Final = "default"
NAMESPACE: Final = "demo"

HOURS: Final = (3, 2, 2, 2, 2, 3, 5, 9, 14, 18, 19, 18, 16, 18, 19, 18, 16, 13, 11, 10, 9, 8, 6, 4)
"""How much is published in each hour of a day, against the others."""

WEEKDAYS: Final = (1.0, 1.05, 1.08, 1.04, 0.97, 0.45, 0.4)
"""The same for Monday to Sunday."""

MOST_BUSY: Final = max(HOURS) * max(WEEKDAYS)

WORKERS: Final = tuple(f"worker-{number:02d}" for number in range(1, 13))


@dataclass(frozen=True, slots=True, kw_only=True)
class Queue:
    """`share` of all jobs; medians in ms; `crowding`: how many times longer jobs wait in the busiest hour than in none.

    `delayed`: the share published with a delay of about `delay_ms`. `failing`, `losing`: the share of attempts that
    fail, and whose lease runs out after `ttr_ms`. `errors`: what failures say, `{}` standing for a number.
    """

    name: str
    share: float
    wait_ms: float
    run_ms: float
    crowding: float = 3
    spread: float = 0.8
    size: float = 400
    delayed: float = 0
    delay_ms: float = 60_000
    failing: float = 0.01
    losing: float = 0.0005
    tries: int = 3
    ttr_ms: int = 60_000
    ttl_ms: int = 86_400_000
    errors: tuple[str, ...] = field(default=("TimeoutError: no answer within {} ms",))


QUEUES: Final = (
    Queue(
        name="emails",
        share=0.3,
        wait_ms=12,
        run_ms=180,
        size=1_400,
        failing=0.02,
        errors=(
            "SMTPServerBusy: 451 try again in {} s",
            "SMTPRecipientsRefused: 550 no such user no-one-{}@example.com",
        ),
    ),
    Queue(
        name="webhooks",
        share=0.25,
        wait_ms=8,
        run_ms=90,
        spread=1.2,
        size=900,
        failing=0.05,
        tries=4,
        errors=("HTTPError: 503 from https://hooks.example.com/{}", "ReadTimeout: no answer within {} ms"),
    ),
    Queue(name="thumbnails", share=0.2, wait_ms=40, run_ms=350, size=220, crowding=6),
    Queue(name="search-index", share=0.15, wait_ms=5, run_ms=20, size=300, failing=0.002),
    Queue(name="reminders", share=0.06, wait_ms=6, run_ms=35, delayed=0.95, delay_ms=1_800_000),
    Queue(
        name="invoices",
        share=0.03,
        wait_ms=400,
        run_ms=2_500,
        size=5_000,
        losing=0.004,
        errors=("IntegrityError: duplicate key 2024-{} of invoices", "TemplateError: line {}: no such field"),
    ),
    Queue(name="exports", share=0.002, wait_ms=80, run_ms=1_500, size=250, errors=("PermissionError: report {}",)),
    Queue(
        name="video-transcode",  # the slow one: in busy hours jobs wait for hours, some until they expire
        share=0.01,
        wait_ms=90_000,
        run_ms=45_000,
        crowding=60,
        spread=0.9,
        size=600,
        failing=0.03,
        losing=0.01,
        ttr_ms=600_000,
        ttl_ms=21_600_000,
        errors=("CodecError: frame {} is damaged", "MemoryError: {} MiB asked for"),
    ),
)


def dice(name: str) -> Random:
    """Chance that is the same for the same name on every machine."""
    return Random(name)  # noqa: S311  no secret


def share_of_day(day: date, hour: int) -> float:
    """What is published in this hour, as a share of an ordinary working day's."""
    return WEEKDAYS[day.weekday()] * HOURS[hour] / sum(HOURS)


def crowding_in_hour(queue: Queue, *, day: date, hour: int) -> float:
    """By how much waits are longer then: 1 with nothing to do, `queue.crowding` in the week's busiest hour."""
    busy = HOURS[hour] * WEEKDAYS[day.weekday()] / MOST_BUSY
    return float(queue.crowding ** (busy**2))
