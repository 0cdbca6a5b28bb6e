"""Base classes of the admin's pages: changes go into the activity log, and staff see only their namespaces.

Staff who are no superusers see the namespaces of their groups and what belongs to these; nothing tells of others.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

from django.contrib import admin
from django.contrib.admin.models import LogEntry
from django.db.models import ForeignKey, JSONField, Model, QuerySet
from django.forms import ModelChoiceField
from django.http import HttpRequest

from queues.models import Namespace
from queues.services.activity import ActivityAction, note_activity


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """What a row is to the activity log; as in `note_activity`."""

    pool: str = ""
    namespace: str = ""
    queue: str = ""
    target: str = ""


class ReadableJSON(json.JSONDecoder):
    """Says that it is no JSON also of what Python cannot read or a database cannot hold, which Django's field does not
    expect: deep nesting, numbers of thousands of digits, lone surrogates, NUL."""

    def decode(self, s: str, *args: Any) -> Any:
        try:
            value = super().decode(s, *args)
            written = json.dumps(value, ensure_ascii=False)
            written.encode()
        except (RecursionError, ValueError):
            raise json.JSONDecodeError("cannot be read", "", 0) from None
        if "\\u0000" in written.replace("\\\\", ""):
            raise json.JSONDecodeError("PostgreSQL takes no NUL", "", 0)
        return value


class AuditedAdmin(admin.ModelAdmin):
    """Notes what becomes of its rows. Names of changed fields are kept, values are not: one may be a password."""

    formfield_overrides: ClassVar[dict[Any, Any]] = {JSONField: {"decoder": ReadableJSON}}
    created_as: ActivityAction
    changed_as: ActivityAction
    deleted_as: ActivityAction

    def subject_of(self, obj: Any) -> Subject:
        """What the log says of a row."""
        raise NotImplementedError

    def log_addition(self, request: HttpRequest, obj: Model, message: Any) -> LogEntry:
        self.record(request, self.created_as, self.subject_of(obj))
        return super().log_addition(request, obj, message)

    def log_change(self, request: HttpRequest, obj: Model, message: Any) -> LogEntry:
        if isinstance(message, list):  # a form; what an action did, it notes itself
            self.record_change(request, obj, message)
        return super().log_change(request, obj, message)

    def record_change(self, request: HttpRequest, obj: Any, changes: list[dict[str, Any]]) -> None:
        """`changes`: as Django's admin describes them."""
        fields = changed_fields(changes)
        if fields:
            self.record(request, self.changed_as, self.subject_of(obj), detail=", ".join(fields))

    def delete_model(self, request: HttpRequest, obj: Model) -> None:
        subject = self.subject_of(obj)
        super().delete_model(request, obj)
        self.record(request, self.deleted_as, subject)

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        subjects = [self.subject_of(obj) for obj in queryset]
        super().delete_queryset(request, queryset)
        for subject in subjects:
            self.record(request, self.deleted_as, subject)

    def record(self, request: HttpRequest, action: ActivityAction, subject: Subject, *, detail: str = "") -> None:
        """Record it in the activity log as the act of the signed-in user."""
        note_activity(
            user=request.user,
            action=action,
            pool=subject.pool,
            namespace=subject.namespace,
            queue=subject.queue,
            target=subject.target,
            detail=detail,
        )


def changed_fields(changes: Iterable[dict[str, Any]]) -> list[str]:
    """Names of the row's own fields that a form changed."""
    own = [change["changed"] for change in changes if "changed" in change]
    return [field for change in own if "name" not in change for field in change["fields"]]


class ScopedAdmin(AuditedAdmin):
    """Limits the rows to visible namespaces, and so are the choices of a field `namespace`."""

    namespace_field = "namespace"
    """The field that leads from a row to its namespace; "pk" for namespaces themselves."""

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        rows = super().get_queryset(request)
        if getattr(request.user, "is_superuser", False):
            return rows
        return rows.filter(**{f"{self.namespace_field}__in": Namespace.objects.visible_to(request.user)})

    def formfield_for_foreignkey(
        self, db_field: ForeignKey[Any, Any], request: HttpRequest, **kwargs: Any
    ) -> ModelChoiceField[Any] | None:
        if db_field.related_model is Namespace:
            kwargs["queryset"] = Namespace.objects.visible_to(request.user).select_related("pool")
        return super().formfield_for_foreignkey(db_field, request, **kwargs)
