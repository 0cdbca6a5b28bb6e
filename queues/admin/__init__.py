"""Django's admin, where people make pools, namespaces, tokens and policies.

A module per subject; `base` has what they share: the activity log, and which namespaces staff see. Django loads it; it
calls services where a change is more than a row, and the models otherwise.
"""

from django.contrib import admin
from django.utils.translation import gettext_lazy as _

from .alert import AlertChannelAdmin
from .namespace import AuditedGroupAdmin, AuditedUserAdmin, NamespaceAdmin, QueuePolicyAdmin
from .pool import PoolAdmin
from .push import PushEndpointAdmin
from .report import ReportDayAdmin
from .schedule import ScheduleAdmin
from .token import TokenAdmin

__all__ = [
    "AlertChannelAdmin",
    "AuditedGroupAdmin",
    "AuditedUserAdmin",
    "NamespaceAdmin",
    "PoolAdmin",
    "PushEndpointAdmin",
    "QueuePolicyAdmin",
    "ReportDayAdmin",
    "ScheduleAdmin",
    "TokenAdmin",
]

admin.site.site_header = "taskq"
admin.site.site_title = "taskq"
admin.site.index_title = _("Administration")
admin.site.empty_value_display = "–"
