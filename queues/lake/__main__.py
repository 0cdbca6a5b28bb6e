"""`python -m queues.lake LAKE [--date DAY ...] [--list FILE]`: reads files to the end, and names the damaged ones.

For readers that verify no checksums, such as DuckDB, whose views (docs/data/views.sql) leave out what is in FILE. Exit
status 1: a file is damaged; 2: the lake cannot be listed.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from datetime import date
from pathlib import Path

from .damage import find_damaged
from .files import list_days, read_day
from .storage import LakeError, Storage


def main(argv: Sequence[str] | None = None) -> int:
    """The exit status."""
    parser = argparse.ArgumentParser(prog="python -m queues.lake", description=__doc__)
    parser.add_argument("lake", help="URL or path of the event lake")
    parser.add_argument("--date", action="append", type=date.fromisoformat, metavar="YYYY-MM-DD", help="default: all")
    parser.add_argument("--list", type=Path, metavar="FILE", help="write the damaged files' paths there, one a line")
    asked = parser.parse_args(argv)
    files = events = 0
    damaged: list[str] = []
    try:
        root = Storage(asked.lake).url("").rstrip("/") + "/"
        for day in sorted(asked.date or list_days(asked.lake)):
            found = read_day(asked.lake, day)
            for file in (*found.corrupt, *find_damaged(found.live)):
                damaged.append(file.url.removeprefix(root))
                rows = "unknown number of" if file.rows is None else f"{file.rows:,}"
                print(f"{file.url}: {file.reason} ({rows} events)", flush=True)
            files += len(found.live)
            events += found.rows
    except LakeError as error:
        print(error, file=sys.stderr)
        return 2
    if asked.list:  # written also if there are none: a list of an earlier check must not stay
        asked.list.write_text("".join(f"{path}\n" for path in damaged), encoding="utf-8")
    print(f"{files:,} files, {events:,} events; {len(damaged)} damaged")
    return 1 if damaged else 0


if __name__ == "__main__":
    sys.exit(main())
