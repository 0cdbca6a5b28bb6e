"""Other task queues, measured as taskq is: one worker process, no-op tasks, between the first and the last of them.

Each is a script of its own (`celery_peer.py`, ...), run by a Python that has the package: `enqueue JOBS FOLDER` puts a
job that marks its time, JOBS no-ops, and another such job, and prints how many seconds that took; `worker` runs one
worker process.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Final

from ...tools import VoidRunError

FOLDER: Final = Path(__file__).parent
PEERS: Final = ("celery", "dramatiq", "rq", "huey", "arq", "taskiq", "bullmq")
HOW_ENQUEUED: Final = {
    "celery": "one by one",
    "dramatiq": "one by one",
    "rq": "all at once",
    "huey": "one by one",
    "arq": "20 at once",
    "taskiq": "500 at once",
    "bullmq": "500 at once",
}
GIVE_UP_S: Final = 120.0


def measure_peer(python: str, peer: str, port: int, jobs: int) -> tuple[float, float]:
    """Jobs a second that ran, and that were enqueued. Raises VoidRunError with what it said."""
    script = str(FOLDER / f"{peer}_peer.py")
    with tempfile.TemporaryDirectory() as folder:
        env = {**os.environ, "PEER_REDIS": f"redis://127.0.0.1:{port}/0", "PYTHONPATH": str(FOLDER)}
        done = subprocess.run(
            [python, script, "enqueue", str(jobs), folder],
            env=env,
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise VoidRunError(done.stderr.strip().splitlines()[-1] if done.stderr else "it did not enqueue")
        enqueued = jobs / float(done.stdout.split()[-1])
        first, last = Path(folder) / "first", Path(folder) / "last"
        with open(Path(folder) / "log", "w") as log:
            worker = subprocess.Popen(
                [python, script, "worker"], env=env, cwd=folder, stdout=log, stderr=log, start_new_session=True
            )
        try:
            ends = time.monotonic() + GIVE_UP_S
            while not (last.exists() and last.read_text()):
                if time.monotonic() > ends or worker.poll() is not None:
                    raise VoidRunError((Path(folder) / "log").read_text().strip()[-300:] or "it did not end")
                time.sleep(0.01)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(worker.pid, signal.SIGKILL)  # of a session that was begun above
            worker.wait()
        return jobs / (float(last.read_text()) - float(first.read_text())), enqueued
