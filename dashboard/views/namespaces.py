"""Namespaces: the list, one with its figures and policies, forms, and a button that deletes one."""

from __future__ import annotations

from typing import Any, Final

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import path, reverse
from django.utils.translation import gettext as _

from dashboard.error_messages import add_input_error
from dashboard.forms.namespace import DescriptionForm, NamespaceForm
from queues.services.errors import InvalidArgumentError
from queues.services.namespaces.actions import create_namespace, delete_namespace, describe_namespace
from queues.services.namespaces.reading import (
    list_pool_names,
    show_namespace,
    show_namespaces,
    show_policies,
)
from queues.services.permissions import Right, check_right, check_sees_everything

from .decorators import action, confirm_first, done, is_live, page
from .parameters import read_text

INVALID: Final = 400


@page
def namespaces(request: HttpRequest) -> HttpResponse:
    """`?q=`; for live.js the part that changes."""
    text = read_text(request, "q")
    context = {"view": show_namespaces(user=request.user, text=text), "text": text}
    return render(request, f"dashboard/{'_namespaces' if is_live(request) else 'namespaces'}.html", context)


@page
def namespace(request: HttpRequest, pool: str, namespace: str) -> HttpResponse:
    """One of them with its policies; for live.js the part that changes."""
    row = show_namespace(user=request.user, pool=pool, namespace=namespace)
    policies = show_policies(user=request.user, pool=pool, namespace=namespace)
    template = f"dashboard/{'_namespace' if is_live(request) else 'namespace'}.html"
    return render(request, template, {"row": row, "policies": policies})


def namespace_new(request: HttpRequest) -> HttpResponse:
    """A form for a new one."""
    return (_create if request.method == "POST" else _show_new)(request)


def namespace_edit(request: HttpRequest, **named: str) -> HttpResponse:
    """A form for its description."""
    return (_save if request.method == "POST" else _show_edit)(request, **named)


@page
def _show_new(request: HttpRequest) -> HttpResponse:
    check_sees_everything(request.user)
    return _show_form(request, NamespaceForm(pools=list_pool_names()))


@action
def _create(request: HttpRequest) -> HttpResponse:
    check_sees_everything(request.user)
    form = NamespaceForm(request.POST, pools=list_pool_names())
    if not form.is_valid():
        return _show_form(request, form)
    data = form.cleaned_data
    try:
        create_namespace(user=request.user, pool=data["pool"], namespace=data["name"], description=data["description"])
    except InvalidArgumentError as error:
        add_input_error(form, error)
        return _show_form(request, form)
    return done(request, message=_("The namespace is made."), back=_url(data["pool"], data["name"]))


@page
def _show_edit(request: HttpRequest, /, **named: str) -> HttpResponse:
    row = show_namespace(user=request.user, **named)
    check_right(user=request.user, right=Right.CHANGE_NAMESPACE, **named)
    return _show_form(request, DescriptionForm(initial={"description": row.description}), named)


@action
def _save(request: HttpRequest, /, **named: str) -> HttpResponse:
    form = DescriptionForm(request.POST)
    check_right(user=request.user, right=Right.CHANGE_NAMESPACE, **named)
    if not form.is_valid():
        return _show_form(request, form, named)
    describe_namespace(user=request.user, description=form.cleaned_data["description"], **named)
    return done(request, message=_("The description is saved."), back=_url(**named))


@action
def namespace_delete(request: HttpRequest, pool: str, namespace: str) -> HttpResponse:
    """Delete it, its name having been typed."""
    check_right(user=request.user, pool=pool, namespace=namespace, right=Right.DELETE_NAMESPACE)
    question = _("Delete this namespace with its tokens and policies? Its jobs stay in Redis.")
    unanswered = confirm_first(request, question=question, button=_("Delete namespace"), word=namespace)
    if unanswered is not None:
        return unanswered
    delete_namespace(user=request.user, pool=pool, namespace=namespace)
    return done(request, message=_("The namespace is deleted."), back=reverse("dashboard:namespaces"))


def _url(pool: str, namespace: str) -> str:
    return reverse("dashboard:namespace", args=[pool, namespace])


def _show_form(request: HttpRequest, form: DescriptionForm, named: dict[str, str] | None = None) -> HttpResponse:
    context: dict[str, Any] = {"form": form, "named": named}
    status = INVALID if form.is_bound and form.errors else 200
    return render(request, "dashboard/namespace_form.html", context, status=status)


_ONE: Final = "namespaces/<str:pool>/<str:namespace>/"

urlpatterns = [
    path("namespaces/", namespaces, name="namespaces"),
    path("namespaces/new", namespace_new, name="namespace_new"),
    path(_ONE, namespace, name="namespace"),
    path(f"{_ONE}edit", namespace_edit, name="namespace_edit"),
    path(f"{_ONE}delete", namespace_delete, name="namespace_delete"),
]
