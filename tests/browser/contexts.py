"""Browser contexts as the tests want them, and pages that tests use one after the other.

A page of its own costs a test a quarter of a second of processor time: Chromium starts a process for it, which loads,
compiles and runs every script anew."""

from __future__ import annotations

from typing import Any, Final

from playwright.sync_api import Browser, Page, StorageState, ViewportSize

from tests.browser.service import Shop
from tests.browser.watching import Watch

DESKTOP: Final = ViewportSize(width=1280, height=800)
PHONE: Final = ViewportSize(width=390, height=844)
TIMEOUT_MS: Final = 10_000
AT_REST: Final = "/static/dashboard/dashboard.css"
"""Runs no script. It has the Cross-Origin-Opener-Policy of every page: to one of another, Chromium would change
processes."""


def new_page(
    browser: Browser, shop: Shop, *, phone: bool, dark: bool, wish: str, state: StorageState | None
) -> tuple[Page, Watch]:
    """A page in a context of its own. `wish`: the language that the browser asks for."""
    options: dict[str, Any] = {"has_touch": True, "is_mobile": True} if phone else {}
    context = browser.new_context(
        base_url=shop.url,
        viewport=PHONE if phone else DESKTOP,
        color_scheme="dark" if dark else "light",
        reduced_motion="reduce",
        locale=wish,
        timezone_id="Europe/Berlin",
        storage_state=state,
        **options,
    )
    context.set_default_timeout(TIMEOUT_MS)
    page = context.new_page()
    return page, Watch(page, shop.url)


class SharedPages:
    """One page for each kind of screen and service, signed in.

    Between two tests it forgets cookies, storage, routes and media."""

    def __init__(self, browser: Browser) -> None:
        self._browser = browser
        self._free: dict[tuple[str, bool], tuple[Page, Watch]] = {}

    def take(self, shop: Shop, *, phone: bool) -> tuple[Page, Watch]:
        """A page that no other test uses at present, and its watch, which has heard nothing."""
        state = shop.signed_in()
        free = self._free.pop((shop.url, phone), None)
        if free is None:
            return new_page(self._browser, shop, phone=phone, dark=False, wish="en-US", state=state)
        page, watch = free
        watch.forget()
        page.context.clear_cookies()
        page.context.add_cookies([{**cookie} for cookie in state["cookies"]])  # type: ignore[typeddict-item]
        return page, watch

    def give_back(self, shop: Shop, page: Page, watch: Watch, *, phone: bool) -> None:
        """Undo what a test may have done to the page. One that the test has closed is not used again."""
        if page.is_closed():
            page.context.close()
            return
        page.unroute_all(behavior="ignoreErrors")
        page.goto(AT_REST)
        page.evaluate("localStorage.clear(); sessionStorage.clear()")
        page.set_viewport_size(PHONE if phone else DESKTOP)
        page.emulate_media(
            media="null", color_scheme="light", reduced_motion="reduce", forced_colors="null", contrast="null"
        )
        page.mouse.move(0, 0)
        self._free[shop.url, phone] = page, watch

    def close(self) -> None:
        """End them all."""
        for page, _ in self._free.values():
            page.context.close()
