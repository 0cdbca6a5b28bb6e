"""Reads the URL of a request: http or https, a host, a sane port, a path. No credentials."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

URL_MAX_CHARS: Final = 2_048
HOST_MAX_CHARS: Final = 253

_PORTS: Final = {"http": 80, "https": 443}
_LOWEST_OTHER_PORT: Final = 1_024

FORBIDDEN_PORTS: Final = frozenset(
    {1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061, 6000, 6379, 6566, *range(6665, 6670), 6679, 6697, 10080}
)
"""Above 1023: those that the Fetch standard blocks because what listens there takes HTTP for commands; and Redis's."""

_PRINTABLE: Final = re.compile(r"[!-~]*\Z")
_BLANK: Final = re.compile(r"[\x00-\x20\x7f]")
_LABEL: Final = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?\Z")


class UrlError(ValueError):
    """What is wrong with a URL. The message does not repeat it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """Where requests go. `host`: a name in ASCII, or an address without brackets; `path`: with its query."""

    scheme: str
    host: str
    port: int
    path: str

    @property
    def authority(self) -> str:
        """The value of the header Host."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _PORTS[self.scheme] else f"{host}:{self.port}"


def parse_target(url: str) -> Target:
    """Read a URL. Raises UrlError, which says what is wrong with it."""
    if len(url) > URL_MAX_CHARS:
        raise UrlError(f"longer than {URL_MAX_CHARS:,} characters")
    if _BLANK.search(url):
        raise UrlError("it has blanks or control characters")
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise UrlError("its host or port cannot be read") from None
    scheme = parts.scheme.lower()
    if scheme not in _PORTS:
        raise UrlError("it must begin with https:// or http://")
    if "@" in parts.netloc:
        raise UrlError("credentials are not allowed in it: send them in a header")
    if "#" in url:
        raise UrlError("a fragment (#) is not allowed in it")
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    if not _PRINTABLE.match(path):
        raise UrlError("its path has characters that must be percent-encoded")
    return Target(scheme=scheme, host=_read_host(parts.hostname or ""), port=_check_port(scheme, port), path=path)


def _check_port(scheme: str, port: int | None) -> int:
    if port is None:
        return _PORTS[scheme]
    if port in _PORTS.values() or (port >= _LOWEST_OTHER_PORT and port not in FORBIDDEN_PORTS):
        return port
    raise UrlError(f"port {port} is not allowed: use 80, 443, or one above 1023 that no other protocol is known for")


def _read_host(host: str) -> str:
    if not host:
        raise UrlError("it has no host")
    if ":" in host:  # an IPv6 address, in brackets, which urlsplit has checked
        if "%" in host:
            raise UrlError("an address with a zone (%) is not allowed")
        return host
    try:
        name = host.encode("ascii").decode() if host.isascii() else host.encode("idna").decode()
    except UnicodeError:
        raise UrlError("its host is no valid name") from None
    labels = name.lower().removesuffix(".").split(".")
    if len(name) > HOST_MAX_CHARS or not all(_LABEL.match(label) for label in labels):
        raise UrlError("its host is no valid name")
    return ".".join(labels)
