"""The graph of a workflow: moves, zooms, is searched and walked by key, and changes without jumping."""

from __future__ import annotations

import json
import re
from typing import Final

import pytest
from playwright.sync_api import Locator, Page, Response, expect

from tests.browser.conftest import OpenPage
from tests.browser.looking import SOON_MS, find_barriers, keep_picture, sticks_out
from tests.browser.service import Shop

MANY: Final = 1_000
PLACEHOLDER_FITS: Final = """(field) => {
  const style = getComputedStyle(field);
  const pen = document.createElement("canvas").getContext("2d");
  pen.font = style.font;
  const room = field.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight);
  return pen.measureText(field.placeholder).width <= room;
}"""
FEW_BYTES: Final = 2_000
"""What a change of one node may take of the network; the whole graph of a thousand takes fifty times as much."""


def graph_at(page: Page, workflow_id: str) -> Locator:
    """The picture, once it is drawn."""
    page.goto(f"/workflows/default/demo/{workflow_id}/")
    graph = page.locator("svg.graph")
    expect(graph).to_be_visible()
    return graph


def place_of(node: Locator) -> dict[str, float]:
    """Where it is on the screen: its corner, its middle (the line around it may be thicker), and its height."""
    box = node.bounding_box()
    assert box is not None
    middle = {"middle_x": box["x"] + box["width"] / 2, "middle_y": box["y"] + box["height"] / 2}
    return {"x": box["x"], "y": box["y"], "height": box["height"], **middle}


def middles_of(*nodes: Locator) -> list[tuple[int, int]]:
    places = [place_of(node) for node in nodes]
    return [(round(place["middle_x"]), round(place["middle_y"])) for place in places]


@pytest.fixture(scope="module")
def fan(shop: Shop) -> str:
    """A workflow of a thousand: one, 998, one."""
    middle = [f"resize-{number:04}" for number in range(1, MANY - 1)]
    shop.make_workflow("fan", {"split": [], **{one: ["split"] for one in middle}, "join": middle}, queue="fan-steps")
    return "fan"


def test_a_thousand_nodes_are_legible_move_and_zoom(page: Page, fan: str) -> None:
    graph = graph_at(page, fan)
    expect(graph.locator(".node")).to_have_count(MANY)
    box, first = page.locator(".graph-box"), graph.locator(".node").first
    label = first.locator("text")
    assert place_of(label)["height"] >= 9, "the label cannot be read"

    before = place_of(first)
    box.hover()
    page.mouse.wheel(0, 120)
    page.wait_for_function("document.querySelector('.graph-box').scrollTop > 0")
    assert place_of(first)["y"] < before["y"], "the wheel does not scroll"

    here = place_of(box)
    x, y = here["x"] + 400, here["y"] + 200
    scrolled = box.evaluate("(box) => box.scrollLeft")
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x - 60, y, steps=3)
    page.mouse.move(x - 200, y, steps=3)
    page.mouse.up()
    assert box.evaluate("(box) => box.scrollLeft") >= scrolled + 150, "it is not dragged"
    expect(page.locator("svg.graph")).to_be_visible()  # and no link was followed

    page.get_by_role("button", name="Whole graph").click()
    page.wait_for_function("document.querySelector('svg.graph').classList.contains('far')")
    expect(label).to_be_hidden()
    assert box.evaluate("(box) => box.scrollWidth <= box.clientWidth && box.scrollHeight <= box.clientHeight")
    keep_picture(page, "workflow-thousand-whole", full_page=False)

    box.focus()
    for _ in range(8):
        page.keyboard.press("+")
    expect(label).to_be_visible()
    expect(page.locator(".graph-map")).to_be_visible()
    keep_picture(page, "workflow-thousand", full_page=False)


def test_what_happens_is_seen_where_it_was_and_only_that_is_fetched(page: Page, shop: Shop, fan: str) -> None:
    graph = graph_at(page, fan)
    split, join = graph.locator(".node").first, graph.locator(".node").last
    expect(join).to_have_attribute("data-state", "blocked")
    places = middles_of(split, join)
    sizes: list[int] = []

    def note_size(answer: Response) -> None:
        if "/graph?since=" in answer.url:
            sizes.append(int(answer.headers["content-length"]))

    page.on("response", note_size)
    shop.take("fan-steps", ttr=600)  # one more works: the first, or one of those that it made ready
    expect(graph.locator(".node[data-state=working]")).to_have_count(1, timeout=SOON_MS)
    page.remove_listener("response", note_size)

    assert middles_of(split, join) == places
    assert sizes
    assert max(sizes) < FEW_BYTES
    expect(page.locator(".tile").filter(has_text="Working").locator("dd")).to_have_text("1", timeout=SOON_MS)


def test_a_node_is_found_by_name_and_leads_to_its_job(page: Page, shop: Shop) -> None:
    graph = graph_at(page, "thumbnails-7")
    page.get_by_label("Find a job of the graph by its name").fill("RESIZE-1")
    expect(page.locator("output")).to_have_text("4 found")
    expect(graph.locator(".node.found")).to_have_count(4)
    page.keyboard.press("Enter")
    expect(page.locator("output")).to_have_text("1 / 4")
    expect(page.locator(".graph-tip")).to_contain_text("resize-1")

    graph.get_by_role("link", name="fetch,").click()
    expect(page.get_by_role("heading", name=shop.workflow_job)).to_be_visible()
    expect(page.get_by_role("heading", name="Waiting for this job")).to_be_visible()
    page.get_by_role("link", name="thumbnails-7").click()
    expect(graph).to_be_visible()


def test_the_graph_is_walked_by_key_and_shows_what_is_related(page: Page) -> None:
    graph = graph_at(page, "thumbnails-7")
    page.locator(".graph-box").focus()
    page.keyboard.press("Tab")
    expect(graph.get_by_role("link", name="fetch,")).to_be_focused()
    expect(graph.locator(".node.lit")).to_have_count(15)  # everything depends on it

    page.keyboard.press("ArrowRight")
    expect(graph.locator(".node:focus")).to_have_attribute("data-name", re.compile("resize-"))
    expect(graph.locator(".node.lit")).to_have_count(4)
    expect(page.locator(".graph-tip")).to_contain_text("resize-")
    keep_picture(page, "workflow-related", full_page=False)
    page.keyboard.press("End")
    expect(graph.locator(".node:focus")).to_have_attribute("data-name", "mail")


def test_jobs_that_are_added_meanwhile_join_the_graph(page: Page, shop: Shop) -> None:
    shop.make_workflow("growing", {"first": [], "second": ["first"]}, queue="growing-steps")
    graph = graph_at(page, "growing")
    expect(graph.locator(".node")).to_have_count(2)

    more = {"nodes": [{"name": "third", "queue": "growing-steps", "body": "3", "depends_on": ["second"]}]}
    status, answer = shop.call("POST", "/api/demo/workflows/growing/nodes", json.dumps(more))
    assert status in (200, 201), answer

    expect(graph.locator(".node")).to_have_count(3, timeout=SOON_MS)
    expect(page.get_by_role("row").filter(has_text="third")).to_be_visible(timeout=SOON_MS)
    shop.call("POST", "/api/demo/workflows/growing/cancel")


def test_it_is_cancelled_after_a_question(page: Page, shop: Shop) -> None:
    shop.make_workflow("doomed", {"first": [], "second": ["first"]}, queue="doomed-steps")
    graph = graph_at(page, "doomed")

    page.get_by_role("button", name="Cancel…").click()
    page.get_by_role("button", name="Let it run").click()
    expect(graph.locator(".node[data-state=cancelled]")).to_have_count(0)
    page.get_by_role("button", name="Cancel…").click()
    page.locator("#confirm-yes").click()

    expect(page.get_by_role("status").filter(has_text="The workflow is cancelled.")).to_be_visible()
    expect(graph.locator(".node[data-state=cancelled]")).to_have_count(2)
    expect(page.locator(".page-head .pill")).to_have_text("cancelled")


def test_a_phone_and_a_reader_in_the_dark_see_it_too(open_page: OpenPage, fan: str) -> None:
    phone = open_page(phone=True, dark=True, wish="zh-CN")
    graph_at(phone, fan)

    assert sticks_out(phone) == []
    assert find_barriers(phone) == []
    keep_picture(phone, "workflow-thousand-phone-dark", full_page=False)


def test_the_bar_has_room_for_all_pages_and_the_search(page: Page) -> None:
    page.goto("/reports/")
    find = page.get_by_role("searchbox", name="Find a job by its id or key, or a queue by its name")
    for width in (1250, 1280, 1320, 1440, 1560, 1899, 1920):
        page.set_viewport_size({"width": width, "height": 800})
        assert find.evaluate(PLACEHOLDER_FITS), f"{width}: the placeholder is cut off"
        assert page.locator(".bar-links").evaluate("(links) => links.scrollWidth <= links.clientWidth"), width
    page.set_viewport_size({"width": 1280, "height": 800})

    page.get_by_role("navigation", name="Main").get_by_text("More").click()
    page.get_by_role("navigation", name="Main").get_by_role("link", name="Activity").click()
    expect(page.get_by_role("heading", name="Activity")).to_be_visible()
