"""Staff who are no superusers do over HTTP what they may do in the admin, and in their own namespaces only."""

from __future__ import annotations

import pytest

from queues.api.router import SUPERUSERS_ONLY, AuthKind, Route
from queues.api.routes import ROUTES
from tests.http.client import Client
from tests.http.service import Server, Site, site_fixtures
from tests.support.exposition import read_page
from tests.support.rows import in_one_test
from tests.support.waiting import wait_until

STAFF_ROUTES = [route for route in ROUTES if route.auth is AuthKind.STAFF]
GUARDED = [route for route in STAFF_ROUTES if route.permissions]
MINE, THEIRS = "mine", "theirs"
SCRIPT = f"""
from django.contrib.auth.models import Group, Permission, User
from queues.models import DEFAULT_POOL, Namespace, Pool
pool = Pool.objects.get(name=DEFAULT_POOL)
mine, theirs = (Namespace.objects.create(pool=pool, name=name) for name in ("{MINE}", "{THEIRS}"))
team = Group.objects.create(name="team")
mine.groups.add(team)
User.objects.create_user("powerless", password="x", is_staff=True).groups.add(team)
member = User.objects.create_user("member", password="x", is_staff=True)
member.groups.add(team)
member.user_permissions.set(Permission.objects.filter(content_type__app_label="queues"))
viewer = User.objects.create_user("viewer", password="x", is_staff=True)
viewer.groups.add(team)
viewer.user_permissions.set(Permission.objects.filter(codename="view_incident"))

from datetime import timedelta
from django.utils import timezone
from queues.models import IncidentKind
from queues.services.incidents.findings import Finding, Look
from queues.services.incidents.recording import record_look
now = timezone.now()
findings = tuple(
    Finding(kind=kind, pool="default", namespace=name, queue="q" if name else "", size=77, since=now, facts=facts)
    for kind, name, facts in (
        (IncidentKind.JOBS_DYING, "{MINE}", {{"dead": 77}}),
        (IncidentKind.JOBS_DYING, "{THEIRS}", {{"dead": 77}}),
        (IncidentKind.REDIS_UNUSABLE, "", {{"trouble": "redis-7.internal"}}),
    )
)
record_look(Look(pool="default", kinds=frozenset(IncidentKind), findings=findings), now=now)
"""


site, server = site_fixtures("staff", with_pages=True)
"""Of these tests alone: `/metrics` shows the queues with the most jobs, and others make many."""


@pytest.fixture(scope="module")
def people(site: Site, server: Server) -> None:
    site.manage("shell", "-c", SCRIPT)


@pytest.fixture
def member(people: None, server: Server) -> Client:
    """Has every permission of the app, and one of the two namespaces."""
    return Client(url=server.url, basic="member:x")


@pytest.fixture
def powerless(people: None, server: Server) -> Client:
    """The same namespace, but no permission."""
    return Client(url=server.url, basic="powerless:x")


def path_of(route: Route, namespace: str, token: str = "x") -> str:
    return route.path.replace("{namespace}", namespace).replace("{token}", token) + "?description=x&status=disable"


@in_one_test("route", GUARDED, title=lambda route: route.name)
def test_staff_without_the_permission_are_refused(powerless: Client, route: Route) -> None:
    reply = powerless.call(route.method, path_of(route, MINE), '{"read": 1, "interval": 1}')

    assert (reply.status, reply.json) == (403, {"error": "permission denied"})


@pytest.mark.parametrize("path", ["/metrics", "/version"])
def test_any_staff_may_watch(powerless: Client, path: str) -> None:
    assert powerless.call("GET", path).status == 200


def test_only_the_routes_that_any_staff_may_use_need_no_permission() -> None:
    free = {route.path for route in STAFF_ROUTES if not route.permissions}

    assert free == {"/metrics", "/version"}


@pytest.mark.parametrize("route", [one for one in GUARDED if SUPERUSERS_ONLY in one.permissions], ids=lambda r: r.name)
def test_what_concerns_everybody_is_for_superusers(member: Client, staff: Client, route: Route) -> None:
    assert member.call(route.method, path_of(route, MINE)).status == 403
    assert staff.call(route.method, path_of(route, MINE)).status == 200


@in_one_test("route", [one for one in GUARDED if "{namespace}" in one.path], title=lambda route: route.name)
def test_another_namespace_is_as_good_as_none(member: Client, staff: Client, route: Route) -> None:
    token = staff.call("POST", f"/token/{THEIRS}?description=x").json["token"]
    before = staff.call("GET", f"/token/{THEIRS}").json
    body = '{"read": 1, "interval": 1}'

    replies = [
        member.call(route.method, path_of(route, THEIRS, token), body),
        member.call(route.method, path_of(route, THEIRS, f"default:{token}"), body),
        member.call(route.method, path_of(route, "nowhere", token), body),
    ]

    assert [(reply.status, reply.json) for reply in replies] == [(404, {"error": "namespace not found"})] * 3
    assert staff.call("GET", f"/token/{THEIRS}").json == before
    assert staff.call("GET", f"/token/{THEIRS}/{token}/limit").status == 404
    assert Client(url=staff.url, namespace=THEIRS, token=token).call("GET", "/api/{ns}/q/size").status == 200


def test_a_secret_that_names_a_pool_does_not_lead_elsewhere(member: Client) -> None:
    reply = member.call("POST", f"/token/{MINE}?description=x&pool=default&token=elsewhere:a-secret-of-my-own-choice")

    assert (reply.status, reply.json) == (404, {"error": "namespace not found"})


def test_members_manage_the_tokens_of_their_namespace(member: Client) -> None:
    token = member.call("POST", f"/token/{MINE}?description=checkout").json["token"]
    limit = f"/token/{MINE}/{token}/limit"

    assert "checkout" in member.call("GET", f"/token/{MINE}").json["tokens"].values()
    assert member.call("POST", limit, '{"read": 1, "interval": 1}').status == 201
    assert member.call("PUT", limit, '{"read": 2, "interval": 1}').status == 200
    assert member.call("GET", limit).json["read"] == 2
    assert member.call("DELETE", limit).status == 200
    assert member.call("DELETE", f"/token/{MINE}/{token}").status == 204


def test_lists_show_members_their_namespaces_only(member: Client, staff: Client) -> None:
    for name in (MINE, THEIRS):
        token = staff.call("POST", f"/token/{name}?description=x").json["token"]
        assert staff.call("POST", f"/token/{name}/{token}/limit", '{"read": 1, "interval": 1}').status == 201

    assert {one["namespace"] for one in member.call("GET", "/limits").json} == {MINE}
    assert {MINE, THEIRS} <= {one["namespace"] for one in staff.call("GET", "/limits").json}
    assert list(member.call("GET", "/info").json["namespaces"]) == [MINE]
    assert {MINE, THEIRS} <= set(staff.call("GET", "/info").json["namespaces"])
    assert member.call("GET", "/pools").status == 200


def test_metrics_show_members_their_namespaces_only(server: Server, member: Client, staff: Client) -> None:
    limit = '{"write": 1, "interval": 3600}'
    for name in (MINE, THEIRS):
        token = staff.call("POST", f"/token/{name}?description=x").json["token"]
        assert staff.call("POST", f"/token/{name}/{token}/limit", limit).status == 201
        client = Client(url=server.url, namespace=name, token=token)
        client.publish("watched")
        assert client.call("PUT", "/api/{ns}/watched").status == 429

    def shown(reader: Client) -> dict[str, set[str]]:
        """By metric that has them: which namespaces are on the page."""
        page = read_page(reader.call("GET", "/metrics").body.decode())
        found = {
            name: {dict(labels)["namespace"] for _, labels in family.samples if "namespace" in dict(labels)}
            for name, family in page.items()
        }
        return {name: namespaces for name, namespaces in found.items() if namespaces}

    names = ("taskq_jobs", "taskq_jobs_published_total", "taskq_http_rate_limited_total", "taskq_queue_paused")
    wait_until(lambda: all({MINE, THEIRS} <= shown(staff)[name] for name in names), or_fail="not all", timeout_s=30)

    assert set.union(*shown(member).values()) == {MINE}
    assert set(names) <= shown(member).keys()
    assert "taskq_redis_up" in member.call("GET", "/metrics").body.decode()


def incidents(client: Client, query: str = "") -> dict[str, int]:
    """Numbers of the open incidents that somebody sees, by namespace."""
    reply = client.call("GET", f"/incident?{query}")
    assert reply.status == 200, reply.json
    return {one["namespace"]: one["incident"] for one in reply.json["incidents"]}


def test_incidents_are_those_of_the_own_namespaces_and_of_their_pools(member: Client, staff: Client) -> None:
    assert {MINE, THEIRS, ""} <= incidents(staff).keys()
    found = incidents(member)
    assert found.keys() == {MINE, ""}
    assert incidents(member, "kind=jobs_dying").keys() == {MINE}
    assert incidents(member, "state=resolved") == {}
    assert len(incidents(staff, "limit=1")) == 1

    mine = member.call("GET", f"/incident/{found[MINE]}").json
    assert (mine["size"], mine["facts"], mine["timeline"][0]["change"]) == (77, {"dead": 77}, "opened")
    pools = incidents(member, "kind=redis_unusable&state=all")[""]
    of_pool = member.call("GET", f"/incident/{pools}").json
    assert (of_pool["size"], of_pool["facts"]) == (0, {}), "of others, and where Redis is"
    assert staff.call("GET", f"/incident/{pools}").json["facts"] == {"trouble": "redis-7.internal"}


@in_one_test("query", ["state=gone", "kind=flood", "severity=high", "limit=0", "limit=201", "before=x"])
def test_a_bad_filter_of_incidents_is_refused(member: Client, query: str) -> None:
    assert member.call("GET", f"/incident?{query}").status == 400


def test_who_may_operate_acknowledges_an_incident(member: Client, staff: Client, server: Server) -> None:
    theirs, mine = incidents(staff)[THEIRS], incidents(member)[MINE]
    viewer = Client(url=server.url, basic="viewer:x")

    assert member.call("POST", f"/incident/{theirs}/acknowledge").status == 404
    pools = incidents(member, "kind=redis_unusable&state=all")[""]
    assert member.call("POST", f"/incident/{pools}/acknowledge").status == 403
    assert viewer.call("POST", f"/incident/{mine}/acknowledge").status == 403
    assert member.call("POST", f"/incident/{mine}/acknowledge", '{"note": 7}').status == 400
    assert member.call("POST", f"/incident/{mine}/acknowledge", '{"note": "on it"}').status == 204
    assert member.call("POST", f"/incident/{mine}/notes", '{"note": ""}').status == 400
    assert member.call("POST", f"/incident/{mine}/notes", '{"note": "mended"}').status == 204

    shown = viewer.call("GET", f"/incident/{mine}").json
    assert shown["acknowledged_by"] == "member"
    assert [(one["change"], one["note"]) for one in shown["timeline"]] == [
        ("opened", ""),
        ("acknowledged", "on it"),
        ("noted", "mended"),
    ]
    assert member.call("DELETE", f"/incident/{mine}/acknowledge").status == 204
    assert viewer.call("GET", f"/incident/{mine}").json["acknowledged_by"] is None


@pytest.mark.parametrize("number", ["0", "x", "99999999", "9" * 30])
def test_an_incident_that_is_not_there_is_not_found(staff: Client, number: str) -> None:
    reply = staff.call("GET", f"/incident/{number}")

    assert (reply.status, reply.json) == (404, {"error": "incident not found"})


def test_open_incidents_are_counted_in_the_metrics(member: Client, staff: Client) -> None:
    sample = 'taskq_incidents_open{pool="default",namespace="%s",kind="jobs_dying",severity="critical"} 1'

    assert sample % THEIRS in staff.call("GET", "/metrics").body.decode()
    for_member = member.call("GET", "/metrics").body.decode()
    assert sample % MINE in for_member
    assert THEIRS not in for_member
