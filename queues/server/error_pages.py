"""Errors about a request for a page that no view answers: JSON for programs, a page for browsers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from django.http import HttpRequest, parse_cookie
from django.template.loader import render_to_string
from django.utils.translation import get_language_from_request, gettext_lazy, override

from queues.api.asgi import is_own
from queues.api.http.request import Headers, Scope, Send
from queues.api.http.response import NO_SNIFFING, json_response

RETRY_AFTER_S: Final = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorPage:
    """`error`: for programs. `title`, `text`: for people. `is_retried`: whether the client may simply try again."""

    status: int
    error: str
    title: Any
    text: Any
    is_retried: bool = False


STARTING: Final = ErrorPage(
    status=503,
    error="pages unavailable",
    title=gettext_lazy("Pages are starting"),
    text=gettext_lazy(
        "The process that serves pages is restarting. Queues are not affected: jobs are published, consumed and acked."
    ),
    is_retried=True,
)
BUSY: Final = ErrorPage(
    status=503,
    error="too many requests",
    title=gettext_lazy("Too many requests for pages"),
    text=gettext_lazy("Too many of them are under way, or too many from your address. Try again in a moment."),
    is_retried=True,
)
TOO_SLOW: Final = ErrorPage(
    status=503,
    error="page took too long",
    title=gettext_lazy("This page took too long"),
    text=gettext_lazy("The request timed out. Queues are not affected."),
    is_retried=True,
)
TOO_SLOW_TO_SAY: Final = ErrorPage(
    status=503,
    error="took too long: it may have been done",
    title=gettext_lazy("This took too long"),
    text=gettext_lazy("The request timed out. The change may have been made: check before you repeat it."),
)
BODY_TOO_LARGE: Final = ErrorPage(
    status=413,
    error="body too large",
    title=gettext_lazy("This form is too large"),
    text=gettext_lazy("Nothing was changed. Before you sign in, a form may have 64 KiB, afterwards 4 MiB."),
)
BODY_TOO_SLOW: Final = ErrorPage(
    status=408,
    error="the request took too long to arrive",
    title=gettext_lazy("The request took too long to arrive"),
    text=gettext_lazy("Nothing was changed. Check your connection and send it again."),
)
NO_DATABASE: Final = ErrorPage(
    status=503,
    error="metadata unavailable",
    title=gettext_lazy("The database does not answer"),
    text=gettext_lazy(
        "Pages cannot be shown right now. Queues are not affected: jobs are published, consumed and acked."
    ),
    is_retried=True,
)


async def answer_error(scope: Scope, send: Send, page: ErrorPage, *, closes: bool = False) -> None:
    """Send `page`. `closes`: the connection ends with it, as the rest of the request is not going to be read."""
    again = ((b"retry-after", b"%d" % RETRY_AFTER_S),) if page.is_retried else ()
    response = json_response(page.status, {"error": page.error}, *again)
    headers, body = list(response.headers), response.body
    if not is_own(scope) and "text/html" in Headers(scope["headers"]).get(b"accept"):
        with override(_language(Headers(scope["headers"]))):
            context = {"status": page.status, "title": page.title, "text": page.text}
            body = render_to_string("error.html", context).encode()
        headers = [(b"content-type", b"text/html; charset=utf-8"), NO_SNIFFING, *again]
    headers.append((b"content-length", b"%d" % len(body)))
    if closes:
        headers.append((b"connection", b"close"))
    await send({"type": "http.response.start", "status": page.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def _language(headers: Headers) -> str:
    """The one that a view would answer in."""
    request = HttpRequest()
    request.COOKIES = parse_cookie(headers.get(b"cookie"))
    request.META["HTTP_ACCEPT_LANGUAGE"] = headers.get(b"accept-language")
    return get_language_from_request(request)
