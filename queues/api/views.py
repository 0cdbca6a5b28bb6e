"""The DRF views: one view for each path of the table of routes, all of them thin; and the middleware that lets requests
of the API skip what only pages need.

The views are asynchronous, where DRF's own are not. Under ASGI a synchronous view costs a thread for as long as it
runs, so a waiting consumer would hold one for up to ten minutes, and would not be told that its client has gone. Of DRF
the API uses the authentication of staff and, by way of drf-spectacular, the schema.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any, Final
from urllib.parse import quote

from asgiref.sync import iscoroutinefunction
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.urls import Resolver404, ResolverMatch, resolve
from django.utils.decorators import sync_and_async_middleware
from rest_framework.views import APIView

from queues.engine.constants import DISCARD_MAX_BYTES

from .asgi import SCOPE_KEY, RequestState
from .context import CONTEXT
from .http.errors import BodyTooLargeError, StaffOnlyError
from .http.request import ApiRequest, Headers, Query, parse_query
from .http.response import ApiResponse
from .logs import ACCESS_LOG
from .pipeline import answer, refuse_unrouted
from .router import Route
from .routes import ROUTER
from .staff import call_for_staff, check_staff, comes_without_proof

HANDLERS: Final[dict[str, Callable[..., Awaitable[HttpResponseBase]]]] = {}
"""By the names of their routes, for `schema` to describe."""


class OperationView(APIView):
    """Takes a Django request through the pipeline. Which route it is says the path as it was sent (see `router`)."""

    view_is_async = True
    authentication_classes: Any = ()
    permission_classes: Any = ()

    async def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:  # type: ignore[override]
        ACCESS_LOG.refresh_if_due()
        return _to_django(await _answer(request))


class AnyPathView(OperationView):
    """For paths that no pattern of Django's fits."""

    schema = None


def make_view(path: str, routes: Iterable[Route]) -> Callable[..., Any]:
    """The view of a path: a handler for each of its methods, so that the schema finds them."""
    handlers: dict[str, Any] = {route.method.lower(): _make_handler(route) for route in routes}
    name = "".join(part.strip("{}").title() for part in path.split("/")) + "View"
    return type(name, (OperationView,), handlers).as_view()  # type: ignore[attr-defined, no-any-return]


def _make_handler(route: Route) -> Callable[..., Awaitable[HttpResponseBase]]:
    async def handler(view: OperationView, request: HttpRequest, **parameters: str) -> HttpResponseBase:
        return await view.dispatch(request, **parameters)

    handler.__name__ = route.method.lower()
    handler.__doc__ = route.documentation.summary
    HANDLERS[route.name] = handler
    return handler


async def _answer(request: HttpRequest) -> ApiResponse:
    scope: dict[str, Any] = getattr(request, "scope", {})
    state: RequestState | None = scope.get(SCOPE_KEY)
    raw_path = scope.get("raw_path") or quote(request.path).encode()
    try:
        route, path = ROUTER.match(request.method or "", raw_path)
        query = parse_query(scope.get("query_string") or request.META.get("QUERY_STRING", "").encode("latin-1"))
    except Exception as error:
        return refuse_unrouted(
            error,
            method=request.method or "",
            raw_path=raw_path,
            client=request.META.get("REMOTE_ADDR") or "",
            request_id=state.request_id if state else b"",
        )
    api_request = _DjangoRequest(request, state, method=route.method, path=path, query=query)
    try:
        return await answer(route, api_request, CONTEXT)
    finally:
        api_request.release_memory()


class _DjangoRequest(ApiRequest):
    """`middleware`: what `ApiMiddleware` knows of it. Without it Django has read the body; disconnects are not seen."""

    __slots__ = ("_body", "_django")

    def __init__(
        self,
        django: HttpRequest,
        middleware: RequestState | None,
        *,
        method: str,
        path: Mapping[str, str],
        query: Query,
    ) -> None:
        headers = middleware.headers if middleware else Headers(_headers(django))
        client = django.META.get("REMOTE_ADDR") or ""
        super().__init__(method, path, query, headers, client, middleware.request_id if middleware else b"")
        self._django = django
        self._body = middleware.body if middleware else None

    async def read_body(self, limit: int) -> bytes | bytearray:
        if self._body is not None:
            kept = await self._body.read(limit, limit, self.take_memory)
            assert kept is not None, "a body is not dropped without an error"
            return kept
        body: bytes = self._django.read(limit + 1)
        if len(body) > limit:
            raise BodyTooLargeError("body too large")
        return body

    async def read_or_discard_body(self, limit: int) -> bytes | bytearray | None:
        if self._body is not None:
            return await self._body.read(limit, DISCARD_MAX_BYTES, self.take_memory)
        body = self._django.read(limit + 1)
        return body if len(body) <= limit else None

    async def check_staff(self, permissions: Sequence[str]) -> Any:
        if comes_without_proof(self._django):
            raise StaffOnlyError("authentication required")
        return await call_for_staff(check_staff, self._django, permissions)

    def skip_body(self) -> None:
        if self._body is not None:
            self._body.skip()


def _to_django(response: ApiResponse) -> HttpResponse:
    django = HttpResponse(response.body, status=response.status)
    # By the pipeline, with fields; a probe is no error.
    django._has_been_logged = True  # type: ignore[attr-defined]  # noqa: SLF001
    del django["Content-Type"]
    if response.status != 204:
        django["Content-Length"] = str(len(response.body))
    for name, value in response.headers:
        django[name.decode("ascii").title()] = value.decode("latin-1")
    return django


def _headers(request: HttpRequest) -> list[tuple[bytes, bytes]]:
    """Without ASGI (Django's synchronous test client), headers are in META."""
    return [(name.lower().encode(), value.encode("latin-1", "replace")) for name, value in request.headers.items()]


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
        match = None if _may_be_of_a_session(request) else _find_view(request.path_info)
        if match is None:
            response: HttpResponseBase = await get_response(request)
            return response
        view: AsyncHandler = match.func
        return await view(request, *match.args, **match.kwargs)

    return middleware


def _may_be_of_a_session(request: HttpRequest) -> bool:
    """Below /api a token opens everything, and whatever cookies a client sends are not ours to look at."""
    return "HTTP_COOKIE" in request.META and not request.path_info.startswith(_OPENED_BY_TOKENS)


def _find_view(path: str) -> ResolverMatch | None:
    """The view of an API route, None for a page."""
    try:
        match = resolve(path)
    except Resolver404:
        return None
    return match if issubclass(getattr(match.func, "cls", object), OperationView) else None
