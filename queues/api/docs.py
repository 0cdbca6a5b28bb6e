"""`/api/schema` and `/api/docs`: the API for programs and for people. Neither needs another host."""

from __future__ import annotations

from typing import Any, Final

import orjson
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from rest_framework.request import Request
from rest_framework.views import APIView

from queues import __version__

from .route_docs.documentation import Reply
from .router import AuthKind, Route
from .routes import ROUTES


class SchemaView(APIView):
    """The OpenAPI document."""

    schema = None  # it does not describe itself

    def get(self, request: Request) -> HttpResponse:
        from .schema import schema_json  # loads drf-spectacular and Django's test client, for this request only

        return HttpResponse(schema_json(), content_type="application/vnd.oai.openapi+json")


def docs(request: HttpRequest) -> HttpResponse:
    """The same as a page, on which requests can be tried."""
    groups: dict[str, list[dict[str, Any]]] = {}
    for route in ROUTES:
        groups.setdefault(route.documentation.group, []).append(_present(route))
    context = {
        "groups": [{"name": name, "routes": routes} for name, routes in groups.items()],
        "version": __version__,
        "count": len(ROUTES),
        "signed_in": request.user.is_authenticated,
    }
    return render(request, "api/docs.html", context)


_AUTH: Final = {AuthKind.TOKEN: "token", AuthKind.STAFF: "staff", AuthKind.NONE: "open"}


def _present(route: Route) -> dict[str, Any]:
    documentation = route.documentation
    return {
        "route": route,
        "auth": _AUTH[route.auth],
        "needs": ", ".join(one.removeprefix("queues.") for one in route.permissions),
        "names": [segment[1:-1] for segment in route.path.split("/") if segment.startswith("{")],
        "documentation": documentation,
        "body_type": "" if documentation.body_type == "*/*" else documentation.body_type,
        "replies": [
            {"status": reply.status, "text": reply.text, "example": _example(reply)} for reply in documentation.replies
        ],
    }


def _example(reply: Reply) -> str:
    if reply.example is None or isinstance(reply.example, str):
        return reply.example or ""
    return orjson.dumps(reply.example).decode()
