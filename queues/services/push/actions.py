"""What people do with push endpoints: checks their permission, calls `endpoints`, and writes the activity log."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Final

from ..activity import ActivityAction, note_activity
from ..errors import RoleTooLowError
from ..permissions import Role, User, check_role, role_in
from .endpoints import (
    OVERLAP_DEFAULT_S,
    EndpointOptions,
    delete_endpoint,
    find_endpoint,
    request_test,
    rotate_secret,
    save_endpoint,
    set_endpoint_paused,
)


class PushAct(StrEnum):
    """To rotate and to delete is an administrator's; the others are an operator's."""

    PAUSE = "pause"
    RESUME = "resume"
    TEST = "test"
    ROTATE = "rotate"
    DELETE = "delete"


NEEDED: Final[Mapping[PushAct, Role]] = {
    PushAct.PAUSE: Role.OPERATE,
    PushAct.RESUME: Role.OPERATE,
    PushAct.TEST: Role.OPERATE,
    PushAct.ROTATE: Role.ADMIN,
    PushAct.DELETE: Role.ADMIN,
}

_NOTED: Final[Mapping[PushAct, ActivityAction]] = {
    PushAct.PAUSE: ActivityAction.PUSH_PAUSED,
    PushAct.RESUME: ActivityAction.PUSH_RESUMED,
    PushAct.TEST: ActivityAction.PUSH_TESTED,
    PushAct.ROTATE: ActivityAction.PUSH_SECRET_ROTATED,
    PushAct.DELETE: ActivityAction.PUSH_DELETED,
}


def check_may_edit(*, user: User, pool: str, namespace: str) -> None:
    """Raise NamespaceNotFoundError, RoleTooLowError if `user` may not make and change endpoints there.

    An endpoint decides where the jobs of a queue go, so this takes an administrator.
    """
    check_role(user=user, pool=pool, namespace=namespace, needed=Role.ADMIN)


def edit_endpoint(
    *, user: User, pool: str, namespace: str, queue: str, options: EndpointOptions, only_new: bool
) -> str:
    """Make or change it; headers whose values are masked keep them. The secret of a new one, else "".

    Raises InvalidArgumentError, NamespaceNotFoundError, RoleTooLowError.
    """
    check_may_edit(user=user, pool=pool, namespace=namespace)
    saved = save_endpoint(
        pool=pool, namespace=namespace, queue=queue, options=options, only_new=only_new, keep_masked=True
    )
    action = ActivityAction.PUSH_CREATED if saved.created else ActivityAction.PUSH_CHANGED
    note_activity(user=user, action=action, pool=pool, namespace=namespace, queue=queue)
    return saved.secret or ""


def check_push_act(*, user: User, pool: str, namespace: str, queue: str, act: PushAct) -> None:
    """Raise NamespaceNotFoundError, PushEndpointNotFoundError, RoleTooLowError if `user` may not do this there."""
    if role_in(user=user, pool=pool, namespace=namespace) < NEEDED[act]:
        raise RoleTooLowError
    find_endpoint(pool=pool, namespace=namespace, queue=queue)


def act_on_endpoint(
    *, user: User, pool: str, namespace: str, queue: str, act: PushAct, overlap_s: int = OVERLAP_DEFAULT_S
) -> str:
    """Do it. The new secret, of a rotation, beside which those before sign for `overlap_s`; else "".

    Raises as `check_push_act`, and InvalidArgumentError.
    """
    check_push_act(user=user, pool=pool, namespace=namespace, queue=queue, act=act)
    secret, changed = "", True
    if act is PushAct.ROTATE:
        secret = rotate_secret(pool=pool, namespace=namespace, queue=queue, overlap_s=overlap_s)
    elif act is PushAct.TEST:
        request_test(pool=pool, namespace=namespace, queue=queue)
    elif act is PushAct.DELETE:
        changed = delete_endpoint(pool=pool, namespace=namespace, queue=queue)
    else:
        paused = act is PushAct.PAUSE
        changed = set_endpoint_paused(pool=pool, namespace=namespace, queue=queue, paused=paused)
    if changed:
        note_activity(user=user, action=_NOTED[act], pool=pool, namespace=namespace, queue=queue)
    return secret
