"""The pages in Chinese: chosen in the menu, no English left but names, and nothing sticks out."""

from __future__ import annotations

import re
from typing import Final

import pytest
from playwright.sync_api import Page, StorageState, expect

from tests.browser.conftest import OpenPage
from tests.browser.contexts import PHONE
from tests.browser.looking import keep_picture, sticks_out, wait_for_charts
from tests.browser.pages import PAGES, TROUBLE
from tests.browser.service import Shop
from tests.browser.watching import Watch

CHINESE_PAGES: Final[dict[str, str]] = PAGES | {
    "queue-dead": f"{PAGES['queue-dead']}&error=smtp",
    "publish": "/queues/default/demo/emails/publish/",
    "policy": "/queues/default/demo/emails/policy/",
    "no-page": "/nowhere/",
    "admin-tokens": "/admin/queues/token/",
    "admin-namespace": "/admin/queues/namespace/add/",
    "admin-policy": "/admin/queues/queuepolicy/add/",
    "admin-pools": "/admin/queues/pool/",
}

LOANWORDS: Final = frozenset(
    {
        "taskq",
        "Redis",
        "Slack",
        "curl",
        "Webhook",
        "webhook",
        "Valkey",
        "Spark",
        "API",
        "CSV",
        "URL",
        "TLS",
        "UTC",
        "UTF",
        "CPU",
        "ACK",
        "AOF",
        "JSON",
        "Prometheus",
    }
)
LOANWORDS_TYPED: Final = frozenset(
    {"cron", "base64", "Cookie", "Cluster", "Token", "Consumer", "English", "Control", "Command", "Ctrl", "Tab"}
    | {"UNLINK", "FLUSHDB", "jemalloc", "GLIBC_TUNABLES", "glibc", "malloc", "mxfast"}
)
VALUES: Final = frozenset(
    {"none", "fixed", "linear", "exponential", "sidekiq", "MAX", "manage", "runpump", "KiB", "MiB"}
    | {"http", "https", "Content", "Type", "application", "json"}
    | {"Asia", "Shanghai", "Europe", "Berlin", "daily", "TASKQ_TOKEN", "TASKQ_COST_", "namespace_costs"}
)
PLACES: Final = frozenset(
    {
        "REDIS_URL",
        "redis",
        "rediss",
        "unix",
        "sentinel",
        "cluster",
        "default",
        "p50",
        "p90",
        "p95",
        "p99",
        "Mac",
        "local",
    }
)
NAMES: Final = frozenset({"demo", "emails", "invoices"})
ALLOWED: Final = LOANWORDS | LOANWORDS_TYPED | VALUES | PLACES | NAMES
"""What Chinese engineers write in Latin letters, what is typed as it stands, and the names of the shop's own things."""

FOLDER: Final = "docs/data"
"""Where a page says that more is read; only pages of a report do."""

CUT_FROM: Final = 20
"""A page cuts no name that is shorter."""

_READ_NAMES: Final = """() => [
  ...[...document.querySelectorAll("a[href*='/queues/']")]
    .map((link) => decodeURIComponent(new URL(link.getAttribute("href"), location.href).pathname)),
  ...[...document.querySelectorAll(".chart-events a[href*='/incidents/']")]
    .map((link) => /^[\\w.-]+(?=: )/.exec(link.textContent)?.[0] ?? ""),
  ...[...document.querySelectorAll(".chart-level-name")]
    .map((level) => /(?<=：)[\\w.-]+/.exec(level.textContent)?.[0] ?? ""),
  ...[...document.querySelectorAll(".chart-events .k-pause + span")]
    .map((title) => document.querySelector(".bar-side .menu > summary")?.textContent ?? ""),
].join(" ")"""
"""The queues that a page links to, whose incidents it lists or whose objectives it draws, and the user who is signed in
where it lists pauses."""

_READ_WORDS: Final = """() => {
  const data = `code, pre, .mono, .tq-mono, bdi, kbd, time, textarea, .menu-box form, .menu > summary, .crumbs *,
    #dead-rows td, .dead-groups tbody, tbody :is(th, td) a, .pools tbody :is(th, td) > :not(.pill), .what, svg.graph,
    .field-description, .field-namespace, #recent-actions-module ul,
    .selector`; // the last is a script of Django's admin, which has no Chinese
  const said = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    if (element.closest(data) || element.closest("script, style, template, noscript")) continue;
    said.push(walker.currentNode.nodeValue);
  }
  for (const element of document.querySelectorAll("[aria-label], [placeholder], [title], [data-label], [alt]")) {
    said.push(element.dataset.label ?? "");
    if (element.matches("time, a, bdi, input[type=checkbox]") || element.closest(".selector")) continue;
    for (const name of ["aria-label", "placeholder", "title"]) said.push(element.getAttribute(name) ?? "");
  }
  for (const value of Object.values(document.getElementById("words")?.dataset ?? {})) said.push(value);
  return said.join("\\n");
}"""
_WORD: Final = re.compile(r"[A-Za-z][A-Za-z0-9_]{2,}")
_TIME: Final = re.compile(r"\b(?:\d+[dhms])+\b", re.ASCII)
"""As people type it: `1d12h`."""


def english_left(page: Page) -> list[str]:
    """Latin words of three letters and more that the page says of itself; what it shows of the data is left out."""
    names = set(_WORD.findall(page.evaluate(_READ_NAMES) + _queues_of_report(page)))
    said = _TIME.sub("", page.evaluate(_READ_WORDS).replace(FOLDER, ""))
    left = set(_WORD.findall(said)) - ALLOWED - names
    return sorted(word for word in left if not any(_is_cut_from(word, name) for name in names))


def _is_cut_from(word: str, name: str) -> bool:
    """Pages cut long names in the middle of a word."""
    return len(word) > CUT_FROM and word in name


def _queues_of_report(page: Page) -> str:
    """The table of queues of a report, which names in its texts those of all tests before it; "" for other pages."""
    sheet = page.locator("a[href*='table=queues']")
    if sheet.count() == 0:
        return ""
    _, _, rows = page.request.get(sheet.first.evaluate("link => link.href")).text().partition("\n")
    return " " + rows


@pytest.fixture(scope="module")
def chosen() -> list[StorageState]:
    """What a browser keeps in which Chinese has been chosen; empty before."""
    return []


@pytest.fixture
def chinese(page: Page, chosen: list[StorageState]) -> Page:
    """Signed in, and Chinese chosen: the first time in the menu, after that as browsers remember it."""
    if not chosen:
        page.goto("/")
        page.locator(".bar-side details.menu > summary").click()
        page.get_by_role("button", name="简体中文").click()
        expect(page.locator("html")).to_have_attribute("lang", "zh-hans")
        chosen.append(page.context.storage_state())
    page.context.add_cookies([{**cookie} for cookie in chosen[0]["cookies"]])  # type: ignore[typeddict-item]
    return page


@pytest.mark.parametrize("name", CHINESE_PAGES)
def test_a_page_is_all_chinese_and_fits(name: str, chinese: Page, shop: Shop, watches: list[Watch]) -> None:
    if name in TROUBLE:
        watches[0].expected.append(TROUBLE[name])
    chinese.goto(shop.address(CHINESE_PAGES[name]))
    wait_for_charts(chinese)

    english = english_left(chinese)
    keep_picture(chinese, f"zh-{name}-desktop")
    wide = sticks_out(chinese)
    chinese.set_viewport_size(PHONE)
    keep_picture(chinese, f"zh-{name}-phone")
    wide += sticks_out(chinese)

    assert not english, english
    assert not wide, wide


def test_the_sign_in_is_chinese_for_who_reads_chinese(open_page: OpenPage) -> None:
    page = open_page(signed_in=False, wish="zh-CN")
    page.goto("/login/")

    expect(page.get_by_role("heading", name="登录")).to_be_visible()
    assert english_left(page) == []
    keep_picture(page, "zh-sign-in-desktop")
    page.set_viewport_size(PHONE)
    keep_picture(page, "zh-sign-in-phone")
    assert sticks_out(page) == []
