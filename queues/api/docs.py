"""`/api/schema` and `/api/docs`: the API for programs and for people. Neither needs another host."""

from __future__ import annotations

from itertools import groupby
from typing import Any

import orjson
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from rest_framework.request import Request
from rest_framework.views import APIView

from queues import __version__

from .route_docs.documentation import Reply
from .router import Route
from .routes import ROUTES


class SchemaView(APIView):
    """The OpenAPI document."""

    schema = None  # it does not describe itself

    def get(self, request: Request) -> HttpResponse:
        from .schema import schema_json  # loads drf-spectacular and Django's test client, for this request only

        return HttpResponse(schema_json(), content_type="application/vnd.oai.openapi+json")


def docs(request: HttpRequest) -> HttpResponse:
    """The same as a page."""
    groups = [
        {"name": name, "routes": [_present(route) for route in routes]}
        for name, routes in groupby(ROUTES, key=lambda route: route.documentation.group)
    ]
    return render(request, "api/docs.html", {"groups": groups, "version": __version__})


def _present(route: Route) -> dict[str, Any]:
    documentation = route.documentation
    return {
        "route": route,
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
