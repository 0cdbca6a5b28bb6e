"""Respawns or deletes dead letters of many queues: some that were named, or all that a filter means, batch by batch.

It checks permissions and notes what was done; the engine does it (`lua/respawn.lua`, `lua/delete_dead.lua`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from queues.engine import constants, delete_dead
from queues.engine.errors import StoreUnavailableError
from queues.engine.names import is_job_id
from queues.pools import engine_for

from ..activity import ALL_DEAD_LETTERS, ActivityAction, note_activity
from ..errors import InvalidArgumentError, RoleTooLowError
from ..permissions import Role, User, check_role
from ..policies import policy_for
from .filtering import DeadFilter, DeadQueues, Position, QueueAddress, find_dead_queues, position_of, read_address
from .scanning import DeadLetter, respawn_dead, scan_queues

BATCH: Final = 500
"""Dead letters that one batch changes at most."""

SCAN_MAX_PER_CALL: Final = 5_000
"""Dead letters that one batch looks at before it answers, though it found few of those that are meant."""

ENOUGH: Final = BATCH * 4 // 5
"""A batch that has changed so many ends: further stretches would be short."""


class DeadVerb(StrEnum):
    """What is done to dead letters."""

    RESPAWN = "respawn"
    DELETE = "delete"


NEEDED_FOR_SELECTED: Final = {DeadVerb.RESPAWN: Role.OPERATE, DeadVerb.DELETE: Role.OPERATE}
NEEDED_FOR_ALL: Final = {DeadVerb.RESPAWN: Role.OPERATE, DeadVerb.DELETE: Role.ADMIN}
"""To delete all that a filter means can empty a queue, which is for admins."""

_NOTED_AS: Final = {DeadVerb.RESPAWN: ActivityAction.RESPAWNED, DeadVerb.DELETE: ActivityAction.DELETED}


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadBatch:
    """What a batch did. `left`: how many are yet to be looked at, from `position` on (None: the end was reached).

    `forbidden`: dead letters in queues where this person may not do it. `away`: pools that did not answer, and were
    left out. `before_ms`: what died from then on is not meant; the next batch must say the same, else jobs that fail
    again at once would be respawned for ever.
    """

    done: int
    looked_at: int
    left: int
    position: Position | None
    before_ms: int
    forbidden: int
    away: tuple[str, ...] = ()


def act_on_selected(*, user: User, verb: DeadVerb, letters: Sequence[str], act_id: str = "") -> int:
    """Do it to the dead letters `POOL/NAMESPACE/QUEUE/JOB_ID`, at most BATCH. How many there were of them.

    Raises as check_act_on_selected, and StoreUnavailableError.
    """
    chosen = check_act_on_selected(user=user, verb=verb, letters=letters)
    return sum(_act(user, verb, address, job_ids, act_id, "") for address, job_ids in chosen.items())


def check_act_on_selected(*, user: User, verb: DeadVerb, letters: Sequence[str]) -> Mapping[QueueAddress, list[str]]:
    """Their ids by queue, if the person may do it.

    Raises InvalidArgumentError, NamespaceNotFoundError, RoleTooLowError, MetadataUnavailableError.
    """
    if not 1 <= len(letters) <= BATCH:
        raise InvalidArgumentError("invalid job ids")
    chosen: dict[QueueAddress, list[str]] = {}
    for letter in letters:
        where, _, job_id = letter.rpartition("/")
        if not is_job_id(job_id):
            raise InvalidArgumentError("invalid job id")
        chosen.setdefault(read_address(where), []).append(job_id)
    for pool, namespace in {(address.pool, address.namespace) for address in chosen}:
        check_role(user=user, pool=pool, namespace=namespace, needed=NEEDED_FOR_SELECTED[verb])
    return chosen


def act_on_all(
    *,
    user: User,
    verb: DeadVerb,
    chosen: DeadFilter,
    start: Position | None = None,
    before_ms: int | None = None,
    act_id: str = "",
) -> DeadBatch:
    """Do it to the next of all that `chosen` means, from `start` on.

    Raises NamespaceNotFoundError, RoleTooLowError (nowhere may they do it), InvalidArgumentError,
    MetadataUnavailableError, StoreUnavailableError.
    """
    dead_queues = find_dead_queues(user=user, chosen=chosen, start=start, before_ms=before_ms)
    allowed, forbidden = allowed_queues(dead_queues, NEEDED_FOR_ALL[verb])
    if dead_queues.queues and not allowed.queues and start is None:
        raise RoleTooLowError
    done = looked_at = 0
    position, left = start, allowed.count
    while done < ENOUGH and looked_at < SCAN_MAX_PER_CALL:
        stretch = scan_queues(dead_queues=allowed, chosen=chosen, start=position, scan_max=BATCH - done)
        done += _act_on_letters(user, verb, stretch.letters, act_id, words_of(chosen))
        looked_at, left, position = looked_at + stretch.looked_at, stretch.left, stretch.position
        if position is None:
            break
        allowed = _rest_of(allowed, position, left)
    return DeadBatch(
        done=done,
        looked_at=looked_at,
        left=left,
        position=position,
        before_ms=dead_queues.before_ms,
        forbidden=forbidden,
        away=dead_queues.away,
    )


def respawn_stretch(
    *, user: User, chosen: DeadFilter, start: Position | None, before_ms: int, most: int, act_id: str
) -> DeadBatch:
    """Respawn the next `most` of all that `chosen` means at most, of a bounded stretch from `start` on.

    Raises as `act_on_all`; StoreUnavailableError if a single pool is silent, whose dead letters would be left out.
    """
    dead_queues = find_dead_queues(user=user, chosen=chosen, start=start, before_ms=before_ms)
    if dead_queues.away:
        raise StoreUnavailableError(f"no answer from {', '.join(dead_queues.away)}")
    allowed, forbidden = allowed_queues(dead_queues, NEEDED_FOR_ALL[DeadVerb.RESPAWN])
    if dead_queues.queues and not allowed.queues:
        raise RoleTooLowError
    scan_max = SCAN_MAX_PER_CALL if chosen.reads_errors else most
    stretch = scan_queues(dead_queues=allowed, chosen=chosen, start=start, scan_max=scan_max)
    letters, position, looked_at = stretch.letters[:most], stretch.position, stretch.looked_at
    if len(letters) < len(stretch.letters):
        position = position_of(letters[-1].address, letters[-1].job)
        looked_at = stretch.places[len(letters) - 1] + 1
    return DeadBatch(
        done=_act_on_letters(user, DeadVerb.RESPAWN, letters, act_id, words_of(chosen)),
        looked_at=looked_at,
        left=max(0, allowed.count - looked_at) if position else 0,
        position=position,
        before_ms=before_ms,
        forbidden=forbidden,
    )


def allowed_queues(dead_queues: DeadQueues, needed: Role) -> tuple[DeadQueues, int]:
    """The queues where it may be done, and how many dead letters are in the others."""
    allowed = replace(dead_queues, queues=tuple(queue for queue in dead_queues.queues if queue.role >= needed))
    return allowed, dead_queues.count - allowed.count


def _rest_of(dead_queues: DeadQueues, position: Position, left: int) -> DeadQueues:
    """The queues from `position` on, with what is left of the first."""
    rest = [queue for queue in dead_queues.queues if queue.address >= position.address]
    if rest and position.cursor is not None:
        rest[0] = replace(rest[0], count=max(1, left - sum(queue.count for queue in rest[1:])))
    return replace(dead_queues, queues=tuple(rest))


def _act_on_letters(user: User, verb: DeadVerb, letters: Iterable[DeadLetter], act_id: str, detail: str) -> int:
    by_queue: dict[QueueAddress, list[str]] = {}
    for letter in letters:
        by_queue.setdefault(letter.address, []).append(letter.job.job_id)
    return sum(_act(user, verb, address, job_ids, act_id, detail) for address, job_ids in by_queue.items())


def _act(user: User, verb: DeadVerb, address: QueueAddress, job_ids: Sequence[str], act_id: str, detail: str) -> int:
    """In bounded steps with pauses. Notes what was done."""
    engine = engine_for(address.pool)
    queue = engine.queue(address.namespace, address.queue)
    if verb is DeadVerb.RESPAWN:
        ttl_s = policy_for(pool=address.pool, namespace=address.namespace, queue=address.queue).ttl_s
        work = respawn_dead(queue=queue, job_ids=job_ids, ttl_s=constants.DEFAULT_TTL_S if ttl_s is None else ttl_s)
    else:
        work = delete_dead(queue, ids=job_ids)
    done = engine.run(work)
    if done:
        note_activity(
            user=user,
            action=_NOTED_AS[verb],
            pool=address.pool,
            namespace=address.namespace,
            queue=address.queue,
            target=job_ids[0] if len(job_ids) == 1 and not detail else "",
            count=done,
            detail=detail,
            act_id=act_id,
        )
    return done


def words_of(chosen: DeadFilter) -> str:
    """What the filter says, for the activity log."""
    said = {
        "error": chosen.error,
        "like": chosen.like,
        "day": chosen.day.isoformat() if chosen.day is not None else "",
    }
    return ", ".join(f"{name}: {value}" for name, value in said.items() if value) or ALL_DEAD_LETTERS
