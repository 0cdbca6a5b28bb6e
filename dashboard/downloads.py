"""Tables of any length as CSV or JSON, sent piece by piece: no more of them than a batch is in memory.

What fails before the first batch is answered as on any page. What fails later breaks the connection off, so that a
browser does not take the part for the whole.
"""

from __future__ import annotations

import base64
import json
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import chain
from typing import Any, Final, cast

from asgiref.sync import sync_to_async
from django.core.handlers.asgi import ASGIRequest
from django.db import connections
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse

from queues.services.errors import InvalidArgumentError
from queues.services.reporting.presenting.tables import csv_lines, without_formula

ROWS_MAX: Final = 100_000
"""Of one download. Pages say so beside the link."""

CSV: Final = "csv"
JSON: Final = "json"
_TYPES: Final = {CSV: "text/csv; charset=utf-8", JSON: "application/json"}

Row = Mapping[str, Any]


def send_rows(
    request: HttpRequest, *, name: str, columns: Sequence[str], batches: Iterator[Sequence[Row]], total: int = 0
) -> HttpResponse:
    """The first ROWS_MAX rows. `?as=json` for JSON, an array of objects; else CSV.

    `name`: of the file, without its ending. If there are more than ROWS_MAX rows in `total`, it says that it has the
    first ones. Raises InvalidArgumentError, and what the first batch raises.
    """
    form = request.GET.get("as", CSV)
    if form not in _TYPES:
        raise InvalidArgumentError("invalid as")
    first = list(next(batches, ()))
    write = _csv if form == CSV else _json
    pieces = write(columns, _bounded(chain([first], batches)))
    content = _in_threads(pieces) if isinstance(request, ASGIRequest) else filter(None, pieces)
    response = StreamingHttpResponse(content, content_type=_TYPES[form])
    part = f"-first-{ROWS_MAX}" if total > ROWS_MAX else ""
    response["Content-Disposition"] = f'attachment; filename="{name}{part}.{form}"'
    response["X-Content-Type-Options"] = "nosniff"
    return cast(HttpResponse, response)  # the decorators of views know no other


def moment(ms: float | None) -> datetime | None:
    """A time in ms since 1970 for a row."""
    return None if ms is None else datetime.fromtimestamp(ms / 1000, UTC)


def body_cells(body: bytes) -> dict[str, str]:
    """A body as text, or in base64 if it is none."""
    try:
        return {"body_encoding": "text", "body": body.decode()}
    except UnicodeDecodeError:
        return {"body_encoding": "base64", "body": base64.b64encode(body).decode()}


def _bounded(batches: Iterable[Sequence[Row]]) -> Iterator[Sequence[Row]]:
    left = ROWS_MAX
    for batch in batches:
        yield batch[:left]
        left -= len(batch)
        if left <= 0:
            return


def _csv(columns: Sequence[str], batches: Iterable[Sequence[Row]]) -> Iterator[str]:
    """A mapping within a row is written as JSON. What a spreadsheet would take for a formula gets an apostrophe.

    A batch without rows is an empty piece: a search without matches does not keep a thread until its end.
    """
    yield csv_lines([columns])
    for batch in batches:
        rows = [[without_formula(_cell(row.get(name))) for name in columns] for row in batch]
        yield csv_lines(rows) if rows else ""


def _cell(value: Any) -> Any:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, Mapping) else value


def _json(columns: Sequence[str], batches: Iterable[Sequence[Row]]) -> Iterator[str]:
    yield "["
    before = "\n"
    for batch in batches:
        if not batch:
            yield ""
        for row in batch:
            values = {name: _plain(row.get(name)) for name in columns}
            yield before + json.dumps(values, ensure_ascii=False)
            before = ",\n"
    yield "\n]\n"


def _plain(value: Any) -> Any:
    return value.isoformat(timespec="milliseconds") if isinstance(value, datetime) else value


async def _in_threads(pieces: Iterator[str]) -> AsyncIterator[str]:
    """Each piece made in a thread: Django would make a list of all of them."""
    while (piece := await sync_to_async(_next, thread_sensitive=False)(pieces)) is not None:
        if piece:
            yield piece


def _next(pieces: Iterator[str]) -> str | None:
    try:
        return next(pieces, None)
    finally:
        connections.close_all()  # of this thread, which may be another one next time
