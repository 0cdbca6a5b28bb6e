"""Addresses that are only read or only posted to. Whoever opens that of a button is told so, and led back to it."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, Final, ParamSpec

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.cache import add_never_cache_headers
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

P = ParamSpec("P")
View = Callable[Concatenate[HttpRequest, P], HttpResponse]

_ABOVE: Final[tuple[tuple[str, frozenset[str], Promise], ...]] = (
    ("dashboard:job", frozenset({"pool", "namespace", "queue", "job_id"}), gettext_lazy("Back to the job")),
    ("dashboard:queue", frozenset({"pool", "namespace", "queue"}), gettext_lazy("Back to the queue")),
)
"""Pages with buttons: which names of the address they need."""


def only(*methods: str) -> Callable[[View[P]], View[P]]:
    """Any other method is answered 405 with what is allowed, by a page that leads on; to a script with JSON."""

    def decorate(view: View[P]) -> View[P]:
        @wraps(view)
        def answered(request: HttpRequest, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponse:
            return view(request, *args, **kwargs) if request.method in methods else _refuse(request, methods)

        return answered

    return decorate


def _refuse(request: HttpRequest, methods: tuple[str, ...]) -> HttpResponse:
    allowed = {"Allow": ", ".join(methods)}
    if not request.accepts("text/html"):
        return JsonResponse({"error": _("Nothing was done.")}, status=405, headers=allowed)
    url, title = _above(request)
    context = {"status": 405, "code": "method_not_allowed", "back": url, "back_title": title}
    response = render(request, "dashboard/trouble.html", context, status=405)
    response["Allow"] = allowed["Allow"]
    add_never_cache_headers(response)  # which a 405 may else be
    return response


def _above(request: HttpRequest) -> tuple[str, str]:
    """Address and title of the page that has the button; two empty texts if there is none but the overview."""
    match = request.resolver_match
    assert match is not None  # or there would be no view
    for name, needed, title in _ABOVE:
        if needed <= match.kwargs.keys():
            return reverse(name, kwargs={one: match.kwargs[one] for one in needed}), str(title)
    if match.url_name == "dead_act":
        return reverse("dashboard:dead"), _("Back to the dead letters")
    if match.url_name == "worker_act":
        return reverse("dashboard:workers"), _("Back to the workers")
    return "", ""
