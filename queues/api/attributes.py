"""Job attributes, which travel as `Job-Attr-NAME` headers."""

from __future__ import annotations

from collections.abc import Mapping

from queues.engine.limits import ATTRIBUTE_NAME_MAX_BYTES, ATTRIBUTE_VALUE_MAX_BYTES, ATTRIBUTES_MAX

from .errors import ParameterError
from .request import Headers


def read_attributes(headers: Headers) -> Mapping[str, str] | None:
    """The attributes of a publish; None unless `Enable-Job-Version: YES` asks for them and there are some.

    Names are lower-case already; names and values are cut, not refused. Raises ParameterError when there are too many.
    """
    if headers.get(b"enable-job-version").upper() != "YES":
        return None
    attributes: dict[str, str] = {}
    for name, value in headers.starting_with(b"job-attr-"):
        if value:
            attributes.setdefault(name[:ATTRIBUTE_NAME_MAX_BYTES], value)
    if len(attributes) > ATTRIBUTES_MAX:
        raise ParameterError(f"too many attributes, cannot exceed {ATTRIBUTES_MAX}")
    return {name: _cut(value) for name, value in attributes.items()} or None


def _cut(value: str) -> str:
    """At most ATTRIBUTE_VALUE_MAX_BYTES of UTF-8 of what was sent; bytes that are not UTF-8 are read as Latin-1."""
    raw = value.encode("latin-1")
    try:
        raw.decode("utf-8")
    except UnicodeDecodeError:
        raw = value.encode("utf-8")
    return raw[:ATTRIBUTE_VALUE_MAX_BYTES].decode("utf-8", "ignore")
