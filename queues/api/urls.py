"""Django's URLs of the API, made of the table of routes."""

from __future__ import annotations

from itertools import groupby

from django.urls import URLPattern, path, re_path

from .docs import SchemaView, docs
from .router import Route
from .routes import ROUTES
from .views import AnyPathView, make_view


def _pattern(text: str, routes: list[Route]) -> URLPattern:
    return path(text.removeprefix("/").replace("{", "<str:").replace("}", ">"), make_view(text, routes))


def _by_path() -> list[tuple[str, list[Route]]]:
    """Paths without parameters first: Django takes the first pattern that fits."""
    ordered = sorted(ROUTES, key=lambda route: ("{" in route.path, route.path))
    return [(text, list(routes)) for text, routes in groupby(ordered, key=lambda route: route.path)]


urlpatterns: list[URLPattern] = [
    path("api/schema", SchemaView.as_view(), name="api-schema"),
    path("api/docs", docs, name="api-docs"),
    *[_pattern(text, routes) for text, routes in _by_path()],
    # Whatever else is below these prefixes: a name with an encoded slash, or no route at all. The view finds out.
    re_path(r"^(?:api|token)(?:/[\s\S]*)?\Z", AnyPathView.as_view()),
]
