"""A request as handlers see it, the same on the fast path and in the Django views: headers, names in the path, where it
carries its token, and query parameters.

The query string is parsed once, then each value is read by the rule of its kind.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Iterator, Mapping, MutableMapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from datetime import datetime
from functools import lru_cache
from typing import Any, ClassVar, Final
from urllib.parse import parse_qsl

from queues.engine.constants import CONSUME_MAX_QUEUES, SECONDS_MAX, UINT32_MAX
from queues.engine.names import check_namespace, check_queue, check_workflow_id
from queues.engine.values import RequestLimit
from queues.services.schedules.checking import check_name as check_schedule
from queues.services.tokens.authentication import Access
from queues.services.tokens.secrets import split_token

from ..token_cache import ResolvedQueue
from .errors import ParameterError
from .large_requests import MEMORY, MemoryHold

MAX_PARAMETERS: Final = 64
REMEMBERED_MAX_BYTES: Final = 256

_DIGITS = re.compile(r"[0-9]{1,19}\Z")
_INTEGER = re.compile(r"-?[0-9]{1,19}\Z")
_DECIMAL = re.compile(r"[0-9]{1,10}(?:\.[0-9]{1,9})?\Z")
_EPOCH = re.compile(r"[0-9]{1,12}(?:\.[0-9]{1,9})?\Z")
_TRUE: Final = frozenset({"1", "t", "T", "true", "TRUE", "True"})
_FALSE: Final = frozenset({"0", "f", "F", "false", "FALSE", "False"})
NO_QUEUES: Final = "invalid queue name(s)"


class Query(dict[str, str]):
    """Query parameters. Do not modify: clients send the same string over and over, and then get the same object, by
    whose identity others may remember what they made of it if it `may_be_kept`."""

    __slots__ = ()
    may_be_kept: ClassVar[bool] = True

    def __hash__(self) -> int:  # type: ignore[override]
        return id(self)


class _LongQuery(Query):
    """Too long to be kept by anybody."""

    __slots__ = ()
    may_be_kept = False


_NOTHING: Final = Query()


def parse_query(raw: bytes) -> Query:
    """The parameters of a query string; of a repeated one the first, as Go's url.Values.Get has it."""
    if not raw:
        return _NOTHING
    return _remembered(raw) if len(raw) <= REMEMBERED_MAX_BYTES else _parse(raw, make=_LongQuery)


def _parse(raw: bytes, make: type[Query] = Query) -> Query:
    try:
        pairs = parse_qsl(raw.decode("latin-1"), keep_blank_values=True, max_num_fields=MAX_PARAMETERS)
    except ValueError:
        raise ParameterError("too many parameters") from None
    parameters = make()
    for name, value in pairs:
        parameters.setdefault(name, value)
    return parameters


_remembered = lru_cache(maxsize=4096)(_parse)


def read_uint(query: Mapping[str, str], name: str, default: int, *, least: int = 0, most: int = UINT32_MAX) -> int:
    """A whole number between `least` and `most`, or the default when absent. Raises ParameterError("invalid NAME")."""
    text = query.get(name)
    if text is None:
        return default
    if _DIGITS.match(text) is None or not least <= (number := int(text)) <= most:
        raise ParameterError(f"invalid {name}")
    return number


def read_optional_uint(query: Mapping[str, str], name: str, *, least: int = 0, most: int = UINT32_MAX) -> int | None:
    """As read_uint, with None when absent."""
    return read_uint(query, name, 0, least=least, most=most) if name in query else None


def read_int(query: Mapping[str, str], name: str, default: int, *, least: int, most: int) -> int:
    """As read_uint, with a sign allowed."""
    text = query.get(name)
    if text is None:
        return default
    if _INTEGER.match(text) is None or not least <= (number := int(text)) <= most:
        raise ParameterError(f"invalid {name}")
    return number


def read_seconds_as_ms(query: Mapping[str, str], name: str, default_ms: int = 0) -> int:
    """Seconds, decimals allowed, as milliseconds. Raises ParameterError("invalid NAME")."""
    text = query.get(name)
    if text is None:
        return default_ms
    if _DECIMAL.match(text) is None or (seconds := float(text)) > SECONDS_MAX:
        raise ParameterError(f"invalid {name}")
    return round(seconds * 1000)


def read_flag(query: Mapping[str, str], name: str) -> bool:
    """A boolean in the spellings that Go's strconv.ParseBool knows; false when absent."""
    text = query.get(name)
    if text is None or text in _FALSE:
        return False
    if text in _TRUE:
        return True
    raise ParameterError(f"invalid {name}")


def is_true(query: Mapping[str, str], name: str) -> bool:
    """As read_flag, for parameters of which lmstfy accepts whatever comes: what is no boolean counts as false."""
    return query.get(name) in _TRUE


def read_moment_ms(query: Mapping[str, str], name: str) -> int | None:
    """Epoch seconds, or ISO 8601 with a zone, as milliseconds since the epoch; None when absent."""
    text = query.get(name)
    if text is None:
        return None
    if _EPOCH.match(text) is not None:
        return round(float(text) * 1000)
    try:
        # An unescaped "+01:00" arrives as " 01:00".
        moment = datetime.fromisoformat(text.replace(" ", "+") if "T" in text else text)
        milliseconds = round(moment.timestamp() * 1000) if moment.tzinfo is not None else -1
    except (ValueError, OverflowError):
        milliseconds = -1
    if milliseconds < 0:
        raise ParameterError(f"invalid {name}")
    return milliseconds


# The shapes of ASGI: https://asgi.readthedocs.io/en/latest/specs/www.html
Scope = MutableMapping[str, Any]
Message = Mapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[dict[str, Any]], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]


class Headers:
    """Request headers as ASGI gives them (lower-case names, bytes); decoded only when asked for."""

    __slots__ = ("_raw", "first")

    def __init__(self, raw: Sequence[tuple[bytes, bytes]]) -> None:
        self._raw = raw
        self.first: Mapping[bytes, bytes] = dict(reversed(raw))
        """The first header of each name, as it was sent."""

    def get(self, name: bytes) -> str:
        """The first header of this lower-case name, or ""."""
        value = self.first.get(name)
        return "" if value is None else value.decode("latin-1")

    def get_text(self, name: bytes) -> str:
        """As `get`, for text that people write: UTF-8, or Latin-1 where the bytes are not that."""
        raw = self.get(name).encode("latin-1")
        try:
            return raw.decode("utf-8")
        except UnicodeDecodeError:
            return raw.decode("latin-1")

    def starting_with(self, prefix: bytes) -> Iterator[tuple[str, str]]:
        """Names (without the prefix) and values of the headers whose names begin with a lower-case prefix."""
        for key, value in self._raw:
            if key.startswith(prefix):
                yield key[len(prefix) :].decode("latin-1"), value.decode("latin-1")


class ApiRequest:
    """One request. The fast path and the Django views have a subclass each, which reads the body and checks staff.

    Not frozen: the pipeline fills in `access` or `staff` once the request is authenticated.
    """

    __slots__ = (
        "access",
        "authorised_at",
        "client",
        "headers",
        "limit",
        "memory",
        "method",
        "path",
        "query",
        "request_id",
        "resolved",
        "staff",
    )

    def __init__(
        self, method: str, path: Mapping[str, str], query: Query, headers: Headers, client: str, request_id: bytes
    ) -> None:
        self.method = method
        self.path = path
        """Path parameters by name, percent-decoded."""
        self.query = query
        """Query parameters; of a repeated one the first."""
        self.headers = headers
        self.client = client
        """The peer's address."""
        self.request_id = request_id
        """ASCII; empty when `ApiMiddleware` is not in front."""
        self.access: Access | None = None
        self.authorised_at = 0.0
        """When it was found that the token gives this access (monotonic seconds)."""
        self.resolved: ResolvedQueue | None = None
        """The cached queue of the token, if it is still fresh."""
        self.limit: RequestLimit | None = None
        """What the operation's call has to count the request against, if anything."""
        self.staff: Any = None
        """The Django user, on routes of staff."""
        self.memory: MemoryHold | None = None
        """What its body and its answer count against the process's memory; nothing while both are small."""

    # What the subclasses know.

    def read_body(self, limit: int) -> Awaitable[bytes | bytearray]:
        """The whole body. Raises ServerBusyError, and BodyTooLargeError once it is known to be longer than `limit`."""
        raise NotImplementedError

    def read_or_discard_body(self, limit: int) -> Awaitable[bytes | bytearray | None]:
        """The whole body; None if it is longer than `limit` bytes: then it was read and dropped.

        Raises BodyTooLargeError if it is longer than DISCARD_MAX_BYTES.
        """
        raise NotImplementedError

    def check_staff(self, permissions: Sequence[str]) -> Awaitable[Any]:
        """The staff user of the request. Raises StaffOnlyError, or ForbiddenError without one of the permissions."""
        raise NotImplementedError

    def skip_body(self) -> None:
        """Declare that the body will not be read: only then can a disconnect be noticed."""

    def watch_client(self) -> AbstractContextManager[None]:
        """For waiting: cancels the current task when the client disconnects, unless Django does so anyway."""
        return nullcontext()

    async def check_client_connected(self) -> None:
        """Yield to the event loop once, so that a pending disconnect is seen before an answer is sent."""
        await asyncio.sleep(0)

    # What follows from it.

    def take_memory(self, size: int) -> None:
        """Count `size` bytes of its body or answer until it has been answered. Raises ServerBusyError."""
        if self.memory is None:
            self.memory = MEMORY.hold("" if self.access is None else self.access.namespace)
        self.memory.grow(size)

    def release_memory(self) -> None:
        """It has been answered."""
        if self.memory is not None:
            self.memory.release()

    @property
    def granted(self) -> Access:
        """What the token gives access to; only for routes that need a token."""
        assert self.access is not None, "the route is not behind a token"
        return self.access

    @property
    def consumer(self) -> str:
        """The consumer's name: the header X-Consumer, else the client's address."""
        return self.headers.get_text(b"x-consumer") or self.client


def check_names(request: ApiRequest) -> None:
    """Namespace, queue and schedule, where the path has them. Raises InvalidArgumentError."""
    namespace = request.path.get("namespace")
    if namespace is not None:
        check_namespace(namespace)
    queue = request.path.get("queue")
    if queue is not None:
        check_queue(queue)
    schedule = request.path.get("schedule")
    if schedule is not None:
        check_schedule(schedule)
    workflow = request.path.get("workflow")
    if workflow is not None:
        check_workflow_id(workflow)


def check_names_of_several(request: ApiRequest) -> None:
    """As check_names, for a path that may name several queues."""
    check_namespace(request.path["namespace"])
    for name in split_queues(request.path["queue"]):
        check_queue(name)


def split_queues(text: str) -> list[str]:
    """`q1,q2,..` → names in order, each once, empty ones skipped. Raises ParameterError for none or too many."""
    if "," not in text:
        return [text]
    names = list(dict.fromkeys(name for name in text.split(",") if name))
    if not 0 < len(names) <= CONSUME_MAX_QUEUES:
        raise ParameterError(NO_QUEUES)
    return names


def pool_and_secret(request: ApiRequest) -> tuple[str, str]:
    """Pool and secret of the request's token: header X-Token, else query `token`; `SECRET` or `POOL:SECRET`.

    The secret is "" when there is no token.
    """
    return split_token(request.headers.get(b"x-token") or request.query.get("token", ""))
