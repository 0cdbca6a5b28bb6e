"""What holds for every page: axe finds nothing serious, it fits its window, and a picture of it is kept."""

from __future__ import annotations

import os
from typing import Any, Final

from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import Page

from tests.browser.repetitions import ALIKE, FIND_REPETITIONS
from tests.running.processes import ROOT

SOON_MS = 25_000
"""A survey by the pump, a reading by the web server and a fetch by the page lie between a job and its number; where the
server is busy, up to eleven seconds lie between two fetches."""

SCREENSHOTS: Final = ROOT / "var" / "screenshots"
GRAVE: Final = ("serious", "critical")
NEVER_GRAVE: Final = {"region": {"enabled": False}}
"""A fifth of what a look costs, and never more than moderate."""


OF_COLOURS: Final = ("color-contrast", "link-in-text-block")
"""The rules whose findings a theme may change. Two fifths of a look are for others."""

RUN_AXE: Final = """async ([options, repetitions]) => {
  const run = async (context, more) => (await axe.run(context, {...options, ...more})).violations;
  const colours = "color-contrast";
  if (!repetitions.length || (options.runOnly && !options.runOnly.includes(colours))) return run(document);
  const others = options.runOnly
    ? {runOnly: options.runOnly.filter((rule) => rule !== colours)}
    : {rules: {...options.rules, [colours]: {enabled: false}}};
  return [...await run(document, others), ...await run({exclude: repetitions}, {runOnly: [colours], rules: {}})];
}"""


def find_barriers(page: Page, *, only: str | None = None, of_theme: bool = False) -> list[str]:
    """Serious and critical violations that axe finds; with `only` all of that one rule. `of_theme`: of colours only,
    where the page has been looked at in the other theme."""
    page.evaluate("Promise.allSettled(document.getAnimations().map((one) => one.finished))")  # colours on their way
    # Preloading styles would put them into the page, which its policy refuses.
    options: dict[str, Any] = {"resultTypes": ["violations"], "preload": False, "rules": NEVER_GRAVE}
    if only is not None:
        options["runOnly"] = [only]
    elif of_theme:
        options["runOnly"] = [*OF_COLOURS]
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE_SCRIPT)
    repetitions = page.evaluate_handle(FIND_REPETITIONS, ALIKE)
    found = page.evaluate(RUN_AXE, [options, repetitions])
    return [
        f"{page.url} {violation['id']} ({violation['impact']}): {node['html'][:160]} | {_why(node)}"
        for violation in found
        if only is not None or violation["impact"] in GRAVE
        for node in violation["nodes"][:5]
    ]


def wait_for_charts(page: Page) -> None:
    """Until every chart of the page has been drawn."""
    page.wait_for_function("[...document.querySelectorAll('figure.chart')].every((one) => one.childElementCount)")


def sticks_out(page: Page) -> list[str]:
    """Elements because of which the page scrolls sideways; none if it does not."""
    return list(
        page.evaluate(
            """() => {
              const width = document.documentElement.clientWidth;
              if (document.documentElement.scrollWidth <= width) return [];
              const sticksOut = (element) => element.getBoundingClientRect().right > width + 1;
              const wide = [...document.body.querySelectorAll("*")].filter(sticksOut);
              return wide.slice(0, 5).map((element) => element.outerHTML.slice(0, 120));
            }"""
        )
    )


def keep_picture(page: Page, name: str, *, full_page: bool = True) -> None:
    """Save what the page looks like as `var/screenshots/NAME.png`, if pictures are asked for (`make screenshots`)."""
    if not os.environ.get("TASKQ_SCREENSHOTS"):
        return
    # Hiding the caret takes a style in the page, which its policy would refuse.
    page.screenshot(path=SCREENSHOTS / f"{name}.png", full_page=full_page, animations="disabled", caret="initial")


def _why(node: dict[str, Any]) -> str:
    return "; ".join(str(check["message"]) for check in [*node["any"], *node["all"], *node["none"]])[:300]
