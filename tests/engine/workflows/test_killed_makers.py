"""A process that makes a workflow is killed (SIGKILL) at any of its calls: there is a whole workflow, or none."""

from __future__ import annotations

import subprocess
import sys

from queues.engine import open_engine

from .shop import Shop
from .test_cut_off import CALLS_MAX, check_created, check_end, run_to_the_end

MAKER = """
import os, signal, sys
from queues.engine import Engine, open_engine
from tests.engine.workflows.shop import Shop
from tests.engine.workflows.test_cut_off import NODES

left = int(sys.argv[2])

def before_call():
    global left
    left -= 1
    if left < 0:
        os.kill(os.getpid(), signal.SIGKILL)

opened = open_engine(sys.argv[1], partitions=8)
Shop(Engine(opened.client, opened.layout, before_call=before_call)).create(*NODES)
"""


def test_a_process_that_is_killed_at_any_of_its_calls_leaves_a_whole_workflow_or_none(redis_url: str) -> None:
    engine = open_engine(redis_url, partitions=8)
    ends = []
    for calls in range(CALLS_MAX):
        engine.client.flushall()
        done = subprocess.run([sys.executable, "-c", MAKER, redis_url, str(calls)], check=False)

        shop = Shop(engine)
        engine.client.hset("taskq:meta", mapping={"partitions": 8, "layout": 1})
        order = run_to_the_end(shop)
        check_created(shop, order)
        ends.append((done.returncode, bool(order)))
        check_end(shop)
        if done.returncode == 0:
            break
    engine.close()
    assert ends[0] == (-9, False)
    assert (-9, True) in ends, "it was killed between the commit and the end"
    assert ends[-1] == (0, True)
