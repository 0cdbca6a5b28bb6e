"""Publishing, with the queue's policy for what the caller left open.

Like all verbs of `queues.services.jobs` these make operations; `Engine` or `AsyncEngine` runs them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from queues.engine import (
    Layout,
    OpenJob,
    PreparedOptions,
    RequestLimit,
    add_dependencies,
    constants,
    is_large,
    parse_dependency,
    prepare,
    publish,
    publish_large,
    publish_once,
    refuse_cycle,
    republish,
)
from queues.engine.backoff import NO_BACKOFF, Backoff
from queues.engine.constants import DEPENDENCIES_MAX
from queues.engine.errors import InvalidArgumentError
from queues.engine.keys import QueueKeys
from queues.engine.operation import Operation, Plan
from queues.engine.values import Dependency, DependencyFailure, HashedOnce, KeyMode, Published, PublishOptions

from ..policies import EffectivePolicy
from ..tokens.limit_settings import limited


@dataclass(frozen=True, kw_only=True)
class PublishRequest(HashedOnce):
    """PublishOptions as a caller gave them. None: not said, so the policy decides, and taskq's default after it."""

    delay_ms: int = 0
    at_ms: int | None = None
    ttl_s: int | None = None
    tries: int | None = None
    priority: int = 0
    key: str | None = None
    key_ttl_ms: int | None = None
    key_mode: KeyMode = KeyMode.WINDOW
    key_max_wait_ms: int = 0
    backoff: Backoff | None = None
    retention_ms: int = 0
    attributes: Mapping[str, str] | None = None
    limit_key: str | None = None
    group: str | None = None
    depends_on: tuple[str, ...] = ()
    """Each as `parse_dependency` reads it."""
    on_dependency_failure: DependencyFailure = DependencyFailure.WAIT
    dependencies_open: bool = False

    __hash__ = HashedOnce.__hash__

    @property
    def is_common(self) -> bool:
        """Whether others are likely to ask for the same."""
        return self.attributes is None and not self.depends_on


def find_cycle_of(*, layout: Layout, queue: QueueKeys, request: PublishRequest) -> Plan[None]:
    """Raises InvalidArgumentError, with the cycle named, if the job would wait for itself: to be run before a publish
    with `depends_on` and a key. Where two are published at once, the job that closes the cycle dies instead."""
    assert request.key is not None
    return refuse_cycle(layout, queue, request.key, _dependencies(queue, request))


def _dependencies(queue: QueueKeys, request: PublishRequest) -> tuple[Dependency, ...]:
    return tuple([parse_dependency(text, queue=queue.queue) for text in request.depends_on])


def publish_jobs(
    *, queue: QueueKeys, bodies: Sequence[bytes], request: PublishRequest, policy: EffectivePolicy
) -> Operation[Published]:
    """All of `bodies` or none of them. Raises InvalidArgumentError."""
    if request.is_common:
        return publish(queue, bodies, _prepared(request, policy))
    return publish(queue, bodies, effective_options(request=request, policy=policy, queue=queue))


def publish_job_once(
    *, queue: QueueKeys, body: bytes, once: str, request: PublishRequest, policy: EffectivePolicy
) -> Operation[Published]:
    """As `publish_jobs`, of a job that is not added again under the same id. Raises InvalidArgumentError."""
    return publish_once(queue, (body,), effective_options(request=request, policy=policy, queue=queue), once=(once,))


def publish_bulk(
    *,
    queue: QueueKeys,
    bodies: Sequence[bytes],
    request: PublishRequest,
    policy: EffectivePolicy,
    limit: RequestLimit | None,
) -> Operation[Published] | Plan[Published]:
    """As `publish_jobs`, of any size, and the count of its request. Raises InvalidArgumentError, LimitReachedError."""
    options = (
        _prepared(request, policy)
        if request.is_common
        else effective_options(request=request, policy=policy, queue=queue)
    )
    prepared = options if isinstance(options, PreparedOptions) else prepare(options)
    if is_large(bodies, prepared):
        return publish_large(queue, bodies, prepared, limit=limit)
    return limited(publish(queue, bodies, prepared), limit)


def republish_job(
    *, queue: QueueKeys, job_id: str, body: bytes, request: PublishRequest, policy: EffectivePolicy
) -> Operation[Published]:
    """Delete `job_id` if it is still there, and publish `body` as a new job. Raises InvalidArgumentError."""
    return republish(queue, job_id, body, effective_options(request=request, policy=policy, queue=queue))


@lru_cache(maxsize=1024)
def _prepared(request: PublishRequest, policy: EffectivePolicy) -> PreparedOptions:
    """A producer publishes with the same options over and over."""
    return prepare(effective_options(request=request, policy=policy))


def effective_options(
    *, request: PublishRequest, policy: EffectivePolicy, queue: QueueKeys | None = None
) -> PublishOptions:
    """What is asked for, else the policy, else taskq's default. Raises InvalidArgumentError: ttl is shorter than delay.

    That is checked here once more because the ttl may be the policy's. `queue`: needed for dependencies only.
    """
    ttl_s = _first(request.ttl_s, policy.ttl_s, constants.DEFAULT_TTL_S)
    if ttl_s and ttl_s * 1000 < request.delay_ms:
        raise InvalidArgumentError("ttl is shorter than delay")
    return PublishOptions(
        delay_ms=request.delay_ms,
        at_ms=request.at_ms,
        ttl_ms=ttl_s * 1000,
        tries=_first(request.tries, policy.tries, constants.DEFAULT_TRIES),
        priority=request.priority,
        key=request.key,
        key_ttl_ms=request.key_ttl_ms,
        key_mode=request.key_mode,
        key_max_wait_ms=request.key_max_wait_ms,
        backoff=request.backoff if request.backoff is not None else policy.backoff or NO_BACKOFF,
        retention_ms=request.retention_ms,
        attributes=request.attributes,
        limit_key=request.limit_key,
        group=request.group,
        group_max_size=_first(None, policy.group_max_size, constants.GROUP_DEFAULT_SIZE),
        group_max_delay_ms=1000 * _first(None, policy.group_max_delay_s, constants.GROUP_DEFAULT_DELAY_S),
        group_grace_ms=1000 * _first(None, policy.group_grace_period_s, constants.GROUP_DEFAULT_GRACE_S),
        depends_on=_dependencies(queue, request) if queue is not None else (),
        on_dependency_failure=request.on_dependency_failure,
        dependencies_open=request.dependencies_open,
    )


def _first(asked: int | None, policy: int | None, default: int) -> int:
    if asked is not None:
        return asked
    return policy if policy is not None else default


def add_to_open_job(*, layout: Layout, queue: QueueKeys, job_id: str, depends_on: Sequence[str]) -> Plan[OpenJob]:
    """Have a job wait for these, too, each as `parse_dependency` reads it.

    Raises InvalidArgumentError, JobNotFoundError, DependenciesClosedError.
    """
    if len(depends_on) > DEPENDENCIES_MAX:
        raise InvalidArgumentError(f"too many dependencies, cannot exceed {DEPENDENCIES_MAX}")
    needed = [parse_dependency(text, queue=queue.queue) for text in depends_on]
    return add_dependencies(layout, queue, job_id, needed)
