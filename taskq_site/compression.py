"""Compression of text, as br or gzip: a middleware for pages, and `compress` for files whose result is kept.

The API's own routes do not pass here: a job's body is its producer's business, and packing costs the data plane time.
"""

from __future__ import annotations

import asyncio
import gzip
import zlib
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from typing import Any, Final

import brotli
from asgiref.sync import iscoroutinefunction
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.utils.cache import patch_vary_headers
from django.utils.decorators import sync_and_async_middleware

SMALLEST: Final = 256
"""Bytes; what is shorter fits one packet anyway."""

LONG: Final = 65_536
"""Bytes; what is longer is packed in a thread, so that other requests go on."""

TEXTS: Final = frozenset(
    {
        "application/javascript",
        "application/json",
        "application/vnd.oai.openapi",
        "application/vnd.oai.openapi+json",
        "application/x-ndjson",
        "application/xml",
        "image/svg+xml",
    }
)
"""Content types that shrink, beside all of text/*."""

_QUALITY: Final = 4
"""Of brotli, for what is packed for one reader: smaller than gzip makes it, in a sixth of the time."""
_QUALITY_KEPT: Final = 9
_GZIP_LEVEL: Final = 6
_GZIP_BITS: Final = 31
"""zlib's word for its largest window in gzip's frame."""


def choose_encoding(accepted: str) -> str:
    """`br`, `gzip`, or "" for none, by a request's Accept-Encoding, of which the first 256 characters are read."""
    taken = _read_accepted(accepted)
    return next((name for name in ("br", "gzip") if taken.get(name, taken.get("*", False))), "")


def accepts_gzip(accepted: str) -> bool:
    """Whether the client takes gzip, whatever it likes better."""
    taken = _read_accepted(accepted)
    return taken.get("gzip", taken.get("*", False))


def _read_accepted(accepted: str) -> dict[str, bool]:
    taken: dict[str, bool] = {}
    for part in accepted[:256].lower().split(","):
        name, *parameters = (piece.strip() for piece in part.split(";"))
        taken[name] = not any(parameter.replace(" ", "") in _REFUSED for parameter in parameters)
    return taken


_REFUSED: Final = frozenset({"q=0", "q=0.0", "q=0.00", "q=0.000"})


def compress(content: bytes, encoding: str, *, kept: bool = False) -> bytes:
    """`encoding`: br or gzip. `kept`: the result is sent many times, and worth more work."""
    if encoding == "br":
        packed: bytes = brotli.compress(content, mode=brotli.MODE_TEXT, quality=_QUALITY_KEPT if kept else _QUALITY)
        return packed
    return gzip.compress(content, 9 if kept else _GZIP_LEVEL, mtime=0)


def is_text(content_type: str) -> bool:
    """Whether what is of this type shrinks."""
    name = content_type.partition(";")[0].strip().lower()
    return name.startswith("text/") or name in TEXTS


@sync_and_async_middleware
def compress_text(get_response: Callable[[HttpRequest], Any]) -> Callable[[HttpRequest], Any]:
    """Pack each text that is long enough, unless another site's page asked for it.

    Who can make a browser ask again and again, and sees how long the encrypted answers are, could guess a secret in a
    page that repeats a part of its address (BREACH). Browsers say which site asked (Sec-Fetch-Site); CSRF tokens, which
    older ones might be after, look different in each page.
    """
    if not iscoroutinefunction(get_response):

        def middleware(request: HttpRequest) -> HttpResponseBase:
            response: HttpResponseBase = _stream_packed(request, get_response(request))
            encoding = _encoding_for(request, response)
            return _packed(response, encoding, _content(response, encoding)) if encoding else response

        return middleware

    async def async_middleware(request: HttpRequest) -> HttpResponseBase:
        response: HttpResponseBase = _stream_packed(request, await get_response(request))
        encoding = _encoding_for(request, response)
        if not encoding:
            return response
        assert isinstance(response, HttpResponse)  # or there were no encoding
        is_long = len(response.content) > LONG
        content = await asyncio.to_thread(_content, response, encoding) if is_long else _content(response, encoding)
        return _packed(response, encoding, content)

    return async_middleware


def _stream_packed(request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
    """A stream of text, as long downloads are, as gzip of a stream; anything else as it is."""
    if not isinstance(response, StreamingHttpResponse) or not is_text(response.get("Content-Type", "")):
        return response
    patch_vary_headers(response, ("Accept-Encoding",))
    if _is_of_another_site(request) or not accepts_gzip(request.headers.get("Accept-Encoding", "")):
        return response
    content = response.streaming_content
    if isinstance(content, AsyncIterator):
        response.streaming_content = _pack_pieces_async(content)
    else:
        response.streaming_content = _pack_pieces(content)
    response["Content-Encoding"] = "gzip"
    return response


def _pack_pieces(pieces: Iterable[bytes]) -> Iterator[bytes]:
    packer = zlib.compressobj(_GZIP_LEVEL, wbits=_GZIP_BITS)
    for piece in pieces:
        yield packer.compress(piece)
    yield packer.flush()


async def _pack_pieces_async(pieces: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    packer = zlib.compressobj(_GZIP_LEVEL, wbits=_GZIP_BITS)
    async for piece in pieces:
        yield packer.compress(piece)
    yield packer.flush()


def _is_of_another_site(request: HttpRequest) -> bool:
    return request.headers.get("Sec-Fetch-Site") == "cross-site"


def _encoding_for(request: HttpRequest, response: HttpResponseBase) -> str:
    """ "" for what goes as it is."""
    if not isinstance(response, HttpResponse) or response.has_header("Content-Encoding"):
        return ""
    if not is_text(response.get("Content-Type", "")) or len(response.content) < SMALLEST:
        return ""
    patch_vary_headers(response, ("Accept-Encoding",))
    if _is_of_another_site(request):
        return ""
    return choose_encoding(request.headers.get("Accept-Encoding", ""))


def _content(response: HttpResponseBase, encoding: str) -> bytes:
    assert isinstance(response, HttpResponse)
    return compress(response.content, encoding)


def _packed(response: HttpResponseBase, encoding: str, content: bytes) -> HttpResponseBase:
    """The response with this content. Its ETag says that the same text may come in other bytes."""
    assert isinstance(response, HttpResponse)
    response.content = content
    response["Content-Encoding"] = encoding
    response["Content-Length"] = str(len(content))
    etag = response.get("ETag", "")
    if etag and not etag.startswith("W/"):
        response["ETag"] = f"W/{etag}"
    return response
