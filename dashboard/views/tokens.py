"""Tokens: the list, a form, the page that shows a new one once, and a button that revokes one."""

from __future__ import annotations

from typing import Final

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.urls import path, reverse
from django.utils.cache import add_never_cache_headers
from django.utils.translation import gettext as _

from dashboard.error_messages import add_input_error
from dashboard.forms.jobs import whole_number
from dashboard.forms.token import TokenForm
from dashboard.snippets import snippet_context
from queues.services.errors import InvalidArgumentError, TokenExistsError
from queues.services.first_day import read_first_day
from queues.services.permissions import Right, places_with
from queues.services.tokens.actions import create_token_by_hand, revoke_token_by_hand
from queues.services.tokens.managing import NewToken
from queues.services.tokens.reading import TokenFilter, TokenState, show_tokens
from queues.services.tokens.secrets import DEFAULT_POOL

from .decorators import action, confirm_first, done, is_live, page, wants_json
from .parameters import read_text

INVALID: Final = 400
LIVE_FRAGMENTS: Final = {True: "dashboard/_tokens.html", False: "dashboard/tokens.html"}
_STATES: Final = frozenset(state.value for state in TokenState)


@page
def tokens(request: HttpRequest) -> HttpResponse:
    """`?namespace=POOL/NAME&q=...&state=...&before=N`; for live.js the part that changes."""
    namespace, text, state = read_text(request, "namespace"), read_text(request, "q"), request.GET.get("state", "")
    pool, _slash, name = namespace.partition("/")
    chosen = TokenFilter(
        pool=pool, namespace=name, text=text, state=TokenState(state if state in _STATES else TokenState.WORKING)
    )
    view = show_tokens(user=request.user, chosen=chosen, before=whole_number(request.GET.get("before", "")))
    asked = {"namespace": namespace, "text": text, "state": chosen.state.value}
    narrowed = bool(namespace or text or chosen.state is not TokenState.WORKING)
    return render(request, LIVE_FRAGMENTS[is_live(request)], {"view": view, "asked": asked, "narrowed": narrowed})


def token_new(request: HttpRequest) -> HttpResponse:
    """A form for a new one, `?namespace=POOL/NAME`."""
    return (_create if request.method == "POST" else _show_new)(request)


@page
def _show_new(request: HttpRequest) -> HttpResponse:
    return _show_form(request, TokenForm())


@action
def _create(request: HttpRequest) -> HttpResponse:
    form = TokenForm(request.POST)
    if not form.is_valid():
        return _show_form(request, form)
    pool, name = read_place(request.POST.get("namespace", ""))
    try:
        new = create_token_by_hand(
            user=request.user,
            pool=pool,
            namespace=name,
            description=form.cleaned_data["description"],
            secret=form.cleaned_data["secret"],
            limit=form.limit(),
        )
    except TokenExistsError:
        form.add_error("secret", _("This namespace has a token with that secret already."))
        return _show_form(request, form)
    except InvalidArgumentError as error:
        add_input_error(form, error)
        return _show_form(request, form)
    return _show_created(request, pool, name, new)


def read_place(text: str) -> tuple[str, str]:
    """`POOL/NAMESPACE`, or a namespace of the default pool."""
    pool, slash, name = text.strip().partition("/")
    return (pool, name) if slash else (DEFAULT_POOL, pool)


def _show_created(request: HttpRequest, pool: str, namespace: str, new: NewToken) -> HttpResponse:
    """The secret is shown in the answer itself: a redirect would have to store it somewhere."""
    if wants_json(request):
        response: HttpResponse = JsonResponse({"token": new.display, "id": new.public_id})
    else:
        snippets = snippet_context(request, namespace=namespace, token=new.display)
        progress = read_first_day(user=request.user)
        context = {"token": new, "pool": pool, "namespace": namespace, "progress": progress, **snippets}
        response = render(request, "dashboard/token_created.html", context)
    add_never_cache_headers(response)
    return response


@action
def token_revoke(request: HttpRequest, pool: str, namespace: str, public_id: str) -> HttpResponse:
    """Refuse it from now on, after a confirmation."""
    question = _("Revoke token %(id)s? Clients that use it are refused within two seconds.") % {"id": public_id}
    unanswered = confirm_first(request, question=question, button=_("Revoke token"))
    if unanswered is not None:
        return unanswered
    revoke_token_by_hand(user=request.user, pool=pool, namespace=namespace, public_id=public_id)
    return done(request, message=_("The token is revoked."), back=reverse("dashboard:tokens"))


def _show_form(request: HttpRequest, form: TokenForm) -> HttpResponse:
    if form.is_bound and wants_json(request):
        texts = [str(text) for texts in form.errors.values() for text in texts]
        return JsonResponse({"error": " ".join(texts)}, status=INVALID)
    wanted = request.POST.get("namespace") or read_text(request, "namespace")
    places = places_with(user=request.user, right=Right.CREATE_TOKENS)
    context = {"form": form, "places": places, "wanted": wanted}
    status = INVALID if form.is_bound and form.errors else 200
    return render(request, "dashboard/token_form.html", context, status=status)


urlpatterns = [
    path("tokens/", tokens, name="tokens"),
    path("tokens/new", token_new, name="token_new"),
    path("tokens/<str:pool>/<str:namespace>/<str:public_id>/revoke", token_revoke, name="token_revoke"),
]
