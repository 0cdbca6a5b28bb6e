"""The overview page: who sees what, what it says when there is nothing to see, and when Redis or the pumps are away."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from django.test import Client

from queues.engine import Engine, PublishOptions, ack, consume, publish
from queues.models import Namespace, Pool, QueuePolicy
from queues.pools.ttl_cache import forget_recent
from tests.support.redis_servers import version_of
from tests.support.rows import in_one_test

from .people import BANK, SHOP, People
from .queue_pages.hostile import THEME
from .surveyor import Surveyor, now_of

pytestmark = pytest.mark.django_db(transaction=True)

MINUTE_MS = 60_000
PATHS = ("/", "/totals", "/overview/charts", "/queues/")


def put(
    engine: Engine, namespace: str, queue: str, *, jobs: int = 1, now_ms: int | None = None, **options: Any
) -> None:
    keys = engine.queue(namespace, queue)
    engine.run(publish(keys, [b"x"] * jobs, PublishOptions(**options), now_ms=now_ms))


def page(client: Client, path: str = "/", **headers: str) -> str:
    response = client.get(path, headers=headers)
    assert response.status_code == 200
    return response.content.decode()


def chart(client: Client, kind: str, shown: str = "1h") -> dict[str, list[Any]]:
    """The values of a chart by meaning."""
    series = json.loads(page(client, f"/overview/charts?range={shown}"))["charts"][kind]["series"]
    return {one["meaning"]: one["values"] for one in series}


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
        name: chart(person.browser, "backlog")["ready"][-1]
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
    assert people.bob.browser.get("/overview/charts").json()["charts"]["backlog"]["empty"] == "Redis does not answer"


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

    told = json.loads(page(people.alice.browser, "/overview/charts?range=15m"))

    times = told["x"]["values"]
    assert len(times) == 16
    assert times == sorted(times)
    assert {kind: one["y"]["unit"] for kind, one in told["charts"].items()} == {
        "throughput": "jobs/min",
        "backlog": "jobs",
        "wait": "ms",
        "run": "ms",
    }
    throughput, states = chart(people.alice.browser, "throughput", "15m"), chart(people.alice.browser, "backlog", "15m")
    assert (throughput["published"][-3], throughput["acked"][-3]) == (30, 4)
    assert throughput["published"][0] is None, "no pump surveyed it"
    assert (states["ready"][-1], states["working"][-1]) == (20, 6)


def test_waits_and_runs_are_told_by_percentiles_of_all_queues_together(
    engine: Engine, surveyor: Surveyor, people: People
) -> None:
    begin = now_of(engine) // MINUTE_MS * MINUTE_MS - 2 * MINUTE_MS
    for queue, jobs, wait_ms in (("orders", 19, 1_000), ("mails", 1, 30_000)):
        put(engine, SHOP, queue, jobs=jobs, now_ms=begin, ttl_ms=0)
        keys = engine.queue(SHOP, queue)
        taken = engine.run(consume(keys, ttr_ms=600_000, count=jobs, now_ms=begin + wait_ms)).jobs
        engine.run(ack(keys, [job.job_id for job in taken], now_ms=begin + wait_ms + 250))
    put(engine, BANK, "loans", now_ms=begin)
    surveyor.look(now_ms=begin + MINUTE_MS)

    for person in (people.alice, people.root):
        for shown in ("15m", f"1h&from={begin - 9 * MINUTE_MS}&to={begin + MINUTE_MS}"):
            waits, runs = chart(person.browser, "wait", shown), chart(person.browser, "run", shown)
            print(shown, person.user, waits, runs)
            place = next(place for place, value in enumerate(waits["p50"]) if value is not None)
            assert waits["p50"][place] == pytest.approx(1_000, rel=0.1)
            assert waits["p99"][place] == pytest.approx(30_000, rel=0.1)
            assert runs["p95"][place] == pytest.approx(250, rel=0.1)
    assert set(chart(people.charlie.browser, "wait", "15m")["p50"]) == {None}


def test_a_long_time_is_told_by_five_minutes_and_their_means(
    engine: Engine, surveyor: Surveyor, people: People
) -> None:
    begin = now_of(engine) // (5 * MINUTE_MS) * 5 * MINUTE_MS - 10 * MINUTE_MS
    put(engine, SHOP, "orders", jobs=31, now_ms=begin, ttl_ms=0)
    surveyor.look(now_ms=begin + MINUTE_MS)

    for shown, points in (("6h", 72), ("24h", 288)):
        throughput = chart(people.alice.browser, "throughput", shown)["published"]
        assert points <= len(throughput) <= points + 1, "and the running minute"
        assert 6.2 in throughput
        assert 31 in chart(people.alice.browser, "backlog", shown)["ready"]


def test_objectives_are_lines_of_the_chart_of_waits(engine: Engine, surveyor: Surveyor, people: People) -> None:
    for namespace, queue, seconds in ((SHOP, "orders", 30), (SHOP, "mails", 30), (SHOP, "", 900), (BANK, "loans", 7)):
        place = Namespace.objects.get(name=namespace)
        QueuePolicy.objects.create(namespace=place, queue=queue, objective_s=seconds)
    forget_recent()

    told = json.loads(page(people.alice.browser, "/overview/charts"))["charts"]

    assert told["wait"]["lines"] == [
        {"value": 30_000, "name": "objective 30 s: mails and 1 more"},
        {"value": 900_000, "name": "objective 15 min: shop"},
    ]
    chinese = people.alice.browser.get("/overview/charts", headers={"accept-language": "zh-hans"}).json()
    lines = chinese["charts"]["wait"]["lines"]
    assert [line["name"] for line in lines] == ["目标 30 秒：mails 及另外 1 个", "目标 15 分钟：shop"]


def test_sums_of_a_superuser_are_those_of_the_whole_pool(engine: Engine, surveyor: Surveyor, people: People) -> None:
    put(engine, SHOP, "orders", jobs=3)
    put(engine, BANK, "loans", jobs=4)
    surveyor.look()

    assert chart(people.root.browser, "backlog")["ready"][-1] == 7


@in_one_test(
    "query", ["range=0", "range=9999h", "range=", "from=1&to=x", "from=-1&to=1", "from=٣&to=٤", f"from=1&to={'9' * 99}"]
)
def test_a_time_that_cannot_be_read_is_the_usual_one(query: str, people: People) -> None:
    told = json.loads(page(people.alice.browser, f"/overview/charts?{query}"))

    assert len(told["x"]["values"]) == 60
    assert 'href="?range=1h" aria-current="true"' in page(people.alice.browser, f"/?{query}")


@pytest.mark.parametrize(("back_min", "length_min", "points"), [(600, 30, 30), (600, 0, 5), (10_000, 10_000, 288)])
def test_a_chosen_time_is_of_a_bounded_length(
    back_min: int, length_min: int, points: int, engine: Engine, people: People
) -> None:
    from_ms = now_of(engine) - back_min * MINUTE_MS
    query = f"from={from_ms}&to={from_ms + length_min * MINUTE_MS}"

    told = json.loads(page(people.alice.browser, f"/overview/charts?{query}"))
    text = page(people.alice.browser, f"/?{query}")

    assert len(told["x"]["values"]) == points
    if length_min == 30:
        assert f'data-from="{from_ms}" data-to="{from_ms + length_min * MINUTE_MS}"' in text
        assert f'/overview/charts?from={from_ms}&amp;to={from_ms + length_min * MINUTE_MS}" data-every="0"' in text


def test_the_charts_of_a_day_are_one_answer_of_a_bounded_size(
    engine: Engine, surveyor: Surveyor, people: People
) -> None:
    put(engine, SHOP, "orders")
    surveyor.look()

    assert len(people.alice.browser.get("/overview/charts?range=24h").content) < 60_000


def test_the_status_is_one_sentence(engine: Engine, surveyor: Surveyor, people: People) -> None:
    def status() -> str:
        found = re.search(r'<p class="status">(.*?)</p>', page(people.bob.browser))
        return found[1] if found else ""

    assert status() == "default: No pump has ever reported."
    put(engine, SHOP, "orders")
    surveyor.look()
    assert status() == "All is well: 1 ready, 0 working, 0/s acked."
    put(engine, SHOP, "mails", jobs=300, now_ms=now_of(engine) - 20_000)
    surveyor.look()
    assert status().startswith("mails: No active consumers: 300 jobs are ready, the oldest for ")


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
