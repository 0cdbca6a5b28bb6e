"""Texts go compressed to a client that takes that: pages, their JSON, static files."""

from __future__ import annotations

import asyncio
import gzip
from collections.abc import AsyncIterator

import brotli
import pytest
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.test import AsyncRequestFactory, Client, RequestFactory

from taskq_site.compression import choose_encoding, compress_text
from tests.support.rows import in_one_test

STYLES = "/static/taskq/base.css"
PAGE = "/login/"
PAGES = b"<p>a page that is long enough for a thread</p>" * 2_000


@in_one_test(
    ("accepted", "chosen"),
    [
        ("", ""),
        ("gzip, deflate, br, zstd", "br"),
        ("gzip, deflate", "gzip"),
        ("GZIP;q=0.5", "gzip"),
        ("br;q=0, gzip;q=1.0", "gzip"),
        ("br; q=0.0 , gzip ;q=0", ""),
        ("*", "br"),
        ("*;q=0", ""),
        ("br;q=0, *", "gzip"),
        ("identity", ""),
        ("a," * 100_000 + "br", ""),
    ],
)
def test_what_a_client_takes_is_read(accepted: str, chosen: str) -> None:
    assert choose_encoding(accepted) == chosen


@pytest.mark.django_db
@in_one_test("path", [STYLES, PAGE, "/api/docs", "/api/schema"])
@in_one_test("encoding", ["br", "gzip"])
def test_a_text_comes_compressed_and_is_the_same(path: str, encoding: str) -> None:
    plain = Client().get(path)
    packed = Client().get(path, headers={"Accept-Encoding": encoding})

    assert not plain.has_header("Content-Encoding")
    assert packed["Content-Encoding"] == encoding
    assert packed["Content-Length"] == str(len(packed.content))
    assert "Accept-Encoding" in packed["Vary"]
    assert "Accept-Encoding" in plain["Vary"]
    assert len(packed.content) < len(plain.content) / 2
    content = brotli.decompress(packed.content) if encoding == "br" else gzip.decompress(packed.content)
    if path in (PAGE, "/api/docs"):  # its CSRF token is another one each time
        assert len(content) == len(plain.content)
    else:
        assert content == plain.content


@pytest.mark.django_db
def test_what_is_short_goes_as_it_is() -> None:
    answer = Client().get("/static/nothing.css", headers={"Accept-Encoding": "br", "Accept": "application/json"})

    assert (answer.status_code, answer.has_header("Content-Encoding")) == (404, len(answer.content) >= 256)


@pytest.mark.django_db
def test_what_another_site_asks_for_is_not_compressed() -> None:
    """Its length would tell what it has in common with the address (BREACH)."""
    headers = {"Accept-Encoding": "br", "Sec-Fetch-Site": "cross-site"}

    assert not Client().get(PAGE, headers=headers).has_header("Content-Encoding")
    assert Client().get(PAGE, headers=headers | {"Sec-Fetch-Site": "same-origin"})["Content-Encoding"] == "br"


def test_a_static_file_that_did_not_change_is_not_sent_again_though_compressed() -> None:
    first = Client().get(STYLES, headers={"Accept-Encoding": "br"})
    again = Client().get(STYLES, headers={"Accept-Encoding": "br", "If-Modified-Since": first["Last-Modified"]})

    assert (again.status_code, again.content) == (304, b"")
    assert "Accept-Encoding" in again["Vary"]


def test_a_stream_of_text_is_compressed_as_it_comes() -> None:
    def answer(request: HttpRequest) -> StreamingHttpResponse:
        return StreamingHttpResponse((f"row {number},x\n".encode() for number in range(1_000)), content_type="text/csv")

    def ask(**headers: str) -> StreamingHttpResponse:
        response = compress_text(answer)(RequestFactory().get("/", headers=headers))
        assert isinstance(response, StreamingHttpResponse)
        return response

    packed, plain = ask(**{"Accept-Encoding": "br, gzip"}), ask()

    assert packed["Content-Encoding"] == "gzip"
    assert not plain.has_header("Content-Encoding")
    assert gzip.decompress(packed.getvalue()) == plain.getvalue()


def test_under_asgi_streams_and_texts_are_compressed_too() -> None:
    async def rows() -> AsyncIterator[bytes]:
        for number in range(1_000):
            yield f"row {number},x\n".encode()

    async def answer(request: HttpRequest) -> HttpResponseBase:
        return (
            StreamingHttpResponse(rows(), content_type="text/csv") if request.path == "/stream" else HttpResponse(PAGES)
        )

    async def ask(path: str) -> tuple[str, bytes]:
        request = AsyncRequestFactory().get(path, headers={"Accept-Encoding": "br, gzip"})
        response = await compress_text(answer)(request)
        content = b"".join([piece async for piece in response]) if response.streaming else response.content
        return response["Content-Encoding"], content

    encoding, content = asyncio.run(ask("/stream"))
    assert (encoding, gzip.decompress(content).count(b"\n")) == ("gzip", 1_000)
    encoding, content = asyncio.run(ask("/page"))
    assert (encoding, brotli.decompress(content)) == ("br", PAGES)
