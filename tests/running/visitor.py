"""Somebody with a browser: keeps cookies, follows redirects, and sends forms with their secret."""

from __future__ import annotations

import re
import urllib.request
from http.cookiejar import CookieJar
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urlencode

from tests.http.client import Reply

TIMEOUT_S = 30


class Visitor:
    """A session on one server."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._cookies = CookieJar()
        self._opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(self._cookies))

    @property
    def cookies(self) -> dict[str, str]:
        return {cookie.name: cookie.value or "" for cookie in self._cookies}

    @property
    def cookie_header(self) -> tuple[str, str]:
        return "Cookie", "; ".join(f"{name}={value}" for name, value in self.cookies.items())

    def get(self, path: str, **headers: str) -> Reply:
        return self._open(path, None, headers)

    def post(self, path: str, *, secret: str, **fields: str) -> Reply:
        """A form. `secret`: as in the page that the form was on."""
        return self._open(path, urlencode({"csrfmiddlewaretoken": secret, **fields}).encode(), {})

    def secret_of(self, path: str) -> str:
        """That of the first form on the page."""
        found = re.search(rb'name="csrfmiddlewaretoken" value="(\w+)"', self.get(path).body)
        assert found is not None, f"no form on {path}"
        return found[1].decode()

    def sign_in(self, account: dict[str, Any]) -> Reply:
        secret = self.secret_of("/login/")
        return self.post("/login/", secret=secret, username=account["username"], password=account["password"])

    def _open(self, path: str, body: bytes | None, headers: dict[str, str]) -> Reply:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        asked = urllib.request.Request(self.url + path, body, named)
        try:
            with self._opener.open(asked, timeout=TIMEOUT_S) as answer:
                return Reply(status=answer.status, headers=_lowered(answer.headers), body=answer.read())
        except HTTPError as refusal:
            with refusal:
                return Reply(status=refusal.code, headers=_lowered(refusal.headers), body=refusal.read())


def _lowered(headers: Any) -> dict[str, str]:
    return {name.lower(): value for name, value in headers.items()}
