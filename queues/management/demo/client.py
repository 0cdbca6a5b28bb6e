"""As much of the HTTP API as the demo needs, on one kept connection."""

from __future__ import annotations

import base64
import http.client
import json
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlencode, urlsplit

WAIT_S: Final = 5
"""How long one consume waits at the server."""


class ServiceAwayError(Exception):
    """The service cannot be reached or cannot do it now: come back later."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A job in hand."""

    queue: str
    job_id: str
    body: dict[str, Any]


class Client:
    """Not to be shared between threads."""

    def __init__(self, *, url: str, namespace: str, token: str, name: str) -> None:
        self._connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=WAIT_S + 10)
        self._root = f"/api/{namespace}"
        self._headers = {"X-Token": token, "X-Consumer": name}

    def publish(self, queue: str, body: dict[str, Any], **options: str | float) -> str:
        """The id of the new job."""
        return str(self._call("PUT", queue, json.dumps(body), **options)["job_id"])

    def publish_all(self, queue: str, bodies: list[dict[str, Any]], **options: str | float) -> None:
        self._call("PUT", f"{queue}/bulk", json.dumps(bodies), **options)

    def consume(self, queue: str, *, ttr: int) -> Job | None:
        """The next job, waiting for one a few seconds."""
        answer = self._call("GET", queue, ttr=ttr, timeout=WAIT_S)
        if "job_id" not in answer:
            return None
        return Job(queue=queue, job_id=answer["job_id"], body=json.loads(base64.b64decode(answer["data"])))

    def delete(self, queue: str, job_id: str) -> None:
        """Acknowledge a job in hand, or take back one that waits."""
        self._call("DELETE", f"{queue}/job/{job_id}")

    def fail(self, job: Job, error: str) -> None:
        self._call("POST", f"{job.queue}/job/{job.job_id}/fail", json.dumps({"error": error}))

    def count_ready(self, queue: str) -> int:
        return int(self._call("GET", f"{queue}/size")["size"])

    def count_dead(self, queue: str) -> int:
        return int(self._call("GET", f"{queue}/deadletter/size")["size"])

    def respawn(self, queue: str, *, limit: int) -> None:
        self._call("PUT", f"{queue}/deadletter", limit=limit)

    def bury_for_good(self, queue: str, *, limit: int) -> None:
        self._call("DELETE", f"{queue}/deadletter", limit=limit)

    def _call(self, method: str, path: str, body: str | None = None, **query: str | float) -> dict[str, Any]:
        """What the service answers; empty for no content. 4xx are answers, too. Raises ServiceAwayError."""
        try:
            self._connection.request(method, f"{self._root}/{path}?{urlencode(query)}", body, self._headers)
            response = self._connection.getresponse()
            content = response.read()
            if response.status >= 500 or response.status == 429:
                raise ServiceAwayError(f"{method} {path}: {response.status}")
            answer: dict[str, Any] = json.loads(content) if content else {}
        except (OSError, http.client.HTTPException, ValueError) as error:
            self._connection.close()
            raise ServiceAwayError(f"{method} {path}: {error}") from error
        return answer
