"""Django's CommonMiddleware, kept away from the API."""

from __future__ import annotations

from typing import Final

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.middleware.common import CommonMiddleware

from .routes import ROUTES

_OWN: Final = frozenset(route.path.split("/")[1] for route in ROUTES)


class PagesOnlyCommonMiddleware(CommonMiddleware):
    """Checks the Host header of pages only.

    Clients reach the API by whatever name a network gives the server (a service name, a pod's address). A token is what
    opens it, no browser sends one by itself, and nothing in the API builds links from the host.
    """

    def process_request(self, request: HttpRequest) -> HttpResponseBase | None:  # type: ignore[override]
        first_segment = request.path_info.lstrip("/").partition("/")[0]
        return None if first_segment in _OWN else super().process_request(request)
