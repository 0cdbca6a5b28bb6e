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
CUT_OFF: Final = "cut off: it may have been done"
_TITLE: Final = gettext_lazy("Pages are starting")
_TEXT: Final = gettext_lazy(
    "The process that shows them is not there right now. Queues go on working: jobs are published, taken and acked."
)
_CUT_OFF: Final = gettext_lazy("The answer was lost")
_MAY_BE_DONE: Final = gettext_lazy(
    "The process that was doing this ended before it could say how it went. It may be done: look before you repeat it."
)


async def answer_unavailable(scope: Scope, send: Send, *, may_be_done: bool = False) -> None:
    """503, to be tried again: JSON for programs, a page for browsers. `may_be_done`: 502, to be looked after first."""
    status, title, text = (502, _CUT_OFF, _MAY_BE_DONE) if may_be_done else (503, _TITLE, _TEXT)
    again = () if may_be_done else ((b"retry-after", b"%d" % RETRY_AFTER_S),)
    response = json_response(status, {"error": CUT_OFF if may_be_done else ERROR}, *again)
    headers, body = list(response.headers), response.body
    if not is_own(scope) and "text/html" in Headers(scope["headers"]).get(b"accept"):
        with override(_language(Headers(scope["headers"]))):
            body = render_to_string("error.html", {"status": status, "title": title, "text": text}).encode()
        headers = [(b"content-type", b"text/html; charset=utf-8"), NO_SNIFFING, *again]
    headers.append((b"content-length", b"%d" % len(body)))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def _language(headers: Headers) -> str:
    """The one that the pages process would answer in."""
    request = HttpRequest()
    request.COOKIES = parse_cookie(headers.get(b"cookie"))
    request.META["HTTP_ACCEPT_LANGUAGE"] = headers.get(b"accept-language")
    return get_language_from_request(request)
