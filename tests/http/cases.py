"""The contract as a table: for each route, requests and the replies that they must get."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any

from tests.http.case import Case, Prepare, case, error, whole
from tests.http.client import Client
from tests.http.workflow_cases import WORKFLOW_ROUTES

MIB = 1024 * 1024

ID = re.compile(r"[0-9A-HJKMNP-TV-Z]{26}\Z")
PUBLISHED = {"msg": "published", "job_id": ID}
NAMES = {"namespace": "demo", "queue": re.compile(r"q\d+\Z")}


def is_bool(value: Any) -> bool:
    return isinstance(value, bool)


def job(data: str = "am9i", **changes: Any) -> dict[str, Any]:
    """A job as peek answers it; `data`: "job"."""
    return {
        **NAMES,
        "job_id": ID,
        "data": data,
        "ttl": 86400,
        "elapsed_ms": whole(0, 20_000),
        "remain_tries": 1,
        "attributes": None,
        **changes,
    }


def new_job(data: str = "am9i", **changes: Any) -> dict[str, Any]:
    """A job as consume answers it."""
    return {"msg": "new job", **job(data), "remain_tries": 0, "attempt": 1, "tries": 1, **changes}


def ready(client: Client, queue: str) -> dict[str, str]:
    return {"id": client.publish(queue)}


def keyed(client: Client, queue: str) -> dict[str, str]:
    return {"id": client.publish(queue, key="order-7")}


def three(client: Client, queue: str) -> dict[str, str]:
    return {f"id{n}": client.publish(queue, b"job") for n in range(3)}


def two_of_acme(client: Client, queue: str) -> dict[str, str]:
    return {f"id{n}": client.publish(queue, limit_key="acme") for n in range(2)}


def two_mails(client: Client, queue: str) -> dict[str, str]:
    client.publish(queue, group="mails", delay=60)
    return {"id1": client.publish(queue, group="mails"), "id2": client.publish(queue, group="mails")}


def batch_of_two(client: Client, queue: str) -> dict[str, str]:
    ids = two_mails(client, queue)
    assert client.call("POST", f"/api/{{ns}}/{queue}/groups/flush?group=mails").status == 200
    return ids


def working(client: Client, queue: str) -> dict[str, str]:
    client.publish(queue, tries=2, retention=60)
    return {"id": client.take(queue)["job_id"]}


def working_without_retention(client: Client, queue: str) -> dict[str, str]:
    client.publish(queue)
    return {"id": client.take(queue)["job_id"]}


def dead(client: Client, queue: str) -> dict[str, str]:
    job_id = client.publish(queue)
    client.take(queue)
    reply = client.call("POST", f"/api/{{ns}}/{queue}/job/{job_id}/fail")
    assert reply.json["state"] == "dead"
    return {"id": job_id}


def blocked(client: Client, queue: str) -> dict[str, str]:
    return {"id": client.publish(queue, depends_on="other:a%252Cb,other:c")}


def open_job(client: Client, queue: str) -> dict[str, str]:
    return {"id": client.publish(queue, depends_on="other:c", dependencies="open")}


def two_dead(client: Client, queue: str) -> dict[str, str]:
    return {"id1": dead(client, queue)["id"], "id2": dead(client, queue)["id"]}


def completed(client: Client, queue: str) -> dict[str, str]:
    ids = working(client, queue)
    client.call("DELETE", f"/api/{{ns}}/{queue}/job/{ids['id']}?attempt=1", b"\x00\xffdone")
    return ids


def with_attributes(client: Client, queue: str) -> dict[str, str]:
    headers = {"Enable-Job-Version": "YES", "Job-Attr-Trace-ID": "abc", "Job-Attr-" + "n" * 40: "v" * 200}
    assert client.call("PUT", f"/api/{{ns}}/{queue}", b"job", headers).status == 201
    return {}


ATTRIBUTES = {"trace-id": "abc", "n" * 32: "v" * 128}
UNKNOWN = "01ARZ3NDEKTSV4RRFFQ69G5FAV"
Q = "/api/{ns}/{queue}"
BAD_NUMBERS = ("-1", "x", "", "1.5", "4294967296", "99999999999999999999", "0x10", "%2B1", "1e3", "%D9%A1")


def bad(route: str, request: str, parameter: str, *values: str, body: str | None = None) -> list[Case]:
    """Each value is refused with `invalid PARAMETER`."""
    return [
        Case(
            route=route,
            title=f"{parameter}={value!r}",
            request=f"{request}?{parameter}={value}",
            body=body,
            status=400,
            want=error(f"invalid {parameter}"),
        )
        for value in values
    ]


NOT_DECIMALS = tuple(value for value in BAD_NUMBERS if value != "1.5")


def bad_publish_options(route: str, request: str, body: str) -> list[Case]:
    return [
        *bad(route, request, "delay", *NOT_DECIMALS, "1.", ".5", "1,5", body=body),
        *bad(route, request, "ttl", *BAD_NUMBERS, body=body),
        *bad(route, request, "tries", *BAD_NUMBERS, "65536", body=body),
        *bad(route, request, "priority", "101", "-101", "x", "", "1.5", body=body),
        *bad(route, request, "at", "x", "", "-1", "2026-01-01T00:00:00", "2026-13-01T00:00:00Z", body=body),
        *bad(route, request, "backoff", "x", "", "fixed", "fixed:0", "exponential:1:2:3", body=body),
        *bad(route, request, "retention", *BAD_NUMBERS, body=body),
        *[
            Case(route=route, title=title, request=f"{request}?{query}", body=body, status=400, want=error(words))
            for title, query, words in (
                ("no tries", "tries=0", "tries shouldn't be zero"),
                ("ttl below delay", "ttl=5&delay=6", "ttl is shorter than delay"),
                ("ttl below a decimal delay", "ttl=5&delay=5.001", "ttl is shorter than delay"),
                ("ttl below at", "ttl=5&at=4000000000", "ttl is shorter than delay"),
                ("at and delay", "at=4000000000&delay=0", "at and delay exclude each other"),
                ("the first fault decides", "delay=x&ttl=x&tries=x", "invalid delay"),
                ("a limit key that is not printable", "limit_key=a%09b", "invalid limit_key"),
                ("an empty limit key", "limit_key=", "invalid limit_key"),
                ("a limit key that is too long", "limit_key=" + "k" * 65, "invalid limit_key"),
                ("a group and a result that is waited for", "group=g&wait=1", "wait and group exclude each other"),
                ("an empty group", "group=", "invalid group"),
                ("a group that is not printable", "group=a%09b", "invalid group"),
                ("a group that is too long", "group=" + "g" * 256, "invalid group"),
                ("a group and a limit key", "group=g&limit_key=k", "limit_key and group exclude each other"),
                ("a group and dependencies", "group=g&depends_on=q:a", "depends_on and group exclude each other"),
                ("a dependency without a name", "depends_on=", 'invalid depends_on ""'),
                ("a dependency that is no id", "depends_on=a", 'invalid depends_on "a"'),
                ("one of several is none", f"depends_on=q/{UNKNOWN},q/x", 'invalid depends_on "q/x"'),
                ("an empty one among several", "depends_on=:a,,:b", 'invalid depends_on ""'),
                ("a queue that is none", "depends_on=q%20q:a", 'invalid depends_on "q q:a"'),
                ("a key with a line end", "depends_on=q:a%0A", 'invalid depends_on "q:a\n"'),
                (
                    "more dependencies than there may be",
                    "depends_on=" + ",".join(f":{number}" for number in range(1_001)),
                    "too many dependencies, cannot exceed 1000",
                ),
                (
                    "on_dependency_failure of no dependency",
                    "on_dependency_failure=fail",
                    "on_dependency_failure needs depends_on",
                ),
                ("dependencies that are not open", "dependencies=closed", "invalid dependencies"),
                ("a policy that is none", "depends_on=:a&on_dependency_failure=x", "invalid on_dependency_failure"),
            )
        ],
    ]


ENDED = {"job_id": ID, "duplicate": True}


def keyed_job_that_is(end: str) -> Prepare:
    """A job with the key `k` that has ended."""

    def prepare(client: Client, queue: str) -> dict[str, str]:
        job_id = client.publish(queue, key="k", retention=0 if end == "gone" else 60)
        client.take(queue)
        path = f"/api/{{ns}}/{queue}/job/{job_id}"
        if end == "dead":
            client.call("POST", f"{path}/fail", '{"error": "no such order"}')
        else:
            client.call("DELETE", path, b"\x00\xffdone" if end == "done" else None)
        return {"id": job_id}

    return prepare


def waiting_publishes(route: str, request: str) -> list[Case]:
    return [
        *[
            Case(
                route=route,
                title=f"with wait, of a job that is {end}",
                request=f"{request}?key=k&wait=20",
                body="job",
                status=200,
                want={"msg": end.split(",")[0], **ENDED, **more},
                prepare=keyed_job_that_is(end),
            )
            for end, more in (
                ("done", {"result": "AP9kb25l"}),
                ("done, without a result", {"result": None}),
                ("dead", {"error": "no such order"}),
                ("gone", {}),
            )
        ],
        Case(
            route=route,
            title="with wait, and nobody works on it",
            request=f"{request}?wait=1",
            body="job",
            status=202,
            want={"msg": "published", "job_id": ID, "duplicate": False, "state": "ready"},
            prepare=ready,
        ),
        case(route, "wait=0", f"{request}?wait=0", 201, PUBLISHED, body="x", prepare=ready),
        *[replace(case, prepare=ready) for case in bad(route, request, "wait", *BAD_NUMBERS, "601", body="job")],
    ]


def bad_key_options(route: str, request: str) -> list[Case]:
    return [
        Case(
            route=route,
            title="a job that waits for itself",
            request=f"{request}?key=k&depends_on=:k",
            body="job",
            status=400,
            want=error(
                re.compile(r"depends_on makes a cycle: q\d+:k → q\d+:k\Z")
                if route == "publish.publish"
                else "a job that is republished has no depends_on"
            ),
        ),
        *bad(route, request, "key", "", "k" * 256, body="job"),
        case(
            route,
            "own key",
            f"{request}?key=%00batch",
            400,
            error("invalid key: it begins with a zero byte"),
            body="job",
        ),
        case(route, "key_ttl without key", f"{request}?key_ttl=5", 400, error("key_ttl needs key"), body="job"),
        case(route, "key_ttl of 0", f"{request}?key=k&key_ttl=0", 400, error("invalid key_ttl"), body="job"),
        *[
            Case(route=route, title=query, request=f"{request}?{query}", body="job", status=400, want=error(words))
            for query, words in (
                ("key=k&key_mode=x", "invalid key_mode"),
                ("key=k&key_mode=", "invalid key_mode"),
                ("key_mode=until_done", "key_mode needs key"),
                ("key=k&key_mode=replace&key_max_wait=x", "invalid key_max_wait"),
                ("key=k&key_mode=replace&key_max_wait=-1", "invalid key_max_wait"),
                ("key=k&key_mode=until_done&key_max_wait=5", "key_max_wait needs key_mode=replace"),
                ("key=k&key_mode=until_done&depends_on=:a", "key_mode and depends_on exclude each other"),
            )
        ],
    ]


PUBLISH = [
    Case(route="publish.publish", title="a job", request=f"PUT {Q}", body="job", status=201, want=PUBLISHED),
    Case(route="publish.publish", title="an empty job", request=f"PUT {Q}", status=201, want=PUBLISHED),
    Case(
        route="publish.publish",
        title="bytes that are not UTF-8",
        request=f"PUT {Q}",
        body=bytes(range(256)),
        headers={"Content-Type": "application/json"},
        status=201,
        want=PUBLISHED,
    ),
    case("publish.publish", "exactly 1 MiB", f"PUT {Q}", 201, PUBLISHED, body=b"x" * MIB),
    case("publish.publish", "1 MiB and one byte", f"PUT {Q}", 413, error("body too large"), body=b"x" * (MIB + 1)),
    Case(
        route="publish.publish",
        title="largest numbers",
        request=f"PUT {Q}?delay=4294967295&ttl=4294967295&tries=65535&retention=4294967295",
        body="job",
        status=201,
        want=PUBLISHED,
    ),
    case("publish.publish", "for ever, whatever the delay", f"PUT {Q}?delay=90000&ttl=0", 201, PUBLISHED, body="job"),
    *[
        Case(route="publish.publish", title=query, request=f"PUT {Q}?{query}", body="job", status=201, want=PUBLISHED)
        for query in (
            "delay=0.25",
            "priority=-100",
            "priority=100",
            "at=1",
            "at=2026-01-01T00:00:00%2B01:00",
            "at=2026-01-01T00:00:00+01:00",
            "at=2026-01-01T00:00:00Z",
            "at=4000000000.5&ttl=0",
            "backoff=exponential:1:60",
            "backoff=sidekiq",
            "key=%C3%A9&key_ttl=5",
            "key=k&key_mode=window",
            "key=k&key_mode=until_done",
            "key=k&key_mode=until_started&key_ttl=5",
            "key=k&key_mode=replace&key_max_wait=1.5&delay=1",
            f"depends_on={UNKNOWN},:a,other:b%252Cc,other/{UNKNOWN}",
            "depends_on=:a&key=b&on_dependency_failure=continue",
            "dependencies=open",
            "dependencies=open&key=b&on_dependency_failure=fail",
            "unknown=parameter",
            "tries=2&tries=x",
        )
    ],
    Case(
        route="publish.publish",
        title="the same key again",
        request=f"PUT {Q}?key=k",
        body="other",
        status=200,
        want={"msg": "duplicate", "job_id": ID},
        prepare=lambda client, queue: {"id": client.publish(queue, key="k")},
    ),
    Case(
        route="publish.publish",
        title="17 attributes",
        request=f"PUT {Q}",
        headers={"Enable-Job-Version": "yes", **{f"Job-Attr-{n}": "v" for n in range(17)}},
        status=400,
        want=error("too many attributes, cannot exceed 16"),
    ),
    Case(
        route="publish.publish",
        title="17 attributes that nobody asked for",
        request=f"PUT {Q}",
        headers={f"Job-Attr-{n}": "v" for n in range(17)},
        status=201,
        want=PUBLISHED,
    ),
    case("publish.publish", "once", f"PUT {Q}?once=a&key=k", 201, PUBLISHED, body="job"),
    Case(
        route="publish.publish",
        title="once, and a key that is taken",
        request=f"PUT {Q}?once=a&key=k",
        body="job",
        status=200,
        want={"msg": "duplicate", "job_id": ID},
        prepare=lambda client, queue: {"id": client.publish(queue, key="k")},
    ),
    *bad("publish.publish", f"PUT {Q}", "once", "", "x" * 201, body="job"),
    *bad_publish_options("publish.publish", f"PUT {Q}", "job"),
    *bad_key_options("publish.publish", f"PUT {Q}"),
    *waiting_publishes("publish.publish", f"PUT {Q}"),
]

IDS_OF_TWO = {"msg": "published", "job_ids": [ID, ID]}
PUBLISH_BULK = [
    case("publish.publish_bulk", "two", f"PUT {Q}/bulk", 201, IDS_OF_TWO, body='[{"a": 1}, 2]'),
    *[
        case("publish.publish_bulk", title, f"PUT {Q}/bulk", 400, error(words), body=body)
        for title, body, words in (
            ("an object", "{}", "request body should be an array of objects"),
            ("nothing", "", "request body should be an array of objects"),
            ("half an array", "[1,", "request body should be an array of objects"),
            ("two arrays", "[1][2]", "request body should be an array of objects"),
            ("no JSON", "[NaN]", "request body should be an array of objects"),
            ("empty", "[ ]", "no jobs"),
            ("1001", f"[{','.join('1' * 1001)}]", "too many jobs"),
        )
    ],
    Case(
        route="publish.publish_bulk",
        title="1000",
        request=f"PUT {Q}/bulk",
        body=f"[{','.join('1' * 1000)}]",
        status=201,
        want={"msg": "published", "job_ids": [ID] * 1000},
    ),
    Case(
        route="publish.publish_bulk",
        title="an element of 1 MiB and a byte",
        request=f"PUT {Q}/bulk",
        body=f'[1,"{"x" * (MIB - 1)}"]',
        status=413,
        want=error("job too large"),
    ),
    case("publish.publish_bulk", "65 MiB", f"PUT {Q}/bulk", 413, error("body too large"), body=f'["{"x" * 65 * MIB}"]'),
    case("publish.publish_bulk", "key", f"PUT {Q}/bulk?key=k", 400, error("key fits one job only"), body="[1]"),
    case("publish.publish_bulk", "once", f"PUT {Q}/bulk?once=a", 400, error("once fits one job only"), body="[1]"),
    case("publish.publish_bulk", "wait", f"PUT {Q}/bulk?wait=1", 400, error("wait fits one job only"), body="[1]"),
    *bad_publish_options("publish.publish_bulk", f"PUT {Q}/bulk", "[1]"),
]

REPUBLISH = [
    case("publish.republish", "in place of a job", f"PUT {Q}/job/{{id}}", 201, PUBLISHED, body="new", prepare=working),
    case("publish.republish", "in place of none", f"PUT {Q}/job/{UNKNOWN}", 201, PUBLISHED, body="new"),
    case("publish.republish", "in place of something odd", f"PUT {Q}/job/%20%ff%0A%C3%A9", 201, PUBLISHED, body="new"),
    Case(
        route="publish.republish",
        title="the same key again",
        request=f"PUT {Q}/job/{UNKNOWN}?key=k",
        status=200,
        want={"msg": "duplicate", "job_id": ID},
        prepare=lambda client, queue: {"id": client.publish(queue, key="k")},
    ),
    Case(
        route="publish.republish",
        title="1 MiB and one byte",
        request=f"PUT {Q}/job/{UNKNOWN}",
        body=b"x" * (MIB + 1),
        status=413,
        want=error("body too large"),
    ),
    *bad_publish_options("publish.republish", f"PUT {Q}/job/{UNKNOWN}", "job"),
    Case(
        route="publish.republish",
        title="once",
        request=f"PUT {Q}/job/{UNKNOWN}?once=a",
        body="job",
        status=400,
        want=error("once does not fit a publish in place of another job"),
    ),
    *waiting_publishes("publish.republish", f"PUT {Q}/job/{UNKNOWN}"),
    *bad_key_options("publish.republish", f"PUT {Q}/job/{UNKNOWN}"),
]

NO_JOB = {"msg": "no job available"}
CONSUME = [
    Case(route="consume.consume", title="a job", request=f"GET {Q}", status=200, want=new_job(), prepare=ready),
    Case(
        route="consume.consume",
        title="count of 1 is an object",
        request=f"GET {Q}?count=1&ttr=4294967295&freeze_tries=false",
        status=200,
        want=new_job(),
        prepare=ready,
    ),
    case("consume.consume", "count of 2 is an array", f"GET {Q}?count=2", 200, [new_job(), new_job()], prepare=three),
    case("consume.consume", "as many as there are", f"GET {Q}?count=1000&timeout=5", 200, [new_job()], prepare=ready),
    Case(
        route="consume.consume",
        title="an array of queues in order",
        request="GET /api/{ns}/{queue}b,,{queue},{queue}b?count=3",
        status=200,
        want=[new_job(queue=re.compile(r"q\d+b")), new_job()],
        prepare=lambda client, queue: {"a": client.publish(queue), "b": client.publish(queue + "b")},
    ),
    Case(
        route="consume.consume",
        title="a job that burns no try",
        request=f"GET {Q}?freeze_tries=true",
        status=200,
        want=new_job(remain_tries=1),
        prepare=ready,
    ),
    Case(
        route="consume.consume",
        title="a job for ever",
        request=f"GET {Q}",
        status=200,
        want=new_job(ttl=0),
        prepare=lambda client, queue: {"id": client.publish(queue, ttl=0)},
    ),
    Case(
        route="consume.consume",
        title="a job with attributes",
        request=f"GET {Q}",
        status=200,
        want=new_job(attributes=ATTRIBUTES),
        prepare=with_attributes,
    ),
    Case(route="consume.consume", title="nothing", request=f"GET {Q}", status=404, want=NO_JOB),
    case("consume.consume", "nothing after a second", f"GET {Q}?timeout=1", 404, NO_JOB),
    case("consume.consume", "nothing in either", f"GET {Q},{{queue}}b?count=2", 404, NO_JOB),
    *bad("consume.consume", f"GET {Q}", "ttr", *BAD_NUMBERS, "0"),
    *bad("consume.consume", f"GET {Q}", "timeout", *BAD_NUMBERS, "601"),
    *bad("consume.consume", f"GET {Q}", "count", *BAD_NUMBERS, "0", "1001"),
    Case(
        route="consume.consume",
        title="freeze_tries that is no boolean",
        request=f"GET {Q}?freeze_tries=abc",
        status=200,
        want=new_job(remain_tries=0),
        prepare=ready,
    ),
    case("consume.consume", "only commas", "GET /api/{ns}/,,", 400, error("invalid queue name(s)")),
    Case(
        route="consume.consume",
        title="65 queues",
        request="GET /api/{ns}/" + ",".join(f"q{n}" for n in range(65)),
        status=400,
        want=error("invalid queue name(s)"),
    ),
    Case(
        route="consume.consume",
        title="one bad name of several",
        request=f"GET {Q},_b",
        status=400,
        want=error("queue name contains forbidden characters"),
    ),
]

LOST = error("lease lost")
NOT_FOUND = error("job not found")
FINISH = [
    Case(route="finish.ack", title="a working job", request=f"DELETE {Q}/job/{{id}}", status=204, prepare=working),
    Case(route="finish.ack", title="a ready job", request=f"DELETE {Q}/job/{{id}}", status=204, prepare=ready),
    Case(route="finish.ack", title="no job", request=f"DELETE {Q}/job/{UNKNOWN}", status=204),
    Case(route="finish.ack", title="not even an id", request=f"DELETE {Q}/job/%2F%20%ff", status=204),
    Case(
        route="finish.ack",
        title="by its attempt, with a result",
        request=f"DELETE {Q}/job/{{id}}?attempt=1",
        body=b"\xff\x00",
        status=204,
        prepare=working,
    ),
    case("finish.ack", "by another attempt", f"DELETE {Q}/job/{{id}}?attempt=2", 409, LOST, prepare=working),
    Case(
        route="finish.ack",
        title="a body of 1 MiB and a byte that nobody keeps",
        request=f"DELETE {Q}/job/{{id}}",
        body=b"x" * (MIB + 1),
        status=204,
        prepare=working_without_retention,
    ),
    Case(
        route="finish.ack",
        title="a result of 1 MiB and a byte",
        request=f"DELETE {Q}/job/{{id}}",
        body=b"x" * (MIB + 1),
        status=413,
        want=error("result too large"),
        prepare=working,
    ),
    *bad("finish.ack", f"DELETE {Q}/job/{UNKNOWN}", "attempt", *BAD_NUMBERS, "0"),
    Case(
        route="finish.ack_many",
        title="of every sort",
        request=f"POST {Q}/ack",
        body='{"jobs": [{"id": "{id}", "attempt": 2}, {"id": "{id}", "attempt": 1, "result": "/wA="}, '
        f'{{"id": "{UNKNOWN}"}}, {{"id": "\\u00e9", "result": ""}}]}}',
        status=200,
        want={"outcomes": ["lost", "acked", "missing", "missing"]},
        prepare=working,
    ),
    case(
        "finish.ack_many", "2 MiB and a byte", f"POST {Q}/ack", 413, error("body too large"), body=b"x" * (2 * MIB + 1)
    ),
    *[
        case("finish.ack_many", body[:60], f"POST {Q}/ack", 400, error(words), body=body)
        for body, words in (
            ("", "request body should be an object with jobs"),
            ("[]", "request body should be an object with jobs"),
            ("{", "request body should be an object with jobs"),
            ('{"jobs": {}}', "request body should be an object with jobs"),
            ('{"jobs": ["x"]}', "request body should be an object with jobs"),
            ('{"jobs": []}', "no jobs"),
            ('{"jobs": [' + ",".join(['{"id": "x"}'] * 1001) + "]}", "too many jobs"),
            ('{"jobs": [' + ",".join(["[]"] * 4000) + "]}", "too many values"),
            ('{"jobs": [' + ",".join(["{}"] * 3000) + "]}", "too many jobs"),
            ('{"jobs": [{"attempt": 1}]}', "invalid id"),
            ('{"jobs": [{"id": ""}]}', "invalid id"),
            ('{"jobs": [{"id": 1}]}', "invalid id"),
            ('{"jobs": [{"id": "x", "attempt": 0}]}', "invalid attempt"),
            ('{"jobs": [{"id": "x", "attempt": true}]}', "invalid attempt"),
            ('{"jobs": [{"id": "x", "attempt": 4294967296}]}', "invalid attempt"),
            ('{"jobs": [{"id": "x", "attempt": "1"}]}', "invalid attempt"),
            ('{"jobs": [{"id": "x", "result": 1}]}', "invalid result"),
            ('{"jobs": [{"id": "x", "result": "a"}]}', "invalid result"),
            ('{"jobs": [{"id": "x", "result": "é"}]}', "invalid result"),
        )
    ],
    case("workers.cancel_job", "a ready job", f"POST {Q}/job/{{id}}/cancel", 200, {"state": "ready"}, prepare=ready),
    case(
        "workers.cancel_job", "a working job", f"POST {Q}/job/{{id}}/cancel", 200, {"state": "working"}, prepare=working
    ),
    case("workers.cancel_job", "a dead job", f"POST {Q}/job/{{id}}/cancel", 200, {"state": "dead"}, prepare=dead),
    case("workers.cancel_job", "no job", f"POST {Q}/job/{UNKNOWN}/cancel", 404, NOT_FOUND),
    *[
        case(
            "jobs.add_dependencies",
            title,
            f"POST {Q}/job/{{id}}/dependencies",
            status,
            want,
            body=body,
            prepare=prepare,
        )
        for title, body, status, want, prepare in (
            (
                "a job, a key, and one that is known",
                f'{{"depends_on": ["{UNKNOWN}", "other:a,b%", "other:c"]}}',
                200,
                {"state": "blocked", "waits_for_total": 3},
                open_job,
            ),
            ("none", '{"depends_on": []}', 400, error("no dependencies"), open_job),
            ("no list", '{"depends_on": ":a"}', 400, error("invalid depends_on"), open_job),
            ("no body", "", 400, error("invalid depends_on"), open_job),
            ("what is no name", '{"depends_on": [":a", 7]}', 400, error("invalid depends_on"), open_job),
            ("what is no name of a job", '{"depends_on": [":a", "x"]}', 400, error('invalid depends_on "x"'), open_job),
            ("a list", '[":a"]', 400, error("request body should be an object"), open_job),
            ("too many values", "[" + "0," * 20_000 + "0]", 400, error("too many values"), open_job),
            (
                "too many",
                json.dumps({"depends_on": [f":{number}" for number in range(1_001)]}),
                400,
                error("too many dependencies, cannot exceed 1000"),
                open_job,
            ),
            ("a job that is closed", '{"depends_on": [":a"]}', 409, error("job takes no more dependencies"), blocked),
            (
                "a job that is not blocked",
                '{"depends_on": [":a"]}',
                409,
                error("job takes no more dependencies"),
                ready,
            ),
        )
    ],
    Case(
        route="jobs.add_dependencies",
        title="a cycle",
        request=f"POST {Q}/job/{{id}}/dependencies",
        body='{"depends_on": [":k"]}',
        status=400,
        want=error(re.compile(r"depends_on makes a cycle: q\d+:k → q\d+:k\Z")),
        prepare=lambda client, queue: {"id": client.publish(queue, key="k", dependencies="open")},
    ),
    Case(
        route="jobs.add_dependencies",
        title="no job",
        request=f"POST {Q}/job/{UNKNOWN}/dependencies",
        body='{"depends_on": [":a"]}',
        status=404,
        want=NOT_FOUND,
    ),
    *[
        case("jobs.close_dependencies", title, f"POST {Q}/job/{{id}}/dependencies/close", 200, want, prepare=prepare)
        for title, want, prepare in (
            ("an open job", {"state": "blocked", "waits_for_total": 1}, open_job),
            ("a job that is closed", {"state": "blocked", "waits_for_total": 2}, blocked),
            ("a job that is not blocked", {"state": "ready", "waits_for_total": 0}, ready),
        )
    ],
    Case(
        route="jobs.close_dependencies",
        title="an open job without dependencies",
        request=f"POST {Q}/job/{{id}}/dependencies/close",
        status=200,
        want={"state": "ready", "waits_for_total": 0},
        prepare=lambda client, queue: {"id": client.publish(queue, dependencies="open")},
    ),
    case("jobs.close_dependencies", "no job", f"POST {Q}/job/{UNKNOWN}/dependencies/close", 404, NOT_FOUND),
    Case(
        route="workers.hold_key",
        title="a key that nobody holds",
        request=f"POST {Q}/job/{{id}}/hold?key=shop-1",
        status=200,
        want={"holder": None},
        prepare=working,
    ),
    case(
        "workers.hold_key", "what is no job's id", f"POST {Q}/job/x/hold?key=shop-1", 400, {"error": "invalid job id"}
    ),
    case("workers.hold_key", "no key", f"POST {Q}/job/{UNKNOWN}/hold", 400, {"error": "invalid key"}),
    Case(
        route="workers.add_note",
        title="a note",
        request=f"POST {Q}/job/{{id}}/note",
        body='{"fields": {"percent": "40"}, "lines": ["one", "two\\nthree"], "keep_ms": 60000}',
        status=200,
        want={"msg": "noted"},
        prepare=working,
    ),
    Case(
        route="workers.add_note",
        title="of no job",
        request=f"POST {Q}/job/{UNKNOWN}/note",
        body='{"fields": {"percent": "40"}, "keep_ms": 60000}',
        status=404,
        want=error("job not found"),
    ),
    Case(
        route="workers.add_note",
        title="1 MiB and a byte",
        request=f"POST {Q}/job/{UNKNOWN}/note",
        body=b" " * (MIB + 1),
        status=413,
        want=error("body too large"),
    ),
    Case(
        route="workers.add_note",
        title="arrays that would take long to decode",
        request=f"POST {Q}/job/{UNKNOWN}/note",
        body=b'{"keep_ms": 1, "x": [' + b"[]," * 300_000 + b"1]}",
        status=400,
        want=error("too many values"),
    ),
    *[
        case("workers.add_note", body[:60], f"POST {Q}/job/{UNKNOWN}/note", 400, error(words), body=body)
        for body, words in (
            ("[]", "request body should be an object"),
            ("{}", "invalid keep_ms"),
            ('{"keep_ms": 2592000001}', "invalid keep_ms"),
            ('{"keep_ms": 1.5}', "invalid keep_ms"),
            ('{"keep_ms": 1, "fields": []}', "invalid fields"),
            ('{"keep_ms": 1, "fields": {"a": 1}}', "invalid fields"),
            ('{"keep_ms": 1, "fields": {"log": "x"}}', "invalid fields"),
            ('{"keep_ms": 1, "fields": {"A b": "x"}}', "invalid fields"),
            ('{"keep_ms": 1, "fields": {' + ",".join(f'"f{n}": ""' for n in range(9)) + "}}", "invalid fields"),
            ('{"keep_ms": 1, "fields": {"a": "' + "x" * 65_537 + '"}}', "a is longer than 65536 bytes"),
            ('{"keep_ms": 1, "lines": "x"}', "invalid lines"),
            ('{"keep_ms": 1, "lines": [1]}', "invalid lines"),
            ('{"keep_ms": 1, "lines": [' + ",".join(['"x"'] * 1001) + "]}", "invalid lines"),
        )
    ],
    Case(
        route="finish.fail",
        title="with tries left",
        request=f"POST {Q}/job/{{id}}/fail",
        status=200,
        want={"state": "ready", "due_ms": 0},
        prepare=working,
    ),
    Case(
        route="finish.fail",
        title="with a delay",
        request=f"POST {Q}/job/{{id}}/fail?attempt=1",
        body='{"error": "boom", "delay": 2.5}',
        status=200,
        want={"state": "retry", "due_ms": whole(1_700_000_000_000, 4_000_000_000_000)},
        prepare=working,
    ),
    Case(
        route="finish.fail",
        title="for good",
        request=f"POST {Q}/job/{{id}}/fail",
        body='{"dead": true}',
        status=200,
        want={"state": "dead", "due_ms": 0},
        prepare=working,
    ),
    *[
        case("finish.fail", body, f"POST {Q}/job/{UNKNOWN}/fail", 400, error(words), body=body)
        for body, words in (
            ("[]", "request body should be an object"),
            ("{", "request body should be an object"),
            ('{"error": 1}', "invalid error"),
            ('{"delay": -1}', "invalid delay"),
            ('{"delay": "1"}', "invalid delay"),
            ('{"delay": true}', "invalid delay"),
            ('{"delay": 4294967296}', "invalid delay"),
            ('{"dead": 1}', "invalid dead"),
        )
    ],
    case(
        "finish.fail", "a body of 1 MiB", f"POST {Q}/job/{UNKNOWN}/fail", 413, error("body too large"), body=b"x" * MIB
    ),
    Case(route="finish.fail", title="no job", request=f"POST {Q}/job/{UNKNOWN}/fail", status=404, want=NOT_FOUND),
    case("finish.fail", "another attempt", f"POST {Q}/job/{{id}}/fail?attempt=7", 409, LOST, prepare=working),
    Case(
        route="finish.release",
        title="a working job",
        request=f"POST {Q}/job/{{id}}/release?delay=0.5",
        status=200,
        want={"msg": "released"},
        prepare=working,
    ),
    *bad("finish.release", f"POST {Q}/job/{UNKNOWN}/release", "delay", *NOT_DECIMALS),
    Case(route="finish.release", title="no job", request=f"POST {Q}/job/{UNKNOWN}/release", status=404, want=NOT_FOUND),
    case("finish.release", "a ready job", f"POST {Q}/job/{{id}}/release", 409, LOST, prepare=ready),
    Case(
        route="finish.extend",
        title="a working job",
        request=f"POST {Q}/job/{{id}}/extend?ttr=600&attempt=1",
        status=200,
        want={"msg": "extended", "lease_end_ms": whole(1_700_000_000_000, 4_000_000_000_000)},
        prepare=working,
    ),
    *bad("finish.extend", f"POST {Q}/job/{UNKNOWN}/extend", "ttr", *BAD_NUMBERS, "0"),
    Case(route="finish.extend", title="no job", request=f"POST {Q}/job/{UNKNOWN}/extend", status=409, want=LOST),
    case("finish.extend", "another attempt", f"POST {Q}/job/{{id}}/extend?attempt=2", 409, LOST, prepare=working),
]

TIME = whole(1_700_000_000_000, 5_000_000_000_000)


def described(**changes: Any) -> dict[str, Any]:
    return {
        **NAMES,
        "job_id": ID,
        "state": "ready",
        "attempt": 0,
        "tries": 1,
        "remain_tries": 1,
        "priority": 0,
        "now_ms": TIME,
        "published_ms": TIME,
        "due_ms": TIME,
        "expires_ms": TIME,
        "taken_ms": None,
        "lease_end_ms": None,
        "died_ms": None,
        "kept_until_ms": None,
        "consumer": "",
        "backoff": "none",
        "retention_s": 0,
        "key": "",
        "attributes": None,
        "limit_key": "",
        "group": "",
        "members": 0,
        "batch_id": None,
        "body_bytes": 3,
        "result_bytes": None,
        "errors": [],
        **changes,
    }


WAITS_FOR_NOTHING = {"waits_for": [], "waits_for_total": 0, "dependencies_open": False}
WORKING = described(
    state="working",
    attempt=1,
    tries=2,
    taken_ms=TIME,
    lease_end_ms=TIME,
    consumer="127.0.0.1",
    retention_s=60,
)
FAILURE = {
    "attempt": 1,
    "outcome": "failed",
    "error": "",
    "consumer": "127.0.0.1",
    "taken_ms": TIME,
    "ended_ms": TIME,
}
DEAD = described(
    state="dead",
    attempt=1,
    remain_tries=0,
    taken_ms=TIME,
    died_ms=TIME,
    consumer="127.0.0.1",
    expires_ms=None,
    errors=[FAILURE],
)


def page(state: str, *jobs: Any, after: Any = None) -> dict[str, Any]:
    return {**NAMES, "state": state, "jobs": list(jobs), "after": after}


READ = [
    Case(route="jobs.peek", title="a ready job", request=f"GET {Q}/peek", status=200, want=job(), prepare=ready),
    case("jobs.peek", "its attributes", f"GET {Q}/peek", 200, job(attributes=ATTRIBUTES), prepare=with_attributes),
    Case(route="jobs.peek", title="nothing", request=f"GET {Q}/peek", status=404, want=error("the queue is empty")),
    case("jobs.peek_job", "a working job", f"GET {Q}/job/{{id}}", 200, job(), prepare=working),
    Case(route="jobs.peek_job", title="no job", request=f"GET {Q}/job/{UNKNOWN}", status=404, want=NOT_FOUND),
    case(
        "jobs.detail", "a ready job", f"GET {Q}/job/{{id}}/detail", 200, described(**WAITS_FOR_NOTHING), prepare=ready
    ),
    Case(
        route="jobs.detail",
        title="a blocked job",
        request=f"GET {Q}/job/{{id}}/detail",
        status=200,
        want=described(
            state="blocked",
            waits_for=[{"job": "other:a,b", "state": "waiting"}, {"job": "other:c", "state": "waiting"}],
            waits_for_total=2,
            dependencies_open=False,
        ),
        prepare=blocked,
    ),
    Case(
        route="jobs.detail",
        title="an open job",
        request=f"GET {Q}/job/{{id}}/detail",
        status=200,
        want=described(
            state="blocked",
            waits_for=[{"job": "other:c", "state": "waiting"}],
            waits_for_total=1,
            dependencies_open=True,
        ),
        prepare=open_job,
    ),
    Case(
        route="jobs.detail",
        title="a member of a group",
        request=f"GET {Q}/job/{{id1}}/detail",
        status=200,
        want=described(state="grouped", group="mails", **WAITS_FOR_NOTHING),
        prepare=two_mails,
    ),
    Case(
        route="jobs.detail",
        title="a member whose group has been flushed",
        request=f"GET {Q}/job/{{id1}}/detail",
        status=200,
        want=described(
            group="mails",
            attributes=None,
            batch_id=lambda value: len(value) == 26,
            **WAITS_FOR_NOTHING,
        ),
        prepare=batch_of_two,
    ),
    case(
        "jobs.detail", "a working job", f"GET {Q}/job/{{id}}/detail", 200, WORKING | WAITS_FOR_NOTHING, prepare=working
    ),
    case("jobs.detail", "a dead job", f"GET {Q}/job/{{id}}/detail", 200, DEAD | WAITS_FOR_NOTHING, prepare=dead),
    Case(route="jobs.detail", title="no job", request=f"GET {Q}/job/{UNKNOWN}/detail", status=404, want=NOT_FOUND),
    Case(
        route="jobs.result",
        title="of a completed job",
        request=f"GET {Q}/job/{{id}}/result?timeout=5",
        status=200,
        want=b"\x00\xffdone",
        prepare=completed,
    ),
    case("jobs.result", "of a working job", f"GET {Q}/job/{{id}}/result", 202, {"state": "working"}, prepare=working),
    Case(route="jobs.result", title="of no job", request=f"GET {Q}/job/{UNKNOWN}/result", status=404, want=NOT_FOUND),
    *bad("jobs.result", f"GET {Q}/job/{UNKNOWN}/result", "timeout", *BAD_NUMBERS, "601"),
    case("jobs.list_jobs", "ready by default", f"GET {Q}/jobs", 200, page("ready", described()), prepare=ready),
    Case(
        route="jobs.list_jobs",
        title="a page of dead ones",
        request=f"GET {Q}/jobs?state=dead&limit=1",
        status=200,
        want=page("dead", DEAD, after=re.compile(".+")),
        prepare=two_dead,
    ),
    Case(
        route="jobs.list_jobs",
        title="blocked ones",
        request=f"GET {Q}/jobs?state=blocked",
        status=200,
        want=page("blocked", described(state="blocked")),
        prepare=blocked,
    ),
    *bad("jobs.list_jobs", f"GET {Q}/jobs", "state", "x", "", "READY"),
    *bad("jobs.list_jobs", f"GET {Q}/jobs", "limit", *BAD_NUMBERS, "0", "1001"),
    *bad("jobs.list_jobs", f"GET {Q}/jobs", "after", "%C3%A9", "x" * 81),
]


def ids(*names: str) -> str:
    return '{"ids": [' + ", ".join(f'"{name}"' for name in names) + "]}"


READ += [
    case("jobs.find_by_key", "one", f"GET {Q}/jobs/key?key=order-7", 200, {"job_id": ID}, prepare=keyed),
    case("jobs.find_by_key", "none", f"GET {Q}/jobs/key?key=order-7", 404, NOT_FOUND),
    *[
        case("jobs.find_by_key", f"{len(key)} bytes", f"GET {Q}/jobs/key?key={key}", 400, error("invalid key"))
        for key in ("", "x" * 256)
    ],
    Case(route="workers.show_note", title="none", request=f"GET {Q}/job/{UNKNOWN}/note", status=200, want={}),
    Case(
        route="workers.show_note",
        title="one",
        request=f"GET {Q}/job/{{id}}/note",
        status=200,
        want={"percent": "40", "log": "one\ntwo\n"},
        prepare=lambda client, queue: noted(client, queue),
    ),
    *bad("jobs.detail", f"GET {Q}/job/{UNKNOWN}/detail", "data", "", "x"),
    *bad("jobs.list_jobs", f"GET {Q}/jobs", "data", "x"),
]


def noted(client: Client, queue: str) -> dict[str, str]:
    ids = ready(client, queue)
    body = '{"fields": {"percent": "40"}, "lines": ["one", "two"], "keep_ms": 60000}'
    assert client.call("POST", f"/api/{{ns}}/{queue}/job/{ids['id']}/note", body).status == 200
    return ids


BAD_IDS = ("", "[]", "{}", '{"ids": []}', '{"ids": "x"}', '{"ids": [1]}')
DEAD_LETTERS = [
    case(
        "dead_letters.deadletter",
        "none",
        f"GET {Q}/deadletter",
        200,
        {**NAMES, "deadletter_size": 0, "deadletter_head": ""},
    ),
    Case(
        route="dead_letters.deadletter",
        title="two",
        request=f"GET {Q}/deadletter",
        status=200,
        want={**NAMES, "deadletter_size": 2, "deadletter_head": ID},
        prepare=two_dead,
    ),
    case(
        "dead_letters.deadletter_size", "two", f"GET {Q}/deadletter/size", 200, {**NAMES, "size": 2}, prepare=two_dead
    ),
    case(
        "dead_letters.respawn",
        "one by default",
        f"PUT {Q}/deadletter",
        200,
        {"msg": "respawned", "count": 1},
        prepare=two_dead,
    ),
    Case(
        route="dead_letters.respawn",
        title="as many as there are",
        request=f"PUT {Q}/deadletter?limit=9223372036854775807&ttl=0",
        status=200,
        want={"msg": "respawned", "count": 2},
        prepare=two_dead,
    ),
    *bad("dead_letters.respawn", f"PUT {Q}/deadletter", "limit", "0", "-1", "x", "", "1.5", "9223372036854775808"),
    *bad("dead_letters.respawn", f"PUT {Q}/deadletter", "ttl", *BAD_NUMBERS),
    Case(
        route="dead_letters.delete",
        title="one by default",
        request=f"DELETE {Q}/deadletter",
        status=204,
        prepare=two_dead,
    ),
    *bad("dead_letters.delete", f"DELETE {Q}/deadletter", "limit", "0", "-1", "x", "", "1.5"),
    Case(
        route="dead_letters.respawn_ids",
        title="one of two, and one unknown",
        request=f"PUT {Q}/deadletter/jobs?ttl=60",
        body=ids("{id2}", UNKNOWN),
        status=200,
        want={"msg": "respawned", "count": 1},
        prepare=two_dead,
    ),
    Case(
        route="dead_letters.delete_ids",
        title="both",
        request=f"DELETE {Q}/deadletter/jobs",
        body=ids("{id1}", "{id2}"),
        status=200,
        want={"msg": "deleted", "count": 2},
        prepare=two_dead,
    ),
    Case(
        route="dead_letters.delete_ids",
        title="one that is not dead",
        request=f"DELETE {Q}/deadletter/jobs",
        body=ids("{id}"),
        status=200,
        want={"msg": "deleted", "count": 0},
        prepare=ready,
    ),
    *[
        Case(
            route=route,
            title=f"ids in {body!r}",
            request=request,
            body=body,
            status=400,
            want=error("request body should be an object" if body == "[]" else "invalid ids"),
        )
        for route, request in (
            ("dead_letters.respawn_ids", f"PUT {Q}/deadletter/jobs"),
            ("dead_letters.delete_ids", f"DELETE {Q}/deadletter/jobs"),
        )
        for body in BAD_IDS
    ],
]

JOBS = [
    Case(
        route="jobs.run_now",
        title="a delayed job, a ready one and none",
        request=f"POST {Q}/jobs/run",
        body=f'{{"ids": ["{{id}}", "{{late}}", "{UNKNOWN}"]}}',
        status=200,
        want={"msg": "ready", "count": 1},
        prepare=lambda client, queue: {"id": client.publish(queue), "late": client.publish(queue, delay=60)},
    ),
    Case(
        route="jobs.delete_jobs",
        title="three and none",
        request=f"DELETE {Q}/jobs",
        body=f'{{"ids": ["{{id0}}", "{{id1}}", "{{id2}}", "{UNKNOWN}"]}}',
        status=200,
        want={"msg": "deleted", "count": 3},
        prepare=three,
    ),
    *[
        Case(route=route, title=body, request=request, body=body, status=400, want=error("invalid ids"))
        for route, request in (("jobs.run_now", f"POST {Q}/jobs/run"), ("jobs.delete_jobs", f"DELETE {Q}/jobs"))
        for body in ("{}", '{"ids": []}', '{"ids": "x"}', '{"ids": [1]}')
    ],
]

COMMAND = "POST /api/{ns}/workers/command"
BEAT = {
    "worker": "w1",
    "host": "h",
    "pid": 7,
    "version": "1",
    "state": "running",
    "queues": {"q1": 1},
    "concurrency": 5,
    "up_ms": 1,
    "done": 0,
    "failed": 0,
    "cpu_percent": 0.5,
    "memory_bytes": 1,
}
RUNNING = {"queue": "q1", "job_id": UNKNOWN, "attempt": 1, "task": "t", "run_ms": 5, "percent": None, "note": ""}
PARKED = {"queue": "q1", "task": "t", "reason": "r", "jobs": 1}


def beat(**changes: Any) -> str:
    """A worker's report; members that are ... are left out."""
    return json.dumps({name: one for name, one in {**BEAT, **changes}.items() if one is not ...})


def listed(client: Client, queue: str) -> dict[str, str]:
    assert client.call("POST", "/api/{ns}/workers", beat(worker=queue, running=[RUNNING])).status == 200
    return {}


_BAD_MEMBERS: list[tuple[str, Any, str]] = [
    *((name, ..., "") for name in BEAT),
    *((name, None, "") for name in BEAT),
    *((name, [], "") for name in BEAT),
    *((name, -1, "") for name in ("pid", "up_ms", "done", "failed", "memory_bytes", "since_ms")),
    *((name, True, "") for name in ("pid", "cpu_percent")),
    *((name, 2**53 + 1, "") for name in ("done", "since_ms")),
    ("worker", "", ""),
    ("worker", "w" * 256, ""),
    ("worker", "a\tb", ""),
    ("host", "h" * 1025, ""),
    ("state", "dead", ""),
    ("queues", {"_q": 1}, ""),
    ("queues", {"q": -1}, ""),
    ("queues", {f"q{n}": 1 for n in range(65)}, ""),
    ("running", {}, ""),
    ("running", ["x"], ""),
    ("running", [{}] * 1001, ""),
    ("running", [{**RUNNING, "queue": "a/b"}], "invalid queue in running"),
    ("running", [{**RUNNING, "percent": "x"}], "invalid percent in running"),
    ("running", [{**RUNNING, "attempt": -1}], "invalid attempt in running"),
    ("running", [{**RUNNING, "note": "n" * 1025}], "invalid note in running"),
    ("parked", [{**PARKED, "jobs": 1.5}], "invalid jobs in parked"),
    ("parked", [PARKED] * 101, ""),
    ("running_untold", "1", ""),
    ("ends", 1, ""),
]
"""A member of a report, what it is, and what is said of that; "": that the member is invalid."""

WORKERS = [
    Case(
        route="workers.beat",
        title="a worker",
        request="POST /api/{ns}/workers",
        body=beat(running=[RUNNING], parked=[PARKED], since_ms=0, ends=False, unknown=1),
        status=200,
        want={"since_ms": whole(1_700_000_000_000, 5_000_000_000_000), "commands": []},
    ),
    Case(
        route="workers.beat",
        title="256 KiB and a byte",
        request="POST /api/{ns}/workers",
        body=b" " * (256 * 1024 + 1),
        status=413,
        want=error("body too large"),
    ),
    *[
        Case(
            route="workers.beat",
            title=f"{name}: {str(given)[:40]}",
            request="POST /api/{ns}/workers",
            body=beat(**{name: given}),
            status=400,
            want=error(words or f"invalid {name}"),
        )
        for name, given, words in _BAD_MEMBERS
    ],
    Case(
        route="workers.list_workers",
        title="one at least",
        request="GET /api/{ns}/workers",
        status=200,
        want={"namespace": "demo", "workers": lambda workers: "namespace" in workers[0] and "running" in workers[0]},
        prepare=listed,
    ),
    Case(
        route="workers.command",
        title="a worker",
        request=COMMAND,
        body='{"kind": "quiet", "target": "{queue}"}',
        status=200,
        want={"msg": "told"},
        prepare=listed,
    ),
    Case(
        route="workers.command",
        title="no worker",
        request=COMMAND,
        body='{"kind": "stop", "target": "nobody"}',
        status=404,
        want=error("worker not found"),
    ),
    *[
        Case(route="workers.command", title=body, request=COMMAND, body=body, status=400, want=error(words))
        for body, words in (
            ("[]", "request body should be an object"),
            ("{}", "invalid kind"),
            ('{"kind": "cancel", "target": "w"}', "invalid kind"),
            ('{"kind": ["stop"], "target": "w"}', "invalid kind"),
            ('{"kind": "stop"}', "invalid target"),
            ('{"kind": "stop", "target": ""}', "invalid target"),
            ('{"kind": "stop", "target": "a\\tb"}', "invalid target"),
        )
    ],
]

SCHEDULES = "/api/{ns}/schedules"
SCHEDULE = f"{SCHEDULES}/s-{{queue}}"
FIRE = {
    "outcome": "fired",
    "due_ms": whole(1, 10**14),
    "until_ms": None,
    "count": 1,
    "manual": True,
    "fired_ms": whole(1, 10**14),
    "queue": re.compile(r"q\d+\Z"),
    "job_id": ID,
    "error": None,
}
SHOWN_SCHEDULE = {
    "name": re.compile(r"s-q\d+\Z"),
    "queue": re.compile(r"q\d+\Z"),
    "state": "active",
    "kind": "cron",
    "cron": "30 2 * * *",
    "every": None,
    "start_ms": None,
    "at_ms": None,
    "zone": "Europe/Berlin",
    "next_ms": whole(1, 10**14),
    "body_bytes": 18,
    "tries": 3,
    "ttl": None,
    "priority": 0,
    "backoff": None,
    "retention": 0,
    "attributes": None,
    "limit_key": None,
    "catch_up": "last",
    "catch_up_max": 100,
    "jitter": 0,
    "overlap": "allow",
    "source": "people",
    "app": None,
    "last": None,
}
NIGHTLY = '{"queue": "{queue}", "cron": "30 2 * * *", "zone": "Europe/Berlin", "body": {"report": "daily"}, "tries": 3}'
OF_AN_APP = '{"queue": "{queue}", "every": 60, "app": "shop"}'


def scheduled(client: Client, queue: str) -> dict[str, str]:
    reply = client.call("PUT", f"/api/{{ns}}/schedules/s-{queue}", NIGHTLY.replace("{queue}", queue))
    assert reply.status == 201, reply
    return {}


def of_an_app(client: Client, queue: str) -> dict[str, str]:
    reply = client.call("PUT", f"/api/{{ns}}/schedules/s-{queue}", OF_AN_APP.replace("{queue}", queue))
    assert reply.status == 201, reply
    return {}


def bad_schedule(content: str, words: str) -> Case:
    return case("schedules.put", content[:60], f"PUT {SCHEDULE}", 400, error(words), body=content)


_ONE = "expected one of cron, every and at, not"
_MOMENT = "expected a moment, epoch seconds or ISO 8601 with a zone"
_CRON = '"queue": "{queue}", "cron": "* * * * *"'
_CRON_FIELDS = "invalid cron: 5 fields, or 6 with seconds first, not"

SCHEDULE_ROUTES = [
    Case(
        route="schedules.list_all",
        title="of an app",
        request=f"GET {SCHEDULES}?app=shop&after=s-&limit=1",
        status=200,
        want={
            "namespace": "demo",
            "schedules": [
                {
                    **SHOWN_SCHEDULE,
                    "kind": "interval",
                    "cron": None,
                    "every": 60.0,
                    "start_ms": whole(1, 10**14),
                    "zone": "UTC",
                    "body_bytes": 0,
                    "tries": None,
                    "source": "code",
                    "app": "shop",
                }
            ],
            "after": lambda after: after is None or after.startswith("s-q"),
        },
        prepare=of_an_app,
    ),
    *bad("schedules.list_all", f"GET {SCHEDULES}", "limit", *BAD_NUMBERS, "0", "1001"),
    *bad("schedules.list_all", f"GET {SCHEDULES}", "after", "%00"),
    *bad("schedules.list_all", f"GET {SCHEDULES}", "app", "%00"),
    Case(
        route="schedules.show",
        title="one",
        request=f"GET {SCHEDULE}",
        status=200,
        want={
            **SHOWN_SCHEDULE,
            "data": "eyJyZXBvcnQiOiJkYWlseSJ9",
            "upcoming_ms": lambda times: len(times) == 10 and times == sorted(times),
            "history": [],
        },
        prepare=scheduled,
    ),
    *bad("schedules.show", f"GET {SCHEDULE}", "history", *BAD_NUMBERS, "101"),
    Case(route="schedules.show", title="none", request=f"GET {SCHEDULE}", status=404, want=error("schedule not found")),
    Case(
        route="schedules.put",
        title="a new one",
        request=f"PUT {SCHEDULE}",
        body=NIGHTLY,
        status=201,
        want={"msg": "created", "schedule": SHOWN_SCHEDULE},
    ),
    Case(
        route="schedules.put",
        title="one that there is",
        request=f"PUT {SCHEDULE}",
        body=NIGHTLY,
        status=200,
        want={"msg": "replaced", "schedule": SHOWN_SCHEDULE},
        prepare=scheduled,
    ),
    Case(
        route="schedules.put",
        title="not really",
        request=f"PUT {SCHEDULE}?dry_run=1",
        body=NIGHTLY,
        status=200,
        want={"msg": "valid", "upcoming_ms": lambda times: len(times) == 10},
    ),
    Case(
        route="schedules.put",
        title="one of an app",
        request=f"PUT {SCHEDULE}",
        body=NIGHTLY,
        status=409,
        want=error("the schedule is declared in the code of shop: change it there"),
        prepare=of_an_app,
    ),
    Case(
        route="schedules.put",
        title="one of people, by an app",
        request=f"PUT {SCHEDULE}",
        body=OF_AN_APP,
        status=409,
        want=error("people made a schedule of this name: delete it, or give the one in the code another name"),
        prepare=scheduled,
    ),
    case("schedules.put", "too large", f"PUT {SCHEDULE}", 413, error("body too large"), body=b"x" * (2 * MIB + 1)),
    Case(
        route="schedules.put",
        title="a name that no path may have",
        request=f"PUT {SCHEDULES}/a%20b",
        body=NIGHTLY,
        status=400,
        want=error("invalid schedule name: letters, digits, -, _, . and : only, at most 255 characters"),
    ),
    bad_schedule("[]", "request body should be an object"),
    bad_schedule("", f"{_ONE} 0"),
    bad_schedule('{"cron": "* * * * *"}', "invalid queue: it is missing"),
    bad_schedule('{"queue": "_x", "every": 5}', "invalid queue: queue name contains forbidden characters"),
    bad_schedule('{"queue": 7, "every": 5}', "invalid queue: expected a text"),
    bad_schedule('{"queue": "{queue}", "every": 5, "cron": "* * * * *"}', f"{_ONE} 2"),
    bad_schedule('{"queue": "{queue}", "cron": "* * *"}', f"{_CRON_FIELDS} 3"),
    bad_schedule('{"queue": "{queue}", "cron": "61 * * * *"}', 'invalid cron: minute "61" cannot be read (0-59)'),
    bad_schedule(
        f'{{{_CRON}, "zone": "Mars/Base"}}',
        'invalid zone: there is no time zone "Mars/Base", such as Europe/Berlin or UTC',
    ),
    bad_schedule('{"queue": "{queue}", "every": 0.5}', "invalid every: 1 to 316224000 s"),
    bad_schedule('{"queue": "{queue}", "every": "5"}', "invalid every: expected a number of seconds"),
    bad_schedule('{"queue": "{queue}", "at": 1}', "invalid at: it has passed"),
    bad_schedule('{"queue": "{queue}", "at": "2030-01-01T00:00:00"}', f"invalid at: {_MOMENT}"),
    bad_schedule(f'{{{_CRON}, "start": 5}}', "start needs every"),
    bad_schedule(f'{{{_CRON}, "tries": 0}}', "invalid tries: expected a whole number from 1 to 65535"),
    bad_schedule(f'{{{_CRON}, "backoff": "often"}}', "invalid backoff"),
    bad_schedule(f'{{{_CRON}, "overlap": "maybe"}}', "invalid overlap: expected allow, skip, replace"),
    bad_schedule(f'{{{_CRON}, "paused": 1}}', "invalid paused: expected true or false"),
    bad_schedule(
        f'{{{_CRON}, "jitter": 60}}', "invalid jitter: it must be shorter than the time between two fires, 60 s"
    ),
    bad_schedule(f'{{{_CRON}, "attributes": {{"a": "\\u0000"}}}}', "invalid attributes: they have no character U+0000"),
    bad_schedule(f'{{{_CRON}, "attributes": {{"a": 7}}}}', "invalid attributes: expected an object of texts"),
    bad_schedule(f'{{{_CRON}, "limit_key": 7}}', "invalid limit_key: expected a text"),
    bad_schedule(f'{{{_CRON}, "limit_key": "a\\tb"}}', "invalid limit_key"),
    bad_schedule(f'{{{_CRON}, "limit_key": "{"k" * 65}"}}', "invalid limit_key"),
    bad_schedule(f'{{{_CRON}, "data": "?"}}', "invalid data: it is not base64"),
    bad_schedule(f'{{{_CRON}, "body": "x", "data": "eA=="}}', "body and data exclude each other"),
    Case(
        route="schedules.put",
        title="an unknown member",
        request=f"PUT {SCHEDULE}",
        body=f'{{{_CRON}, "timezone": "UTC"}}',
        status=400,
        want={"error": re.compile(r"unknown 'timezone'; there are app, at, attributes, .*, zone\Z")},
    ),
    case("schedules.delete", "one of an app", f"DELETE {SCHEDULE}?app=shop", 204, prepare=of_an_app),
    Case(route="schedules.delete", title="none", request=f"DELETE {SCHEDULE}", status=204),
    Case(
        route="schedules.delete",
        title="one of another app",
        request=f"DELETE {SCHEDULE}?app=bank",
        status=409,
        want=error("the schedule is declared in the code of shop: change it there"),
        prepare=of_an_app,
    ),
    case(
        "schedules.pause", "one", f"POST {SCHEDULE}/pause", 200, {"msg": "paused", "changed": True}, prepare=scheduled
    ),
    Case(
        route="schedules.resume",
        title="one that is not paused",
        request=f"POST {SCHEDULE}/resume",
        status=200,
        want={"msg": "resumed", "changed": False, "next_ms": whole(1, 10**14)},
        prepare=scheduled,
    ),
    case("schedules.run", "one", f"POST {SCHEDULE}/run", 200, FIRE, prepare=scheduled),
    *[
        case(f"schedules.{act}", "none", f"POST {SCHEDULE}/{act}", 404, error("schedule not found"))
        for act in ("pause", "resume", "run")
    ],
]

COUNTS = {"ready": 0, "delayed": 0, "retry": 0, "working": 0, "dead": 0, "completed": 0, "blocked": 0, "grouped": 0}
PERCENTILES = {"p50": None, "p95": None, "p99": None}
STATS = {
    **NAMES,
    "paused": False,
    **COUNTS,
    "oldest_ready_ms": whole(0, 20_000),
    "published_per_s": lambda value: value >= 0,
    "consumed_per_s": lambda value: value >= 0,
    "acked_per_s": 0.0,
    "failed_per_s": 0.0,
    "wait_ms": PERCENTILES,
    "run_ms": PERCENTILES,
    "late_ms": PERCENTILES,
    "died": 0,
    "leases_lost": 0,
    "dropped": {"age": 0, "count": 0},
}
QUEUES = [
    case("queues.size", "of an unknown queue", f"GET {Q}/size", 200, {**NAMES, "size": 0}),
    case("queues.size", "of three", f"GET {Q}/size", 200, {**NAMES, "size": 3}, prepare=three),
    Case(route="queues.stats", title="of an unknown queue", request=f"GET {Q}/stats", status=200, want=STATS),
    case("queues.stats", "of three", f"GET {Q}/stats", 200, {**STATS, "ready": 3}, prepare=three),
    Case(
        route="queues.limit_keys",
        title="of a queue with one",
        request=f"GET {Q}/limit-keys",
        status=200,
        want={
            **NAMES,
            "now_ms": TIME,
            "total": 1,
            "throttled": 0,
            "queue_free_ms": None,
            "limit_keys": [
                {"limit_key": "acme", "ready": 2, "working": 0, "weight": 1, "waits_for": "turn", "free_ms": None}
            ],
            "after": None,
        },
        prepare=two_of_acme,
    ),
    Case(
        route="queues.groups",
        title="of a queue with one, and a member with a delay",
        request=f"GET {Q}/groups",
        status=200,
        want={
            **NAMES,
            "now_ms": TIME,
            "total": 1,
            "joining": 1,
            "groups": [
                {
                    "group": "mails",
                    "members": 2,
                    "bytes": whole(6, 200),
                    "first_ms": TIME,
                    "last_ms": TIME,
                    "flush_ms": TIME,
                    "max_size": 500,
                    "max_delay_s": 600,
                    "grace_period_s": 60,
                }
            ],
            "after": None,
        },
        prepare=two_mails,
    ),
    *bad("queues.groups", f"GET {Q}/groups", "limit", "0", "1001", "x"),
    *bad("queues.groups", f"GET {Q}/groups", "after", "-1", "x"),
    Case(
        route="queues.flush_group",
        title="of a group with two members",
        request=f"POST {Q}/groups/flush?group=mails",
        status=200,
        want={"msg": "flushed", "batches": 1, "members": 2, "more": False},
        prepare=two_mails,
    ),
    Case(
        route="queues.flush_group",
        title="of none",
        request=f"POST {Q}/groups/flush?group=mails",
        status=200,
        want={"msg": "flushed", "batches": 0, "members": 0, "more": False},
    ),
    Case(
        route="queues.flush_group",
        title="without a group",
        request=f"POST {Q}/groups/flush",
        status=400,
        want=error("invalid group"),
    ),
    *bad("queues.limit_keys", f"GET {Q}/limit-keys", "limit", "0", "1001", "x"),
    *bad("queues.limit_keys", f"GET {Q}/limit-keys", "after", "-1", "x"),
    Case(
        route="queues.list_queues",
        title="a page",
        request="GET /api/{ns}/queues?limit=1&after=q0",
        status=200,
        want={
            "namespace": "demo",
            "queues": [{"queue": re.compile("q"), "paused": is_bool, **dict.fromkeys(COUNTS, whole(0, 10_000))}],
            "after": lambda after: after is None or after.startswith("q"),
        },
        prepare=ready,
    ),
    *bad("queues.list_queues", "GET /api/{ns}/queues", "limit", *BAD_NUMBERS, "0", "1001"),
    *bad("queues.list_queues", "GET /api/{ns}/queues", "after", "_x", "a/b", "%C3%A9"),
    case("queues.pause", "a queue", f"POST {Q}/pause", 200, {"msg": "paused", "changed": True}, prepare=three),
    case("queues.pause", "a queue that does not exist", f"POST {Q}/pause", 404, error("queue not found")),
    case("queues.resume", "a queue that is not paused", f"POST {Q}/resume", 200, {"msg": "resumed", "changed": False}),
    Case(route="queues.destroy", title="a queue", request=f"DELETE {Q}", status=204, prepare=three),
    Case(route="queues.destroy", title="all of it", request=f"DELETE {Q}?all=1", status=204, prepare=working),
    *bad("queues.destroy", f"DELETE {Q}", "all", "", "yes"),
]

PUSH = "/api/{ns}/{queue}/push"
PUSH_URL = "https://hooks.example/x"
ENDPOINT = {
    **NAMES,
    "url": PUSH_URL,
    "enabled": True,
    "timeout": 15,
    "concurrency": 10,
    "rate": None,
    "headers": {},
    "paused_ms": None,
    "paused_reason": "",
    "secrets": [{"created_ms": whole(1_700_000_000_000, 5_000_000_000_000), "expires_ms": None}],
}
NO_ENDPOINT = error("push endpoint not found")
WHSEC = re.compile(r"whsec_[A-Za-z0-9+/]{43}=\Z")


def pushed(client: Client, queue: str) -> dict[str, str]:
    """A queue with a push endpoint."""
    assert client.call("PUT", f"/api/{{ns}}/{queue}/push", json.dumps({"url": PUSH_URL})).status == 201
    return {}


_BAD_PUSH = (
    ("[]", "request body should be an object"),
    ("{}", "invalid url: it is missing"),
    ('{"url": 7}', "invalid url"),
    ('{"url": "ftp://x.example/"}', "invalid url: it must begin with https:// or http://"),
    ('{"url": "https://a:b@x.example/"}', "invalid url: credentials are not allowed in it: send them in a header"),
    ('{"url": "http://127.0.0.1/"}', "invalid url: 127.0.0.1 is not a public address"),
    ('{"url": "http://localhost:8080/"}', "invalid url: localhost is not a public address"),
    ('{"url": "http://[::ffff:10.0.0.1]/"}', "invalid url: ::ffff:10.0.0.1 is not a public address"),
    (
        '{"url": "https://x.example:22/"}',
        "invalid url: port 22 is not allowed: use 80, 443, or one above 1023 that no other protocol is known for",
    ),
    ('{"url": "https://x.example/", "timeout": 0}', "invalid timeout: 1 to 300 seconds"),
    ('{"url": "https://x.example/", "timeout": 1.5}', "invalid timeout"),
    ('{"url": "https://x.example/", "concurrency": 1001}', "invalid concurrency: 1 to 1,000"),
    ('{"url": "https://x.example/", "rate": 0}', "invalid rate: 0.01 to 10,000 per second"),
    ('{"url": "https://x.example/", "rate": "1"}', "invalid rate: expected a number of requests per second, or null"),
    ('{"url": "https://x.example/", "enabled": 1}', "invalid enabled"),
    ('{"url": "https://x.example/", "headers": ["a"]}', "invalid headers: expected an object of names and texts"),
    (
        '{"url": "https://x.example/", "headers": {"Host": "a"}}',
        "invalid headers: the header Host is set by taskq itself",
    ),
    (
        '{"url": "https://x.example/", "secret": "short"}',
        "invalid secret: expected whsec_ and the base64 of 24 to 64 bytes",
    ),
    (
        '{"url": "https://x.example/", "retries": 3}',
        "invalid retries: the members are url, enabled, timeout, concurrency, rate, headers, secret",
    ),
)

PUSHING = [
    case(
        "push.put", "a new one", f"PUT {PUSH}", 201, {**ENDPOINT, "secret": WHSEC}, body=json.dumps({"url": PUSH_URL})
    ),
    Case(
        route="push.put",
        title="again, with everything",
        request=f"PUT {PUSH}",
        body=json.dumps(
            {
                "url": PUSH_URL,
                "enabled": False,
                "timeout": 5,
                "concurrency": 2,
                "rate": 0.5,
                "headers": {"X-A": "b", "Authorization": "Bearer hidden"},
            }
        ),
        status=200,
        want={
            **ENDPOINT,
            "enabled": False,
            "timeout": 5,
            "concurrency": 2,
            "rate": 0.5,
            "headers": {"X-A": "b", "Authorization": "••••••"},
        },
        prepare=pushed,
    ),
    *[
        Case(route="push.put", title=body, request=f"PUT {PUSH}", body=body, status=400, want=error(words))
        for body, words in _BAD_PUSH
    ],
    Case(route="push.show", title="one", request=f"GET {PUSH}", status=200, want=ENDPOINT, prepare=pushed),
    Case(route="push.show", title="none", request=f"GET {PUSH}", status=404, want=NO_ENDPOINT),
    Case(route="push.delete", title="one", request=f"DELETE {PUSH}", status=204, prepare=pushed),
    Case(route="push.delete", title="none", request=f"DELETE {PUSH}", status=204),
    *[
        Case(
            route=f"push.{verb}",
            title="one",
            request=f"POST {PUSH}/{verb}",
            status=200,
            want={"msg": f"{verb}d", "changed": verb == "pause"},
            prepare=pushed,
        )
        for verb in ("pause", "resume")
    ],
    *[
        Case(route=f"push.{verb}", title="none", request=f"POST {PUSH}/{verb}", status=404, want=NO_ENDPOINT)
        for verb in ("pause", "resume", "rotate", "test")
    ],
    case("push.rotate", "one", f"POST {PUSH}/rotate", 200, {"secret": WHSEC}, prepare=pushed),
    *[
        case("push.rotate", body, f"POST {PUSH}/rotate", 400, error("invalid overlap"), body=body, prepare=pushed)
        for body in ('{"overlap": -1}', '{"overlap": 99999999}', '{"overlap": "1"}')
    ],
    *[
        Case(
            route=f"push.{verb}",
            title="64 KiB and a byte",
            request=f"{method} {PUSH}{path}",
            body=b" " * 65_537,
            status=413,
            want=error("body too large"),
        )
        for verb, method, path in (("put", "PUT", ""), ("rotate", "POST", "/rotate"))
    ],
    case("push.test", "one", f"POST {PUSH}/test", 202, {"msg": "a pusher will send it"}, prepare=pushed),
    Case(
        route="push.deliveries",
        title="none yet",
        request=f"GET {PUSH}/deliveries",
        status=200,
        want={
            **NAMES,
            "delivered": 0,
            "failed": 0,
            "returned": 0,
            "failed_in_a_row": 0,
            "delivered_at_ms": None,
            "failed_at_ms": None,
            "deliveries": [],
            "failures": [],
        },
        prepare=pushed,
    ),
    Case(route="push.deliveries", title="no endpoint", request=f"GET {PUSH}/deliveries", status=404, want=NO_ENDPOINT),
]

DEPLOYS = "/api/{ns}/deploys"
NOTED = {"version": re.compile(r"v1-q\d+\Z"), "at_ms": whole(1, 10**14)}


def deployed(client: Client, queue: str) -> dict[str, str]:
    reply = client.call("POST", "/api/{ns}/deploys", f'{{"version": "v1-{queue}"}}')
    assert reply.status == 201, reply
    return {}


DEPLOY_ROUTES = [
    Case(
        route="deploys.note",
        title="noted",
        request=f"POST {DEPLOYS}",
        body='{"version": "v1-{queue}"}',
        status=201,
        want={"msg": "noted", "deploy": NOTED},
    ),
    Case(
        route="deploys.note",
        title="twice within a minute",
        request=f"POST {DEPLOYS}",
        body='{"version": "v1-{queue}"}',
        status=200,
        want={"msg": "noted before", "deploy": NOTED},
        prepare=deployed,
    ),
    *[
        case("deploys.note", content, f"POST {DEPLOYS}", 400, error(words), body=content)
        for content, words in (
            ("[]", "request body should be an object"),
            ("", "invalid version: 1 to 100 printable characters"),
            ('{"version": "a\\u0000"}', "invalid version: 1 to 100 printable characters"),
            ('{"version": 1}', "invalid version: expected a text"),
            ('{"version": "v1", "sha": "x"}', "unknown 'sha'; there are version"),
        )
    ],
    case("deploys.note", "too large", f"POST {DEPLOYS}", 413, error("body too large"), body=b"x" * 4_097),
]

OPEN = [
    Case(route="health.healthz", title="alive", request="GET /healthz", status=200, want={"status": "ok"}),
    Case(route="health.readyz", title="ready", request="GET /readyz", status=200, want={"status": "ready"}),
    case("health.readyz", "an unknown pool", "GET /readyz?pool=nowhere", 404, {"error": "pool not found"}),
]

CASES = [
    *PUBLISH,
    *PUBLISH_BULK,
    *REPUBLISH,
    *CONSUME,
    *FINISH,
    *READ,
    *DEAD_LETTERS,
    *JOBS,
    *WORKERS,
    *SCHEDULE_ROUTES,
    *DEPLOY_ROUTES,
    *WORKFLOW_ROUTES,
    *QUEUES,
    *PUSHING,
    *OPEN,
]

CASES_OF_ROUTES = {
    route: [case for case in CASES if case.route == route] for route in dict.fromkeys(case.route for case in CASES)
}
