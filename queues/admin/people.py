"""Accounts and groups: Django's own pages, whose changes are noted."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.contrib.auth.admin import GroupAdmin, UserAdmin
from django.contrib.auth.models import Group, User

from queues.services.activity import ActivityAction

from .base import AuditedAdmin, Subject

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
