"""Queue policies."""

from __future__ import annotations

from django.contrib import admin
from django.contrib.admin import RelatedOnlyFieldListFilter
from django.utils.translation import gettext_lazy as _

from queues.models import QueuePolicy
from queues.services.activity import ActivityAction

from .base import ScopedAdmin, Subject


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
        (_("Watching"), {"fields": ["objective_s"]}),
        (_("Dead letters"), {"fields": ["dead_max_age_s", "dead_max_count"]}),
    ]

    def subject_of(self, obj: QueuePolicy) -> Subject:
        return Subject(pool=obj.namespace.pool.name, namespace=obj.namespace.name, queue=obj.queue)

    @admin.display(description=_("queue"), ordering="queue")
    def scope(self, policy: QueuePolicy) -> str:
        return policy.queue or str(_("all queues"))
