"""Processes that flush groups are killed: no member is lost, and none is in two batches."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
from base64 import b64decode
from collections import Counter

from queues.engine import (
    Engine,
    PublishOptions,
    ack,
    consume_any,
    flush_due,
    flush_group,
    open_engine,
    publish,
    server_time,
)

KILLS = 25


def test_a_flush_that_is_killed_loses_nothing_and_repeats_nothing(redis_url: str) -> None:
    engine = open_engine(redis_url)
    queues = [engine.queue("shop", f"q{number}") for number in range(4)]
    sent: Counter[str] = Counter()
    chance = random.Random(7)
    with subprocess.Popen(
        [sys.executable, "-m", "tests.running.flusher", redis_url],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as flushers:
        assert flushers.stdin is not None
        assert flushers.stdout is not None

        def start() -> int:
            flushers.stdin.write("\n")  # type: ignore[union-attr]
            flushers.stdin.flush()  # type: ignore[union-attr]
            return int(flushers.stdout.readline())  # type: ignore[union-attr]

        running = [start(), start()]
        for _ in range(KILLS):
            for _ in range(chance.randrange(5, 40)):
                options = PublishOptions(
                    group=chance.choice("abcdef"),
                    group_max_size=chance.choice((3, 50)),
                    group_grace_ms=chance.choice((1, 3, 10)),
                    delay_ms=chance.choice((0, 0, 2)),
                )
                bodies = [b"%d" % chance.randrange(10**12) for _ in range(chance.randrange(1, 20))]
                sent.update(body.decode() for body in bodies)
                engine.run(publish(chance.choice(queues), bodies, options))
            os.kill(running.pop(0), signal.SIGKILL)
            running.append(start())
        for pid in running:
            os.kill(pid, signal.SIGKILL)
        flushers.stdin.close()
    found: Counter[str] = Counter()
    _finish(engine)
    while jobs := engine.run(consume_any(queues, ttr_ms=60_000, count=50)).jobs:
        for job in jobs:
            found.update(b64decode(member["data"]).decode() for member in json.loads(job.body)["members"])
            engine.run(ack(engine.queue("shop", job.queue), [job.job_id]))

    engine.close()
    assert found == sent


def _finish(engine: Engine) -> None:
    """Let members join whose delay is over, and flush what is left."""
    later = engine.run(server_time())
    for _ in range(2):  # members that join have their group's times before them
        later += 60_000
        while engine.run(flush_due(engine.layout, now_ms=later)).more:
            pass
    for number in range(4):
        for group in "abcdef":
            assert not engine.run(flush_group(engine.queue("shop", f"q{number}"), group, now_ms=later)).batches
