"""Jobs with more dependencies than fit one publish: published open, given their dependencies in pages, and closed.

A job stays blocked until it is closed, so it never runs before it has all of its dependencies. A producer that dies in
between leaves it blocked. With a key it can be published again: the duplicate is given what it lacks, and closed.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from dataclasses import replace
from typing import Any, Final, Protocol, TypeAlias, TypeVar

from queues.engine import (
    DependenciesClosedError,
    Dependency,
    InvalidArgumentError,
    JobNotFoundError,
    OpenJob,
    Published,
    PublishOptions,
    prepare,
)
from queues.engine.constants import DEPENDENCIES_MAX, DEPENDENCIES_OF_JOB_MAX

PAGE: Final = DEPENDENCIES_MAX // 2
"""Dependencies that one call adds: half of what it may, so that Redis is free for others in between."""

T = TypeVar("T")
Steps: TypeAlias = Generator[Any, Any, T]
"""Yields what a broker does next, and is sent its result; returns T."""


class OpenQueue(Protocol):
    """A queue by a broker, in steps."""

    def publish(self, options: PublishOptions) -> Steps[Published]:
        """Publish the bodies."""

    def add(self, job_id: str, depends_on: Sequence[Dependency]) -> Steps[OpenJob]:
        """Add a page."""

    def close(self, job_id: str) -> Steps[OpenJob]: ...

    def delete(self, job_ids: Sequence[str]) -> Steps[Any]: ...


def needs_pages(jobs: int, options: PublishOptions) -> bool:
    """Whether so many jobs with these options have too many dependencies for one publish."""
    return len(options.depends_on) * jobs > DEPENDENCIES_MAX


def publish_in_pages(queue: OpenQueue, options: PublishOptions) -> Steps[Published]:
    """Publish jobs that have `options.depends_on`, whatever their number.

    Raises InvalidArgumentError for too many or bad ones before anything is published, and for a cycle; then the jobs
    are deleted again.
    """
    depends_on = tuple(dict.fromkeys(options.depends_on))
    if len(depends_on) > DEPENDENCIES_OF_JOB_MAX:
        raise InvalidArgumentError(f"too many dependencies, cannot exceed {DEPENDENCIES_OF_JOB_MAX}")
    for page in _pages(depends_on):
        prepare(replace(options, depends_on=tuple(page)))  # raises what is wrong with it
    published = yield from queue.publish(replace(options, depends_on=(), dependencies_open=True))
    left: list[str] = []
    for job_id in published.job_ids:
        try:
            yield from add_in_pages(queue, job_id, depends_on)
            left.append(job_id)
        except (DependenciesClosedError, JobNotFoundError):
            # A dependency has failed and the job with it, it was deleted, or the publish was repeated meanwhile. A
            # duplicate: it is complete, and may have ended.
            continue
        except InvalidArgumentError:
            if not published.duplicate:
                yield from queue.delete(published.job_ids)
            raise
    for job_id in left:
        try:
            yield from queue.close(job_id)
        except JobNotFoundError:
            continue
    return published


def add_in_pages(queue: OpenQueue, job_id: str, depends_on: Sequence[Dependency]) -> Steps[OpenJob]:
    """Add any number of dependencies to an open job."""
    if not depends_on:
        raise InvalidArgumentError("no dependencies")
    found: OpenJob | None = None
    for page in _pages(depends_on):
        found = yield from queue.add(job_id, page)
    assert found is not None
    return found


def _pages(depends_on: Sequence[Dependency]) -> Iterator[Sequence[Dependency]]:
    for first in range(0, len(depends_on), PAGE):
        yield depends_on[first : first + PAGE]
