"""Processor time of showing the worst job bodies of 1 MiB, and of as much as the dashboard shows."""

from __future__ import annotations

import time
from collections.abc import Sequence

from dashboard.job_bodies import SHOWN_BYTES, show_body

from ..report import Bar, Figure
from ..settings import Settings

MEBIBYTE = 1024 * 1024


def figures(settings: Settings) -> Sequence[Figure]:
    """The worst of the bodies in each run."""
    bodies = [body[:size] for body in _hostile(MEBIBYTE) for size in (SHOWN_BYTES, MEBIBYTE)] + _valid(SHOWN_BYTES)
    runs = [max(_show_ms(body) for body in bodies) for _ in range(settings.runs)]
    return [Figure(name="the worst body of 1 MiB, shown", unit="ms", runs=runs, bar=Bar(sense="≤", value=200))]


def _hostile(size: int) -> list[bytes]:
    parts = [(b"{", b'\\"'), (b"[", b'"'), (b"", b"["), (b"", b'{"":'), (b"", b"\x01"), (b"", b"<"), (b"", b"\xff")]
    parts.append((b"", "\u200b".encode()))
    return [first + repeated * (size // len(repeated)) for first, repeated in parts]


def _valid(size: int) -> list[bytes]:
    """JSON that has the most tokens, or is the longest when it is laid out."""
    most = size // 5 - 10
    flat = b"[" + b",".join([b"1"] * (2 * most)) + b"]"
    return [flat, b"[" + b"[[]]," * most + b"1]", b"[" * 190 + b",".join([b"1"] * 1_000) + b"]" * 190]


def _show_ms(body: bytes) -> float:
    began = time.thread_time()
    show_body(body)
    return (time.thread_time() - began) * 1_000
