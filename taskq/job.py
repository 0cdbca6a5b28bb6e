"""A job that was enqueued: its state, its result, its end."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final, Generic, Protocol, TypeVar

from queues.engine import JobDetail, JobResult, JobState

from .brokers import Broker
from .errors import JobFailedError, JobGoneError, ResultTimeoutError, SerializationError
from .message import Cipher
from .serializers import Serializer, from_json

R = TypeVar("R")

FIRST_POLL_S: Final = 0.005
LONGEST_POLL_S: Final = 0.5
"""Between two looks for a result, of a caller without an event loop; doubled from one to the next."""


@dataclass(frozen=True, slots=True)
class Progress:
    """What the handler reported last. `percent` None: it reported none."""

    percent: float | None
    note: str
    log: tuple[str, ...]


class JobApp(Protocol):
    """An App, as its jobs know it."""

    cipher: Cipher | None

    @property
    def broker(self) -> Broker: ...


class ResultReader(Protocol):
    """A task, as its jobs know it."""

    def read_result(self, value: Any) -> Any:
        """A result as JSON has it, as the function's return annotation says."""


class Job(Generic[R]):
    """A job by its queue and id. `is_duplicate`: it was there already, and holds the key of the call that got it."""

    __slots__ = ("_app", "_task", "id", "is_duplicate", "queue")

    def __init__(
        self, app: JobApp, queue: str, job_id: str, *, task: ResultReader | None = None, is_duplicate: bool = False
    ) -> None:
        self._app = app
        self._task = task
        self.queue = queue
        self.id = job_id
        self.is_duplicate = is_duplicate

    def __repr__(self) -> str:
        return f"<Job {self.queue}/{self.id}>"

    def detail(self) -> JobDetail | None:
        """All that is known of it; None: there is no such job (any more)."""
        return self._app.broker.run(self._app.broker.detail(self.queue, self.id))

    async def adetail(self) -> JobDetail | None:
        return await self._app.broker.arun(self._app.broker.detail(self.queue, self.id))

    def state(self) -> JobState | None:
        """Where it is: ready, delayed, retry, working, dead, completed, blocked, grouped; None: gone."""
        found = self.detail()
        return None if found is None else found.state

    async def astate(self) -> JobState | None:
        found = await self.adetail()
        return None if found is None else found.state

    def progress(self) -> Progress:
        """What its handler reported last by `Context.progress` and `Context.log`."""
        return _progress(self._app.broker.run(self._app.broker.note(self.queue, self.id)))

    async def aprogress(self) -> Progress:
        return _progress(await self._app.broker.arun(self._app.broker.note(self.queue, self.id)))

    def cancel(self) -> bool:
        """Delete it if it waits, end it if it runs: its handler sees that within a second. False: it had ended."""
        return _was_cancelled(self._app.broker.run(self._app.broker.cancel(self.queue, self.id)))

    async def acancel(self) -> bool:
        return _was_cancelled(await self._app.broker.arun(self._app.broker.cancel(self.queue, self.id)))

    def result(self, timeout: float = 30.0) -> R:
        """What the task returned, waiting up to `timeout` seconds for it. Needs `retention=`.

        Raises ResultTimeoutError, JobFailedError (dead), JobGoneError.
        """
        ends = time.monotonic() + timeout
        wait = FIRST_POLL_S
        while True:
            found = self._app.broker.run(self._app.broker.result(self.queue, self.id))
            if found.state is JobState.COMPLETED:
                return self.value_of(found)
            if found.state is None:
                raise JobGoneError(self.id)
            if found.state is JobState.DEAD:
                raise _failure(self.id, self.detail())
            left = ends - time.monotonic()
            if left <= 0:
                raise _timeout(self.id, f"is {found.state.value} after {timeout:g} s")
            time.sleep(min(wait, left))
            wait = min(2 * wait, LONGEST_POLL_S)

    async def aresult(self, timeout: float = 30.0) -> R:  # noqa: ASYNC109 - the same as `result`
        """The same for asyncio."""
        found = await self._app.broker.wait_result(self.queue, self.id, timeout_s=timeout)
        if found.state is JobState.COMPLETED:
            return self.value_of(found)
        if found.state is None:
            raise JobGoneError(self.id)
        if found.state is JobState.DEAD:
            raise _failure(self.id, await self.adetail())
        raise _timeout(self.id, f"is {found.state.value} after {timeout:g} s")

    def value_of(self, found: JobResult) -> R:
        """What the task returned, of the result of a completed job. Raises SerializationError if it is encrypted and
        no key of this app fits.
        """
        value = value_in(self._app, found.body)
        return value if self._task is None else self._task.read_result(value)  # type: ignore[no-any-return]


def value_in(app: JobApp, result: bytes | None) -> Any:
    """A result as JSON has it. Raises SerializationError if it is encrypted and no key of this app fits."""
    value = None if not result else from_json(result)
    if isinstance(value, dict) and value.keys() == {"encrypted"} and _is_fernet_token(value["encrypted"]):
        if app.cipher is None:
            raise SerializationError("the result is encrypted, and this app has no encryption_keys")
        value = from_json(app.cipher.decrypt(value["encrypted"].encode()))
    return value


def _is_fernet_token(value: object) -> bool:
    """Fernet tokens begin with their version, 0x80, and the upper bytes of a time, which are zero until 2106."""
    return isinstance(value, str) and value.startswith("gAAAAA")


@contextmanager
def waiting_for(job: Job[Any], wait_s: float) -> Iterator[None]:
    """Correct a ResultTimeoutError of the block: it names the time that the caller waited in all."""
    try:
        yield
    except ResultTimeoutError as error:
        raise _timeout(job.id, f"has not ended after {wait_s:g} s, and goes on") from error


def _timeout(job_id: str, text: str) -> ResultTimeoutError:
    error = ResultTimeoutError(f"job {job_id} {text}")
    error.job_id = job_id
    return error


def _failure(job_id: str, detail: JobDetail | None) -> JobFailedError:
    history = detail.history if detail is not None else ()
    return JobFailedError(job_id, history[-1].error if history else "")


def _was_cancelled(state: JobState | None) -> bool:
    return state not in (None, JobState.DEAD, JobState.COMPLETED)


def _progress(note: dict[str, bytes]) -> Progress:
    percent = note.get("percent")
    return Progress(
        percent=None if percent is None else float(percent),
        note=note.get("note", b"").decode("utf-8", "replace"),
        log=tuple(note.get("log", b"").decode("utf-8", "replace").split("\n")[:-1]),  # each line ends in one
    )


class AppProtocol(JobApp, Protocol):
    """The parts of `taskq.app.App` that tasks, contexts and workflows use. `Any` stands for tasks and middleware."""

    middleware: list[Any]
    serializers: dict[str, Serializer]
    serializer: Serializer | None
    process_setup: str | None
    has_outbox: bool

    @property
    def is_intercepting(self) -> bool: ...

    @property
    def is_testing(self) -> bool: ...

    def intercept(self, task: Any, prepared: Any) -> Job[Any]: ...

    async def aintercept(self, task: Any, prepared: Any) -> Job[Any]: ...

    def find_task(self, name: str) -> Any: ...

    def job(self, queue: str, job_id: str) -> Job[Any]: ...

    def enqueue_many(self, calls: Iterable[Any]) -> list[Job[Any]]: ...

    async def aenqueue_many(self, calls: Iterable[Any]) -> list[Job[Any]]: ...
