"""A publish under an id (`once=`), which may be repeated."""

from __future__ import annotations

from tests.http.client import Client


def test_a_repeated_publish_is_answered_as_the_first_and_adds_nothing(client: Client, queue: str) -> None:
    first = client.call("PUT", f"/api/{{ns}}/{queue}?once=a&key=k&key_mode=until_done", b"job")
    job = client.take(queue)
    client.call("DELETE", f"/api/{{ns}}/{queue}/job/{job['job_id']}")

    again = client.call("PUT", f"/api/{{ns}}/{queue}?once=a&key=k&key_mode=until_done", b"job")
    other = client.call("PUT", f"/api/{{ns}}/{queue}?once=b", b"job")

    assert (first.status, first.json) == (201, {"msg": "published", "job_id": job["job_id"]})
    assert (again.status, again.body) == (first.status, first.body)
    assert other.json["job_id"] != job["job_id"]
    assert client.call("GET", f"/api/{{ns}}/{queue}/size").json["size"] == 1
