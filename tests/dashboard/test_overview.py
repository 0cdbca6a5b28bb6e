"""The overview page: who sees what, what it says when there is nothing to see, and when Redis or the pumps are away."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from django.test import Client

from queues.engine import Engine, PublishOptions, ack, consume, publish
from queues.models import Namespace, Pool
from tests.support.redis_servers import version_of

from .people import BANK, SHOP, People
from .queue_pages.hostile import THEME
from .surveyor import Surveyor, now_of

pytestmark = pytest.mark.django_db(transaction=True)

MINUTE_MS = 60_000
PATHS = ("/", "/totals", "/overview/charts/throughput", "/overview/charts/backlog", "/queues/")


def put(
    engine: Engine, namespace: str, queue: str, *, jobs: int = 1, now_ms: int | None = None, **options: Any
) -> None:
    keys = engine.queue(namespace, queue)
    engine.run(publish(keys, [b"x"] * jobs, PublishOptions(**options), now_ms=now_ms))


def page(client: Client, path: str = "/", **headers: str) -> str:
    response = client.get(path, headers=headers)
    assert response.status_code == 200
    return response.content.decode()


@pytest.mark.parametrize("path", PATHS)
def test_who_is_not_signed_in_is_sent_to_the_sign_in(path: str) -> None:
    response = Client().get(path)

    assert response.status_code == 302
    assert response["Location"] == f"/login/?next={path}"


@pytest.mark.parametrize("path", PATHS)
def test_nobody_learns_of_a_namespace_that_is_not_shown_to_them(
    path: str, engine: Engine, surveyor: Surveyor, people: People
) -> None:
    put(engine, BANK, "secret-plans", jobs=777)
    surveyor.look()
    without = [page(one.browser, path) for one in (people.alice, people.bob, people.dave)]

    for text in without:
        assert "secret-plans" not in text
        assert not re.search(r"(?<!\d)777(?!\d)", text)


def test_everybody_sees_the_sums_of_their_own_namespaces(engine: Engine, surveyor: Surveyor, people: People) -> None:
    put(engine, SHOP, "orders", jobs=123)
    put(engine, BANK, "loans", jobs=456)
    surveyor.look()

    sums = {
        name: json.loads(page(person.browser, "/overview/charts/backlog"))["series"][0]["values"][-1]
        for name, person in (("alice", people.alice), ("charlie", people.charlie), ("root", people.root))
    }

    assert sums == {"alice": 123, "charlie": 456, "root": 579}
    assert ">123<" in page(people.alice.browser, "/totals")
    assert ">456<" in page(people.charlie.browser, "/totals")


def test_who_is_in_no_group_is_told_so(people: People) -> None:
    assert "Ask an administrator" in page(people.dave.browser)


def test_with_no_namespace_at_all_a_superuser_is_told_how_to_begin(people: People) -> None:
    Namespace.objects.all().delete()

    assert "manage.py token create" in page(people.root.browser)


def test_a_queue_without_a_consumer_comes_first(engine: Engine, surveyor: Surveyor, people: People) -> None:
    put(engine, SHOP, "orders", jobs=300, now_ms=now_of(engine) - 20_000)
    surveyor.look()

    text = " ".join(page(people.bob.browser).split())

    assert "1 warning" in text
    assert "No active consumers: 300 jobs are ready" in text
    assert '<a href="/queues/default/shop/orders/">orders</a>' in text


def test_where_all_is_well_it_says_so(engine: Engine, surveyor: Surveyor, people: People) -> None:
    put(engine, SHOP, "orders")
    surveyor.look()

    text = page(people.alice.browser)

    assert "Healthy" in text
    assert not re.search(r"\d (critical|warning)", text)


def test_pools_and_pumps_are_shown_with_their_figures(engine: Engine, surveyor: Surveyor, people: People) -> None:
    put(engine, SHOP, "orders")
    surveyor.look()

    text = page(people.root.browser)

    assert version_of(engine.client) in text
    assert "host" in text
    assert "alive" in text
    assert "none yet" in text


def test_before_the_first_survey_nothing_is_called_healthy(people: People) -> None:
    text = page(people.alice.browser)

    assert "Healthy" not in text
    assert "No pump" in text


def test_a_pool_that_is_down_is_said_to_be_and_the_others_are_shown(
    engine: Engine, surveyor: Surveyor, people: People
) -> None:
    away = Pool.objects.create(name="away", url="unix:///nowhere/redis.sock")
    Namespace.objects.create(pool=away, name="stranded").groups.set(people.bob.user.groups.all())
    put(engine, SHOP, "orders", jobs=77)
    surveyor.look()

    text = page(people.bob.browser)

    assert "Redis does not answer." in text
    assert ">77<" in text
    assert "nowhere" not in text, "why is told to superusers only"
    assert "Pool away does not answer" in page(people.bob.browser, "/queues/")
    assert people.bob.browser.get("/overview/charts/backlog").json()["empty"] == "Redis does not answer"


def test_what_is_not_known_is_a_dash_and_no_zero(people: People) -> None:
    Pool.objects.update(url="unix:///nowhere/redis.sock")

    text = page(people.root.browser)

    strip = text[text.index('class="totals"') : text.index("</section>")]
    assert re.findall(r"<b[^>]*>([^<]*)</b>", strip) == ["–"] * 10
    row = text[text.index('<th scope="row">default') :]
    assert re.findall(r">([^<]*)</td>", row[: row.index("</tr>")]) == ["–"] * 5


def test_the_sums_of_the_pools_that_answer_are_shown(engine: Engine, surveyor: Surveyor, people: People) -> None:
    Pool.objects.create(name="away", url="unix:///nowhere/redis.sock")
    put(engine, SHOP, "orders", jobs=3)
    surveyor.look()

    text = page(people.root.browser, "/totals")

    assert re.findall(r"<b[^>]*>([^<]*)</b>", text)[0] == "3"
    assert "Excludes pool away (unreachable)." in text


def test_why_a_pool_is_down_is_told_to_superusers(people: People) -> None:
    Pool.objects.create(name="away", url="unix:///nowhere/redis.sock")

    assert "Redis cannot be reached" in page(people.root.browser)


def test_what_changes_is_given_alone_to_who_asks_for_it(surveyor: Surveyor, people: People) -> None:
    surveyor.look()

    text = page(people.alice.browser, **{"X-Live": "1"})

    assert "<html" not in text
    assert "Incidents" in text


def test_a_chart_shows_whole_minutes_and_the_running_one(engine: Engine, surveyor: Surveyor, people: People) -> None:
    now = now_of(engine)
    earlier = now - 2 * MINUTE_MS
    put(engine, SHOP, "orders", jobs=30, now_ms=earlier, ttl_ms=0)
    surveyor.look(now_ms=earlier)
    keys = engine.queue(SHOP, "orders")
    taken = engine.run(consume(keys, ttr_ms=600_000, count=10, now_ms=earlier)).jobs
    engine.run(ack(keys, [job.job_id for job in taken[:4]], now_ms=earlier))
    surveyor.look(now_ms=now - MINUTE_MS)
    surveyor.look(now_ms=now)

    chart = json.loads(page(people.alice.browser, "/overview/charts/throughput?minutes=15"))
    jobs = json.loads(page(people.alice.browser, "/overview/charts/backlog?minutes=15"))

    series = {one["name"]: one["values"] for one in chart["series"]}
    assert len(chart["x"]["values"]) == 16
    assert chart["x"]["values"] == sorted(chart["x"]["values"])
    assert (chart["y"], series["published"][-3], series["acked"][-3]) == ({"unit": "jobs/min"}, 30, 4)
    assert series["published"][0] is None, "no pump surveyed it"
    states = {one["name"]: one["values"] for one in jobs["series"]}
    assert (states["ready"][-1], states["working"][-1], jobs["y"]) == (20, 6, {"unit": "jobs"})


def test_sums_of_a_superuser_are_those_of_the_whole_pool(engine: Engine, surveyor: Surveyor, people: People) -> None:
    put(engine, SHOP, "orders", jobs=3)
    put(engine, BANK, "loans", jobs=4)
    surveyor.look()

    chart = json.loads(page(people.root.browser, "/overview/charts/backlog"))

    assert chart["series"][0]["values"][-1] == 7


def test_an_unknown_chart_is_not_found(people: People) -> None:
    assert people.alice.browser.get("/overview/charts/other").status_code == 404


@pytest.mark.parametrize("minutes", ["0", "-1", "99999999", "x", "٣"])
def test_a_span_that_is_not_offered_is_the_usual_one(minutes: str, people: People) -> None:
    chart = json.loads(page(people.alice.browser, f"/overview/charts/backlog?minutes={minutes}"))

    assert len(chart["x"]["values"]) == 60


def test_the_sums_stand_on_other_pages_too(engine: Engine, surveyor: Surveyor, people: People) -> None:
    put(engine, SHOP, "orders", jobs=77)
    surveyor.look()

    for path in ("/reports/", "/schedules/", "/queues/"):
        assert ">77<" in page(people.alice.browser, path)


def test_pages_hold_no_inline_script_or_style(engine: Engine, surveyor: Surveyor, people: People) -> None:
    put(engine, SHOP, "orders")
    surveyor.look()
    for path in ("/", "/queues/"):
        text = page(people.root.browser, path)
        assert text.replace(THEME, "").count("<script") == text.count('<script type="module" src=')
        assert " style=" not in text
        assert "<style" not in text
