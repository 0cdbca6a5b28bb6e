"""Decorators of views: @page for reading, @action for changes. Both check sign-in and method, and answer errors.

A live fragment (header `X-Live: 1`) is answered 304 when its ETag still holds, without the rows that the reader has
(`X-Have`, see live_rows.py), and an error with a fragment.
It says how long it took (`X-Took-Ms`): scripts ask a busy server less often.
An action asked for by a script (`Accept: application/json`) is answered with JSON.
What destroys something has to be confirmed: by dialogs.js where scripts run, else by a page. The server insists."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any, Concatenate, Final, ParamSpec

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponse, HttpResponseNotModified, JsonResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.cache import add_never_cache_headers
from django.utils.functional import Promise
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.cache import never_cache

from queues.engine.errors import StoreUnavailableError
from queues.services.errors import TaskqError
from queues.services.http_statuses import HTTP_STATUS
from queues.services.queues.visible_queues import VisiblePools

from ..confirmations import Confirmation
from ..error_messages import error_message, is_explained
from ..live_rows import split_rows

P = ParamSpec("P")
View = Callable[Concatenate[HttpRequest, P], HttpResponse]

_ABOVE: Final[tuple[tuple[str, frozenset[str], Promise], ...]] = (
    ("dashboard:job", frozenset({"pool", "namespace", "queue", "job_id"}), gettext_lazy("Back to the job")),
    ("dashboard:queue", frozenset({"pool", "namespace", "queue"}), gettext_lazy("Back to the queue")),
    (
        "dashboard:workflow",
        frozenset({"pool", "namespace", "workflow_id"}),
        gettext_lazy("Back to the workflow"),
    ),
    ("dashboard:schedule", frozenset({"pool", "namespace", "schedule"}), gettext_lazy("Back to the schedule")),
)
"""Pages with buttons: which names of the address they need."""


def only(*methods: str) -> Callable[[View[P]], View[P]]:
    """Any other method is answered 405 with what is allowed, by a page that leads on; to a script with JSON."""

    def decorate(view: View[P]) -> View[P]:
        @wraps(view)
        def answered(request: HttpRequest, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponse:
            return view(request, *args, **kwargs) if request.method in methods else _refuse_method(request, methods)

        return answered

    return decorate


def _refuse_method(request: HttpRequest, methods: tuple[str, ...]) -> HttpResponse:
    allowed = {"Allow": ", ".join(methods)}
    if not request.accepts("text/html"):
        return JsonResponse({"error": _("Nothing was done.")}, status=405, headers=allowed)
    url, title = _page_above(request)
    context = {"status": 405, "code": "method_not_allowed", "back": url, "back_title": title}
    response = render(request, "dashboard/error.html", context, status=405)
    response["Allow"] = allowed["Allow"]
    add_never_cache_headers(response)  # which a 405 may else be
    return response


def _page_above(request: HttpRequest) -> tuple[str, str]:
    """Address and title of the page that has the button; two empty texts if there is none but the overview."""
    match = request.resolver_match
    assert match is not None  # or there would be no view
    for name, needed, title in _ABOVE:
        if needed <= match.kwargs.keys():
            return reverse(name, kwargs={one: match.kwargs[one] for one in needed}), str(title)
    if match.url_name == "dead_act":
        return reverse("dashboard:dead"), _("Back to the dead letters")
    if match.url_name == "push_act":
        return reverse("dashboard:push_endpoint", kwargs=match.kwargs), _("Back to the push endpoint")
    if match.url_name == "worker_act":
        return reverse("dashboard:workers"), _("Back to the workers")
    return "", ""


LOGIN: Final = "dashboard:login"
RETRY_AFTER_S: Final = 5


def page(view: View[P]) -> View[P]:
    """GET and HEAD, for signed-in users. The view may raise any TaskqError."""

    @wraps(view)
    def answered(request: HttpRequest, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponse:
        began = time.perf_counter()
        try:
            response = view(request, *args, **kwargs)
        except TaskqError as error:
            return refuse(request, error)
        if not is_live(request):
            return response
        response = _unless_known(request, response)
        response["X-Took-Ms"] = f"{(time.perf_counter() - began) * 1_000:.3f}"
        return response

    return only("GET", "HEAD")(never_cache(login_required(answered, login_url=LOGIN)))


def action(view: View[P]) -> View[P]:
    """POST with a CSRF token, for signed-in users. The view changes something and returns `done(...)`."""

    @wraps(view)
    def answered(request: HttpRequest, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponse:
        if not request.user.is_authenticated:
            return _ask_to_sign_in(request)
        try:
            return view(request, *args, **kwargs)
        except TaskqError as error:
            return refuse(request, error)

    return only("POST")(never_cache(answered))


def done(request: HttpRequest, *, message: str, back: str, data: Mapping[str, Any] | None = None) -> HttpResponse:
    """The answer to an action: JSON `{"message", **data}` for a script, else a redirect to a page that says so.

    `back` is where to go, unless the form's field `next` is a path of this site.
    """
    if wants_json(request):
        return JsonResponse({"message": message, **(data or {})})
    messages.success(request, message)
    wanted = request.POST.get("next", "")
    is_ours = url_has_allowed_host_and_scheme(wanted, {request.get_host()}, require_https=request.is_secure())
    # `redirect` takes a text without a slash for the name of a route.
    return redirect(wanted if is_ours and wanted.startswith("/") else back)


def refuse(request: HttpRequest, error: TaskqError) -> HttpResponse:
    """A page, fragment or JSON that says what was wrong. Raises `error` if it is not explained, which is a defect."""
    if not is_explained(error):
        raise error
    status = HTTP_STATUS[error.code]
    if wants_json(request):
        response: HttpResponse = JsonResponse({"error": error_message(error), "code": error.code}, status=status)
    else:
        template = "dashboard/_error.html" if is_live(request) else "dashboard/error.html"
        response = render(
            request, template, {"status": status, "code": error.code, "words": error_message(error)}, status=status
        )
    if status in (429, 503):
        response["Retry-After"] = str(getattr(error, "retry_after_s", RETRY_AFTER_S))
    return response


def is_live(request: HttpRequest) -> bool:
    """Whether the request is of live.js, which needs a fragment only."""
    return "X-Live" in request.headers


def keep_last_numbers(request: HttpRequest, visible: VisiblePools) -> None:
    """Raise StoreUnavailableError to a script of an open page if no pool answers: the page then keeps what it shows."""
    if is_live(request) and visible.are_away:
        raise StoreUnavailableError("no pool answers")


def wants_json(request: HttpRequest) -> bool:
    """Whether the request is a script's, which expects JSON."""
    return request.accepts("application/json") and not request.accepts("text/html")


def _ask_to_sign_in(request: HttpRequest) -> HttpResponse:
    """Say that nothing was done. Signing in leads back to the page with the button: an action is no page to come to."""
    if wants_json(request):
        return JsonResponse({"error": _("Sign in first.")}, status=401)
    messages.warning(request, _("Nothing was done: sign in and repeat the action."))
    came_from = request.headers.get("Referer", "")
    is_ours = url_has_allowed_host_and_scheme(came_from, {request.get_host()}, require_https=request.is_secure())
    return redirect_to_login(came_from if came_from and is_ours else reverse("dashboard:overview"), reverse(LOGIN))


def _unless_known(request: HttpRequest, response: HttpResponse) -> HttpResponse:
    """304 when the fragment is what live.js shows already; else it goes without the rows that live.js has."""
    if response.status_code != 200 or response.streaming:
        return response
    fragment = split_rows(response.content)
    etag = f'W/"{fragment.version}"'
    if request.headers.get("If-None-Match") == etag:
        return HttpResponseNotModified(headers={"ETag": etag})
    response["ETag"] = etag
    response.content = fragment.without(request.headers.get("X-Have", ""))
    return response


_ANSWERS: Final = frozenset({"csrfmiddlewaretoken", "confirmed", "word"})


def confirm_first(
    request: HttpRequest, *, question: str, button: str = "", word: str = "", is_safe: bool = False
) -> HttpResponse | None:
    """None when the form says `confirmed=yes` (and repeats `word`, if there is one); else the answer to give instead.

    That is a page which asks, and sends the same form again by a button that says `button`; for a script 400.
    `is_safe`: nothing is lost by it.
    """
    if is_confirmed(request, word=word):
        return None
    if wants_json(request):
        return JsonResponse({"error": _("This action has to be confirmed."), "code": "not_confirmed"}, status=400)
    fields = [(name, value) for name, values in request.POST.lists() if name not in _ANSWERS for value in values]
    mistyped = request.POST.get("confirmed") == "yes"
    context = {
        "question": question,
        "button": button,
        "word": word,
        "is_safe": is_safe,
        "fields": fields,
        "mistyped": mistyped,
        "back": _page_above(request)[0],
    }
    return render(request, "dashboard/confirm.html", context, status=400 if mistyped else 200)


def is_confirmed(request: HttpRequest, *, word: str = "") -> bool:
    """Whether the form says `confirmed=yes`, and repeats `word`, if there is one."""
    return request.POST.get("confirmed") == "yes" and (not word or request.POST.get("word", "").strip() == word)


def confirm(request: HttpRequest, asked: Confirmation | None, *, count: int = 1) -> HttpResponse | None:
    """The same of a confirmation, before an act on `count` jobs; None asks nothing."""
    if asked is None or count < asked.asks_from:
        return None
    return confirm_first(request, question=asked.question, button=asked.button, word=asked.word, is_safe=asked.is_safe)
