"""A live fragment comes without the rows that the reader has, and its ETag does not depend on which these are."""

from __future__ import annotations

import re

import pytest

from dashboard.live_rows import split_rows
from queues.engine import Engine, PublishOptions, publish

from .people import SHOP, People
from .surveyor import Surveyor

FRAGMENT = (
    b'<p>2 rows</p><table><thead data-key="head"><tr><th>Name</th></tr></thead><tbody>'
    b'<tr data-key="a"><td>one</td></tr>\n<tr data-key="b" class="odd"><td>two</td></tr></tbody></table>'
)


def versions(html: bytes) -> list[str]:
    return [version.decode() for version in re.findall(rb'data-version="([\w-]+)"', html)]


def test_who_has_nothing_gets_everything() -> None:
    html = split_rows(FRAGMENT).without("")

    assert re.sub(rb' data-version="[^"]+"', b"", html) == FRAGMENT
    assert len(set(versions(html))) == 3


def test_a_row_that_the_reader_has_comes_empty_and_the_others_whole() -> None:
    _head, first, second = versions(split_rows(FRAGMENT).without(""))

    html = split_rows(FRAGMENT).without(f"{second},unknown")

    assert b'<tr data-key="b" class="odd" data-version="%b" data-same></tr>' % second.encode() in html
    assert b"two" not in html
    assert b'<tr data-key="a" data-version="%b"><td>one</td></tr>' % first.encode() in html


def test_a_row_that_changed_is_another_version() -> None:
    before = split_rows(FRAGMENT)
    after = split_rows(FRAGMENT.replace(b"two", b"three"))

    html = after.without(",".join(versions(before.without(""))))

    assert b"three" in html
    assert b"one" not in html
    assert before.version != after.version
    assert before.version != split_rows(FRAGMENT.replace(b"2 rows", b"3 rows")).version


def test_the_same_content_of_another_row_is_no_substitute() -> None:
    row = b'<tr data-key="a"><td>one</td></tr>'

    assert versions(split_rows(row).without("")) != versions(split_rows(row.replace(b'"a"', b'"b"')).without(""))


def test_csrf_tokens_do_not_count() -> None:
    row = b'<tr data-key="a"><td><input type="hidden" name="csrfmiddlewaretoken" value="%b"></td></tr>'

    assert split_rows(row % b"abc").version == split_rows(row % b"def").version


def test_a_client_s_text_makes_no_rows() -> None:
    fragment = b'<tr data-key="a"><td>&lt;/tr&gt;&lt;tr data-key=&quot;b&quot;&gt;</td></tr>'

    assert len(versions(split_rows(fragment).without(""))) == 1


@pytest.mark.django_db(transaction=True)
def test_of_forty_queues_only_the_one_that_changed_is_sent(engine: Engine, surveyor: Surveyor, people: People) -> None:
    def ask(**headers: str) -> bytes:
        response = people.bob.browser.get("/queues/?columns=status,delayed", headers={"X-Live": "1", **headers})
        assert response.status_code == 200
        return response.content

    def put(queue: str) -> None:
        options = PublishOptions(delay_ms=3_600_000)
        engine.run(publish(engine.queue(SHOP, queue), [b"x"], options))

    for number in range(40):
        put(f"queue-{number:02}")
    surveyor.look()
    whole = ask()
    assert whole.count(b"/queues/default/shop/queue-") == 40

    put("queue-07")
    surveyor.look()
    changes = ask(**{"X-Have": ",".join(versions(whole))})

    assert changes.count(b"data-same") == 40, "the head, and all queues but one"
    assert re.findall(rb"/queues/default/shop/(queue-\d\d)/", changes) == [b"queue-07"]
    assert len(changes) < len(whole) / 2
