"""Namespaces, their policies, and the accounts and groups of the people who see them."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.contrib.admin import RelatedOnlyFieldListFilter
from django.contrib.auth.admin import GroupAdmin, UserAdmin
from django.contrib.auth.models import Group, User
from django.db.models import Count, Q, QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from queues.models import Namespace, QueuePolicy
from queues.services.activity import ActivityAction

from .base import AuditedAdmin, ScopedAdmin, Subject


@admin.register(Namespace)
class NamespaceAdmin(ScopedAdmin):
    namespace_field = "pk"
    created_as = ActivityAction.NAMESPACE_CREATED
    changed_as = ActivityAction.NAMESPACE_CHANGED
    deleted_as = ActivityAction.NAMESPACE_DELETED
    list_display = ["name", "pool", "description", "working_tokens", "visible_to", "created"]
    list_filter = [("pool", RelatedOnlyFieldListFilter)]
    list_select_related = ["pool"]
    ordering = ["pool__name", "name"]
    search_fields = ["name", "description", "pool__name"]
    filter_horizontal = ["groups"]
    fields = ["pool", "name", "description", "time_zone", "groups"]

    def subject_of(self, obj: Namespace) -> Subject:
        return Subject(pool=obj.pool.name, namespace=obj.name)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Namespace]:
        working = Count("tokens", filter=Q(tokens__revoked_at=None), distinct=True)
        rows: QuerySet[Namespace] = super().get_queryset(request)
        return rows.annotate(working_tokens=working).prefetch_related("groups")

    def get_readonly_fields(self, request: HttpRequest, obj: Namespace | None = None) -> list[str]:
        """Jobs lie under these names in this Redis. Groups decide who sees what, so only superusers touch them."""
        fixed = [] if obj is None else ["pool", "name"]
        return fixed if getattr(request.user, "is_superuser", False) else [*fixed, "groups"]

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Superusers only: a name that is refused would tell anybody else that a hidden namespace has it."""
        return getattr(request.user, "is_superuser", False) and super().has_add_permission(request)

    @admin.display(description=_("tokens"), ordering="working_tokens")
    def working_tokens(self, namespace: Namespace) -> int:
        return int(getattr(namespace, "working_tokens", 0))

    @admin.display(description=_("visible to"))
    def visible_to(self, namespace: Namespace) -> str:
        return ", ".join(group.name for group in namespace.groups.all())


@admin.register(QueuePolicy)
class QueuePolicyAdmin(ScopedAdmin):
    created_as = ActivityAction.POLICY_CHANGED
    changed_as = ActivityAction.POLICY_CHANGED
    deleted_as = ActivityAction.POLICY_DELETED
    list_display = [
        "scope",
        "namespace",
        "tries",
        "ttl_s",
        "ttr_s",
        "backoff",
        "max_in_flight",
        "dead_max_age_s",
        "dead_max_count",
        "objective_s",
    ]
    list_filter = [("namespace__pool", RelatedOnlyFieldListFilter)]
    list_select_related = ["namespace__pool"]
    search_fields = ["queue", "namespace__name"]
    fieldsets = [
        (
            None,
            {
                "fields": ["namespace", "queue"],
                "description": _("A field left blank is inherited: from the namespace's policy, then from taskq."),
            },
        ),
        (_("Publishing"), {"fields": ["tries", "ttl_s", "backoff"]}),
        (_("Consuming"), {"fields": ["ttr_s", "max_in_flight", "rate", "burst"]}),
        (
            _("Limit keys"),
            {"fields": ["key_in_flight", "key_rate", "key_burst", "key_weight", "key_weights"]},
        ),
        (_("Groups"), {"fields": ["group_max_size", "group_max_delay_s", "group_grace_period_s"]}),
        (_("Watching"), {"fields": ["objective_s", "objective_target"]}),
        (_("Dead letters"), {"fields": ["dead_max_age_s", "dead_max_count"]}),
    ]

    def subject_of(self, obj: QueuePolicy) -> Subject:
        return Subject(pool=obj.namespace.pool.name, namespace=obj.namespace.name, queue=obj.queue)

    @admin.display(description=_("queue"), ordering="queue")
    def scope(self, policy: QueuePolicy) -> str:
        return policy.queue or str(_("all queues"))


admin.site.unregister(User)
admin.site.unregister(Group)


@admin.register(User)
class AuditedUserAdmin(AuditedAdmin, UserAdmin):
    created_as = ActivityAction.PERSON_CREATED
    changed_as = ActivityAction.PERSON_CHANGED
    deleted_as = ActivityAction.PERSON_DELETED

    def subject_of(self, obj: Any) -> Subject:
        return Subject(target=obj.get_username())


@admin.register(Group)
class AuditedGroupAdmin(AuditedAdmin, GroupAdmin):
    created_as = ActivityAction.GROUP_CREATED
    changed_as = ActivityAction.GROUP_CHANGED
    deleted_as = ActivityAction.GROUP_DELETED

    def subject_of(self, obj: Any) -> Subject:
        return Subject(target=obj.name)
