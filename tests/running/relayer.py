"""Makes pumps that kill themselves at a chosen step of a relay: `python -m tests.running.relayer`.

For each line `MOMENT STEP` on its input it forks a process that runs `manage.py runpump --once`, which gets SIGKILL
before or after the batch of that number which a relay sends; for `never 0` one that runs to its end. It answers with
the exit status, negative for a signal. Forked, since to start one anew takes seconds.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence
from typing import Any

import django

STEPS = frozenset(
    "read_outgoing list_dependants list_waits find_blocked subscribe unsubscribe settle rebind_dependants "  # noqa: SIM905
    "forget_waits forget_dependants".split()
)


def die_at(moment: str, step: int) -> None:
    """Have this process end at that batch of its relays."""
    from queues.engine import Engine, Operation

    run_batch, sent = Engine.batch, 0

    def batch(engine: Engine, operations: Sequence[Operation[Any]]) -> list[Any]:
        nonlocal sent
        sent += any(operation.script.name in STEPS for operation in operations)
        is_it = sent == step and any(operation.script.name in STEPS for operation in operations)
        if is_it and moment == "before":
            os.kill(os.getpid(), signal.SIGKILL)
        results = run_batch(engine, operations)
        if is_it and moment == "after":
            os.kill(os.getpid(), signal.SIGKILL)
        return results

    Engine.batch = batch  # type: ignore[method-assign,assignment]


def main() -> None:
    django.setup()
    from django.core.management import call_command
    from django.db import connection

    from queues.management.commands import runpump

    assert runpump  # imported before the forks
    connection.close()
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what the pumps print is no answer
    for line in sys.stdin:
        moment, step = line.split()
        pid = os.fork()
        if pid == 0:
            die_at(moment, int(step))
            call_command("runpump", once=True)
            os._exit(0)
        print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), file=answers, flush=True)


if __name__ == "__main__":
    main()
