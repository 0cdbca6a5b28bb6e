"""The API as two servers: one with the fast path, one where every request goes through Django.

Each has a Redis and a database of its own, with the same namespace and the same token in it, so that what one does is
nothing to the other, and the same requests must have the same answers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from queues.embedded import EmbeddedRedis
from tests.http.client import Client
from tests.http.service import Server, Site
from tests.http.two_servers_connection import Answer, Wire

NAMESPACE = "demo"
TOKEN = "the-same-token-at-both-servers"


@dataclass
class PathSite(Site):
    """A site whose servers have the fast path, or have not."""

    fast_path: bool = True

    @property
    def env(self) -> dict[str, str]:
        # An access to `super()` fails in a subclass of a dataclass with slots.
        return {**Site.env.fget(self), "TASKQ_FAST_PATH": "1" if self.fast_path else "0"}  # type: ignore[attr-defined]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ApiServer:
    name: str
    site: PathSite
    server: Server
    redis: EmbeddedRedis
    job_ids: dict[str, str] = field(default_factory=dict)
    """Job ids that this server has answered, in their order, and what they are called instead."""

    @property
    def client(self) -> Client:
        return Client(url=self.server.url, namespace=NAMESPACE, token=TOKEN)

    @property
    def staff(self) -> Client:
        return self.server.staff


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class TwoServers:
    """Both, in lockstep."""

    fast: ApiServer
    django: ApiServer

    @property
    def both(self) -> tuple[ApiServer, ApiServer]:
        return self.fast, self.django

    def send(self, fast: bytes, django: bytes) -> tuple[Answer, Answer]:
        """A request through each, at the same time, each over a connection of its own; the answers."""
        with Wire(self.fast.server.url) as first, Wire(self.django.server.url) as second:
            first.send(fast)
            second.send(django)
            return (
                first.receive(to_head=fast.startswith(b"HEAD ")),
                second.receive(to_head=django.startswith(b"HEAD ")),
            )


@contextmanager
def start_two_servers(directory: Path, *, secrets: Sequence[tuple[str, str]] = ()) -> Iterator[TwoServers]:
    """Start both. `secrets`: namespaces and tokens to make beside the common ones."""
    with ExitStack() as stack:
        servers = {}
        for name in ("fast", "django"):
            home = directory / name
            home.mkdir(parents=True)
            redis = stack.enter_context(EmbeddedRedis(home / "redis", persistent=True))
            site = PathSite(data_dir=home, redis_url=redis.url, fast_path=name == "fast")
            site.prepare()
            server = stack.enter_context(site.serve())
            for namespace, secret in ((NAMESPACE, TOKEN), *secrets):
                server.new_token(namespace, secret=secret)
            servers[name] = ApiServer(name=name, site=site, server=server, redis=redis)
        yield TwoServers(**servers)
