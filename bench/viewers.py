"""People who have the overview open, in a process of their own.

`python -m bench.viewers HOST PORT PAGES`

The cookies of who is signed in come by BENCH_COOKIES, the overview as HTML by standard input, up to a line `.`. Each of
the pages asks for its parts as live.js and charts.js do: as often, with the same headers, and less often while nothing
changes. Prints `looking` once every part of every page has been answered. Then, for each line on standard input, prints
how many answers have come so far, the bytes in them, and how many were neither 200 nor 304; after the line `away`
nobody looks any more, as in hidden tabs, until the line `back`. Ends when standard input does.
"""

from __future__ import annotations

import asyncio
import os
import random
import re
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from html import unescape
from pathlib import Path
from typing import Final

import brotli

SCRIPTS: Final = Path(__file__).parent.parent / "static" / "dashboard"
_TAG: Final = re.compile(r"<(?:section|figure)\b[^>]*>")
_ATTRIBUTE: Final = re.compile(r'\bdata-(live|url|every|part|brings)="([^"]*)"')
_VERSION: Final = re.compile(rb'data-version="([^"]+)"')
_KINDS: Final = {"live": ("live.js", "text/html"), "url": ("charts.js", "application/json")}
"""Attribute → the script that asks for what it names, and what the script wants."""


HAVE_MAX: Final = 200
"""Rows that live.js names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A part of a page that is fetched again and again. Times in s.

    `pace`: a pause is at least so many times as long as the server says that it took, or `busy_s`.
    """

    path: str
    accept: str
    every_s: float
    slowest_s: float
    pace: int
    busy_s: float


@dataclass(slots=True)
class Count:
    """What has come."""

    answers: int = 0
    bytes: int = 0
    wrong: int = 0


def parts_of(page: str) -> list[Part]:
    """What the scripts would find in it. A part that another brings along is not asked for while that one answers."""
    found = [dict(_ATTRIBUTE.findall(tag)) for tag in _TAG.findall(page)]
    brought = {tag["brings"] for tag in found if "brings" in tag}
    return [
        Part(
            path=unescape(tag[kind]),
            accept=accept,
            every_s=int(tag["every"]) / 1_000,
            slowest_s=_constant(script, "SLOWEST_MS") / 1_000,
            pace=_constant(script, "TIMES_AS_LONG", default=0),
            busy_s=_constant(script, "BUSY_MS", default=0) / 1_000,
        )
        for tag in found
        for kind, (script, accept) in _KINDS.items()
        if kind in tag and tag.get("part") not in brought
    ]


def _constant(script: str, name: str, *, default: int | None = None) -> int:
    found = re.search(rf"const {name} = ([\d_]+);", (SCRIPTS / script).read_text())
    assert found is not None or default is not None, f"{script} has no {name}"
    return default or 0 if found is None else int(found[1])


async def _look(part: Part, host: str, port: int, count: Count, first: asyncio.Event, here: asyncio.Event) -> None:
    reader, writer = await asyncio.open_connection(host, port)
    etag, have, wait_s = "", "", part.every_s
    while True:
        await here.wait()
        lines = [
            f"GET {part.path} HTTP/1.1",
            f"Host: {host}:{port}",
            f"Cookie: {os.environ['BENCH_COOKIES']}",
            f"Accept: {part.accept}",
            "Accept-Encoding: br",
            "X-Live: 1",
            *([f"X-Have: {have}"] if have else []),
            *([f"If-None-Match: {etag}"] if etag else []),
        ]
        writer.write(("\r\n".join(lines) + "\r\n\r\n").encode())
        status, headers, body = await _read(reader)
        count.answers += 1
        count.bytes += len(body)
        count.wrong += status not in (200, 304)
        etag = headers.get("etag", etag)
        if status == 200 and part.accept == "text/html":
            text = brotli.decompress(body) if headers.get("content-encoding") == "br" else body
            have = b",".join(_VERSION.findall(text)[:HAVE_MAX]).decode()
        wait_s = part.every_s if status == 200 else min(wait_s * 2, part.slowest_s)
        first.set()
        paced_s = float(headers.get("x-took-ms", 0)) / 1_000 * part.pace
        await asyncio.sleep(max(wait_s, min(paced_s, part.busy_s)) * random.uniform(0.9, 1.1))


async def _read(reader: asyncio.StreamReader) -> tuple[int, dict[str, str], bytes]:
    """Status, headers and body."""
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:] if line)}
    body = await reader.readexactly(int(headers.get("content-length", 0)))
    return int(head[0].split()[1]), headers, body


async def main(page: str) -> None:
    """Look until standard input ends."""
    host, port, pages = sys.argv[1:]
    count = Count()
    here = asyncio.Event()
    here.set()
    firsts = [asyncio.Event() for _ in parts_of(page) * int(pages)]
    looks = [
        asyncio.create_task(_begin(part, host, int(port), count, first, here))
        for part, first in zip(parts_of(page) * int(pages), firsts, strict=True)
    ]
    done, _pending = await asyncio.wait([asyncio.create_task(_all(firsts)), *looks], return_when="FIRST_COMPLETED")
    for task in done:
        task.result()
    print("looking", flush=True)
    while line := await asyncio.to_thread(sys.stdin.readline):
        if line == "away\n":
            here.clear()
        elif line == "back\n":
            here.set()
        count.wrong += sum(look.done() for look in looks)
        print(count.answers, count.bytes, count.wrong, flush=True)


async def _begin(part: Part, host: str, port: int, count: Count, first: asyncio.Event, here: asyncio.Event) -> None:
    """Pages are opened at different moments."""
    await asyncio.sleep(random.uniform(0, part.every_s))
    await _look(part, host, port, count, first, here)


async def _all(events: Iterable[asyncio.Event]) -> None:
    for event in events:
        await event.wait()


if __name__ == "__main__":
    asyncio.run(main("".join(iter(sys.stdin.readline, ".\n"))))
