"""What is answered while the pages process is away: it has just died, or does not come up."""

from __future__ import annotations

from typing import Final

from django.http import HttpRequest, parse_cookie
from django.template.loader import render_to_string
from django.utils.translation import get_language_from_request, gettext_lazy, override

from queues.api.asgi import is_own
from queues.api.asgi_types import Scope, Send
from queues.api.request import Headers
from queues.api.response import NO_SNIFFING, json_response

RETRY_AFTER_S: Final = 2
ERROR: Final = "pages unavailable"
_TITLE: Final = gettext_lazy("Pages are starting")
_TEXT: Final = gettext_lazy(
    "The process that shows them is not there right now. Queues go on working: jobs are published, taken and acked."
)


async def answer_unavailable(scope: Scope, send: Send) -> None:
    """503, to be tried again: JSON for programs, a page for browsers."""
    retry_after = (b"retry-after", b"%d" % RETRY_AFTER_S)
    response = json_response(503, {"error": ERROR}, retry_after)
    headers, body = list(response.headers), response.body
    if not is_own(scope) and "text/html" in Headers(scope["headers"]).get(b"accept"):
        with override(_language(Headers(scope["headers"]))):
            body = render_to_string("error.html", {"status": 503, "title": _TITLE, "text": _TEXT}).encode()
        headers = [(b"content-type", b"text/html; charset=utf-8"), NO_SNIFFING, retry_after]
    headers.append((b"content-length", b"%d" % len(body)))
    await send({"type": "http.response.start", "status": 503, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def _language(headers: Headers) -> str:
    """The one that the pages process would answer in."""
    request = HttpRequest()
    request.COOKIES = parse_cookie(headers.get(b"cookie"))
    request.META["HTTP_ACCEPT_LANGUAGE"] = headers.get(b"accept-language")
    return get_language_from_request(request)
