"""A relay that publishes over HTTP, to a taskq server."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from taskq.brokers.http import HttpBroker
from taskq.django import DjangoApp
from taskq.django.outbox.relay import OutboxRelay
from tests.http.service import open_site

from .conftest import add, jobs, refused, waiting
from .flaky import killed
from .test_relay import work_off

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HttpBroker]:
    with open_site(tmp_path_factory.mktemp("outbox-http")) as site, site.serve() as server:
        broker = HttpBroker(server.url, site.account["namespace"], site.account["token"])
        yield broker
        broker.close()


def test_rows_become_jobs_in_order_and_once(app: DjangoApp, broker: HttpBroker) -> None:
    app.broker = broker
    bodies = [b"%d" % number for number in range(4)]
    for body in bodies:
        add(body)
    add(b"bad", priority=101)
    relay = OutboxRelay(app, using="default")
    with killed(relay, "after the publish", at_call=2):
        pass
    assert jobs(app) == bodies[:2]
    done = work_off(app)

    assert relay.tick().published == 4

    assert [*done, *work_off(app)] == bodies
    assert (waiting(), refused()) == (0, [("orders", "invalid priority")])


def test_a_token_that_is_not_accepted_is_no_fault_of_the_rows(app: DjangoApp, broker: HttpBroker) -> None:
    app.broker = HttpBroker(broker.url, broker.namespace, "not-the-token-of-the-namespace")
    add(b"1")

    relayed = OutboxRelay(app, using="default").tick()

    assert "does not accept the token" in str(relayed.error)
    assert (waiting(), refused()) == (1, [])
