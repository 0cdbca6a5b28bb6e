"""Django middleware: requests of the API skip the middleware that only pages need."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Final

from asgiref.sync import iscoroutinefunction
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.urls import Resolver404, ResolverMatch, resolve
from django.utils.decorators import sync_and_async_middleware

from .views import OperationView

Handler = Callable[[HttpRequest], Any]
_OPENED_BY_TOKENS: Final = "/api"

AsyncHandler = Callable[[HttpRequest], Awaitable[HttpResponseBase]]


@sync_and_async_middleware
def skip_page_middleware(get_response: Handler) -> Handler:
    """Call the API's views at once, unless the request may come from a session of staff.

    Sessions, languages, CSRF and messages mean nothing to a client with a token, yet each costs two changes of thread.
    The Host header is not looked at either: clients reach the API by whatever name a network gives the server, nothing
    in it builds links, and no browser sends a token by itself.
    """
    if not iscoroutinefunction(get_response):
        return get_response

    async def middleware(request: HttpRequest) -> HttpResponseBase:
        match = None if _may_be_of_a_session(request) else _find(request.path_info)
        if match is None:
            response: HttpResponseBase = await get_response(request)
            return response
        view: AsyncHandler = match.func
        return await view(request, *match.args, **match.kwargs)

    return middleware


def _may_be_of_a_session(request: HttpRequest) -> bool:
    """Below /api a token opens everything, and whatever cookies a client sends are not ours to look at."""
    return "HTTP_COOKIE" in request.META and not request.path_info.startswith(_OPENED_BY_TOKENS)


def _find(path: str) -> ResolverMatch | None:
    """The view of an API route, None for a page."""
    try:
        match = resolve(path)
    except Resolver404:
        return None
    return match if issubclass(getattr(match.func, "cls", object), OperationView) else None
