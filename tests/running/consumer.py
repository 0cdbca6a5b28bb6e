"""A consumer as its own program: plain Python over one kept connection. Run as `consumer.py ADDRESS TOKEN QUEUE LOG`.

Each job's body says what is to be done with it: `ok` acknowledge, `fail` say that it failed, `drop` say nothing and let
the lease run out; `once` the same but only at the first attempt. Every delivery is a line in LOG before it is dealt
with, so that what a killed consumer had in hand is known.
"""

from __future__ import annotations

import base64
import http.client
import json
import os
import sys
import time
from typing import Any

BATCH = 10
TTR_S = 4


def main(address: str, token: str, queue: str, log_path: str) -> None:
    log = os.open(log_path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    while True:
        connection = http.client.HTTPConnection(address, timeout=20)
        try:
            while True:
                for job in take(connection, token, queue):
                    deal_with(connection, token, queue, job, log)
        except (OSError, http.client.HTTPException):  # the server was killed: it comes back
            time.sleep(0.1)
        finally:
            connection.close()


def take(connection: http.client.HTTPConnection, token: str, queue: str) -> list[dict[str, Any]]:
    status, content = call(connection, token, "GET", f"{queue}?timeout=1&count={BATCH}&ttr={TTR_S}")
    return json.loads(content) if status == 200 else []


def deal_with(connection: http.client.HTTPConnection, token: str, queue: str, job: dict[str, Any], log: int) -> None:
    body = json.loads(base64.b64decode(job["data"]))
    attempt = body["tries"] - job["remain_tries"]
    os.write(log, f"{job['job_id']} {attempt} {job['elapsed_ms']} {body['delay_ms']}\n".encode())
    what, _, when = body["do"].partition(" ")
    if when == "once" and attempt > 1:
        what = "ok"
    path = f"{queue}/job/{job['job_id']}"
    if what == "ok":
        call(connection, token, "DELETE", path)
    elif what == "fail":
        call(connection, token, "POST", f"{path}/fail?attempt={attempt}", '{"error": "on purpose"}')


def call(
    connection: http.client.HTTPConnection, token: str, method: str, path: str, body: str | None = None
) -> tuple[int, bytes]:
    connection.request(method, f"/api/demo/{path}", body, {"X-Token": token})
    response = connection.getresponse()
    content = response.read()
    if response.status >= 500:
        raise http.client.HTTPException(f"{method} {path}: {response.status}")
    return response.status, content


if __name__ == "__main__":
    main(*sys.argv[1:])
