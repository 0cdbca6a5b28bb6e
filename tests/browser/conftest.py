"""A whole service with a demo load, and browsers that look at it.

Everything is shared by the tests of this package and ends with it: Playwright keeps an event loop in the thread of the
tests, in which Django's ORM would refuse to work.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, StorageState, sync_playwright

from queues.embedded import EmbeddedRedis
from tests.browser.chromium import ARGUMENTS, find_chromium
from tests.browser.contexts import SharedPages, new_page
from tests.browser.service import Shop, open_shop
from tests.browser.watching import Watch
from tests.running.services import stop_service


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


@pytest.fixture(scope="package")
def shared_pages(browser: Browser) -> Iterator[SharedPages]:
    pages = SharedPages(browser)
    yield pages
    pages.close()


OpenPage = Callable[..., Page]


@pytest.fixture
def open_page(browser: Browser, shop: Shop, watches: list[Watch]) -> Iterator[OpenPage]:
    """Opens pages in contexts of their own: `open_page(phone=True, dark=True, signed_in=False, wish="zh-CN")`."""
    contexts = []

    def open_one(
        *,
        phone: bool = False,
        dark: bool = False,
        signed_in: bool = True,
        wish: str = "en-US",
        state: StorageState | None = None,
    ) -> Page:
        state = state or (shop.signed_in() if signed_in else None)
        page, watch = new_page(browser, shop, phone=phone, dark=dark, wish=wish, state=state)
        contexts.append(page.context)
        watches.append(watch)
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


TakePage = Callable[[str], Page]


@pytest.fixture
def take_page(shared_pages: SharedPages, shop: Shop, watches: list[Watch]) -> Iterator[TakePage]:
    """Takes the page that tests share: `take_page("desktop")`, `take_page("phone")`. Signed in, by daylight.

    What lasts beyond a page load and is neither a cookie, nor stored, nor a route, nor emulated media takes a page of
    `open_page`; a test removes its listeners."""
    taken: dict[str, tuple[Page, Watch]] = {}

    def take_one(width: str) -> Page:
        assert width not in taken
        taken[width] = page, watch = shared_pages.take(shop, phone=width == "phone")
        watches.append(watch)
        return page

    yield take_one
    for width, (page, watch) in taken.items():
        shared_pages.give_back(shop, page, watch, phone=width == "phone")


@pytest.fixture
def page(take_page: TakePage) -> Page:
    """At the desk."""
    return take_page("desktop")


@pytest.fixture
def phone(take_page: TakePage) -> Page:
    """The same on a phone."""
    return take_page("phone")
