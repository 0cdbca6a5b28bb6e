"""A whole service with a demo load, and browsers that look at it.

Everything is shared by the tests of this package and ends with it: Playwright keeps an event loop in the thread of the
tests, in which Django's ORM would refuse to work.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, StorageState, ViewportSize, sync_playwright

from queues.embedded import EmbeddedRedis
from tests.browser.chromium import ARGUMENTS, find_chromium
from tests.browser.service import Shop, open_shop
from tests.browser.watching import Watch
from tests.running.services import stop_service

DESKTOP = ViewportSize(width=1280, height=800)
PHONE = ViewportSize(width=390, height=844)
TIMEOUT_MS = 10_000


@pytest.fixture(scope="package")
def chromium() -> str:
    return find_chromium()


@pytest.fixture(scope="package")
def shop(chromium: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    """`manage.py up --demo` on a Redis that tests may stop, and something in it to look at."""
    directory: Path = tmp_path_factory.mktemp("browser")
    with EmbeddedRedis(directory / "redis", persistent=True) as redis:
        shop = open_shop(directory / "data", redis)
        try:
            shop.fill()
            yield shop
        finally:
            stop_service(shop.service)


@pytest.fixture(scope="package")
def browser(chromium: str) -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=list(ARGUMENTS))
        yield browser
        browser.close()


OpenPage = Callable[..., Page]


@pytest.fixture
def open_page(browser: Browser, shop: Shop, watches: list[Watch]) -> Iterator[OpenPage]:
    """Opens pages in browsers of their own: `open_page(phone=True, dark=True, signed_in=False, wish="zh-CN")`."""
    contexts = []

    def open_one(
        *,
        phone: bool = False,
        dark: bool = False,
        signed_in: bool = True,
        wish: str = "en-US",
        state: StorageState | None = None,
    ) -> Page:
        options: dict[str, Any] = {"has_touch": True, "is_mobile": True} if phone else {}
        context = browser.new_context(
            base_url=shop.url,
            viewport=PHONE if phone else DESKTOP,
            color_scheme="dark" if dark else "light",
            reduced_motion="reduce",
            locale=wish,
            timezone_id="Europe/Berlin",
            storage_state=state or (shop.signed_in() if signed_in else None),
            **options,
        )
        contexts.append(context)
        context.set_default_timeout(TIMEOUT_MS)
        page = context.new_page()
        watches.append(Watch(page, shop.url))
        return page

    yield open_one
    for context in contexts:
        context.close()


@pytest.fixture
def watches() -> Iterator[list[Watch]]:
    """Those of the pages that the test opened. Nothing may have gone wrong in any of them."""
    watches: list[Watch] = []
    yield watches
    assert [complaint for watch in watches for complaint in watch.complaints] == []


@pytest.fixture
def page(open_page: OpenPage) -> Page:
    """At the desk, by daylight, signed in."""
    return open_page()


@pytest.fixture
def phone(open_page: OpenPage) -> Page:
    """The same on a phone."""
    return open_page(phone=True)
