"""Rows of a live fragment, each with a version: a row is sent only to a page that does not show that version.

A row is a `<tr>` or `<thead>` that begins with `data-key="..."`. It is sent with the digest of its content, its version
(`data-version`). live.js says which versions it shows (`X-Have: V,V,...`), and gets of those the empty element with
`data-same`.
"""

from __future__ import annotations

import hashlib
import re
from base64 import urlsafe_b64encode
from dataclasses import dataclass
from typing import Final

HAVE_MAX: Final = 200
"""Versions that a request may name; live.js names as many at most."""

_VERSION_BYTES: Final = 6
_ROW: Final = re.compile(rb'<(tr|thead) (data-key="[^"]+"[^>]*)>(.*?)</\1>', re.DOTALL)
_CSRF: Final = re.compile(rb'name="csrfmiddlewaretoken" value="[^"]*"')
"""Differs each time, and does not count."""


@dataclass(frozen=True, slots=True)
class _Row:
    tag: bytes
    attributes: bytes
    content: bytes
    version: bytes

    def write(self, had: frozenset[bytes]) -> bytes:
        if self.version in had:
            return b'<%b %b data-version="%b" data-same></%b>' % (self.tag, self.attributes, self.version, self.tag)
        return b'<%b %b data-version="%b">%b</%b>' % (
            self.tag,
            self.attributes,
            self.version,
            self.content,
            self.tag,
        )


@dataclass(frozen=True, slots=True)
class LiveFragment:
    """A fragment as what stands between its rows, and its rows. `version`: the same as long as nothing changes."""

    parts: tuple[bytes | _Row, ...]
    version: str

    def without(self, have: str) -> bytes:
        """Its HTML for a reader who has these versions of rows, separated by commas."""
        had = frozenset(have.encode("latin-1", "replace").split(b",")[:HAVE_MAX])
        return b"".join(part if isinstance(part, bytes) else part.write(had) for part in self.parts)


def split_rows(content: bytes) -> LiveFragment:
    """Find the rows of a rendered fragment. Texts of clients are escaped in it, and so never begin or end one."""
    parts: list[bytes | _Row] = []
    digest = hashlib.blake2b(digest_size=12)
    end = 0
    for found in _ROW.finditer(content):
        tag, attributes, inner = found.groups()
        row = _Row(tag, attributes, inner, _version(found[0]))
        between = content[end : found.start()]
        parts += (between, row)
        digest.update(_CSRF.sub(b"", between) + row.version)
        end = found.end()
    parts.append(content[end:])
    digest.update(_CSRF.sub(b"", content[end:]))
    return LiveFragment(tuple(parts), digest.hexdigest())


def _version(row: bytes) -> bytes:
    return urlsafe_b64encode(hashlib.blake2b(_CSRF.sub(b"", row), digest_size=_VERSION_BYTES).digest())
