"""What people do with schedules on their pages: each act is checked against their role, and noted."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from ..activity import ActivityAction, note_activity
from ..permissions import Role, User, check_role
from .editing import delete_schedule, put_schedule, run_now, set_paused
from .values import Fire, ScheduleFields


class ScheduleAct(StrEnum):
    """Buttons of a schedule."""

    PAUSE = "pause"
    RESUME = "resume"
    RUN = "run"
    DELETE = "delete"


_NOTED: Final = {
    ScheduleAct.PAUSE: ActivityAction.SCHEDULE_PAUSED,
    ScheduleAct.RESUME: ActivityAction.SCHEDULE_RESUMED,
    ScheduleAct.RUN: ActivityAction.SCHEDULE_RUN,
    ScheduleAct.DELETE: ActivityAction.SCHEDULE_DELETED,
}


def check_may_edit(*, user: User, pool: str, namespace: str) -> None:
    """Raises NamespaceNotFoundError for what the person may not see, RoleTooLowError for what they may only see."""
    check_role(user=user, pool=pool, namespace=namespace, needed=Role.OPERATE)


def save_schedule(
    *, user: User, pool: str, namespace: str, name: str, fields: ScheduleFields, only_new: bool = False
) -> None:
    """Make or set it. Raises InvalidArgumentError, ScheduleTakenError, RoleTooLowError, NamespaceNotFoundError."""
    check_may_edit(user=user, pool=pool, namespace=namespace)
    _, is_new = put_schedule(pool=pool, namespace=namespace, name=name, fields=fields, only_new=only_new)
    action = ActivityAction.SCHEDULE_CREATED if is_new else ActivityAction.SCHEDULE_CHANGED
    note_activity(user=user, action=action, pool=pool, namespace=namespace, queue=fields.queue, target=name)


def act_on_schedule(*, user: User, pool: str, namespace: str, name: str, act: ScheduleAct) -> Fire | None:
    """Do it; of RUN, what became of it. What changes nothing is not noted. Raises ScheduleNotFoundError as well."""
    check_may_edit(user=user, pool=pool, namespace=namespace)
    which = {"pool": pool, "namespace": namespace, "name": name}
    fire: Fire | None = None
    if act is ScheduleAct.RUN:
        fire = run_now(**which)
        changed = True
    elif act is ScheduleAct.DELETE:
        changed = delete_schedule(**which)
    else:
        _, changed = set_paused(pool=pool, namespace=namespace, name=name, paused=act is ScheduleAct.PAUSE)
    if changed:
        note_activity(user=user, action=_NOTED[act], pool=pool, namespace=namespace, target=name)
    return fire
