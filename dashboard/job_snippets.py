"""A job as a command that publishes it again, and as a test in Python that runs its task. Never with a token."""

from __future__ import annotations

import base64
import json
import re
from pprint import pformat
from shlex import quote
from typing import Any, Final
from urllib.parse import urlencode

from queues.engine.backoff import BackoffKind
from queues.engine.values import JobDetail
from queues.odd_characters import ODD

from .formatting import visible_text

WRITTEN_MAX: Final = 16 * 1024
"""Bytes of a body that is written into a command; a longer one has to be downloaded."""

_NO_NAME: Final = re.compile(r"[^0-9A-Za-z]+")


def curl_of(job: JobDetail, *, origin: str) -> str:
    """A command line for sh that publishes a job with the same body and options, but without the idempotency key: the
    same one would make it a duplicate. `origin`: as `https://taskq.example.com`.
    """
    query = urlencode(_options(job))
    url = f"{origin}/api/{job.namespace}/{job.queue}" + (f"?{query}" if query else "")
    lines = [f"curl -X PUT {quote(url)}", '-H "X-Token: $TASKQ_TOKEN"']
    if job.attributes:
        lines.append("-H 'Enable-Job-Version: YES'")
        lines += [f"-H {_quoted(f'Job-Attr-{name}: {value}')}" for name, value in job.attributes.items()]
    before, data = _data(job)
    return before + " \\\n  ".join([*lines, data])


def _options(job: JobDetail) -> dict[str, str]:
    options = {"tries": str(job.tries)}
    options["ttl"] = str(max(1, round((job.expires_ms - job.published_ms) / 1000))) if job.expires_ms else "0"
    if job.priority:
        options["priority"] = str(job.priority)
    if job.backoff.kind is not BackoffKind.NONE:
        options["backoff"] = str(job.backoff)
    if job.retention_ms:
        options["retention"] = str(job.retention_ms // 1000)
    named = {"limit_key": job.limit_key, "group": job.group}
    return options | {name: value for name, value in named.items() if value}


def _data(job: JobDetail) -> tuple[str, str]:
    """What comes before the command, and its option for the body."""
    if job.body_bytes > WRITTEN_MAX:
        return "", f"--data-binary @{job.job_id}.body.bin"
    text = _text(job.body)
    if text is None:
        return f"echo {base64.b64encode(job.body).decode()} | base64 -d | ", "--data-binary @-"
    return "", f"--data-raw {quote(text)}"


def _text(body: bytes) -> str | None:
    """What a shell and a page carry unchanged; None: it has other bytes."""
    try:
        text = body.decode()
    except UnicodeDecodeError:
        return None
    return None if ODD.search(text) else text


def _quoted(text: str) -> str:
    """For sh. What cannot be seen is written by its bytes."""
    if not ODD.search(text):
        return quote(text)
    octal = "".join(f"\\{byte:03o}" for byte in text.encode())
    return f"\"$(printf '{octal}')\""


def test_of(job: JobDetail) -> str:
    """A test that runs the job's task with its arguments; "" for a body that is no task's, or is sealed or long."""
    message = _message(job)
    if message is None:
        return ""
    arguments = [f"*{pformat(message['args'], width=90)}"] if message.get("args") else []
    arguments += [f"**{pformat(message['kwargs'], width=90, sort_dicts=False)}"] if message.get("kwargs") else []
    call = ",\n".join(_indented(one) for one in arguments)
    enqueue = f"enqueue(\n{call},\n        )" if call else "enqueue()"
    return f"""from taskq.testing import inline

from tasks import app  # the module of your App


def test_{_name(message["task"])}_{job.job_id[-6:].lower()}():
    # {_history(job)}
    with inline(app):
        job = app.find_task({json.dumps(message["task"])}).{enqueue}

    job.result()
"""


def _message(job: JobDetail) -> dict[str, Any] | None:
    if job.body_bytes > WRITTEN_MAX:
        return None
    try:
        message = json.loads(job.body)
    except (ValueError, RecursionError):
        return None
    if not isinstance(message, dict) or not isinstance(message.get("task"), str) or not message["task"]:
        return None
    is_sealed = "encrypted" in message or message.get("serializer")
    is_sound = isinstance(message.get("args", []), list) and isinstance(message.get("kwargs", {}), dict)
    return message if is_sound and not is_sealed else None


def _indented(text: str) -> str:
    return "\n".join(f"            {line}" for line in text.splitlines())


def _name(task: str) -> str:
    return _NO_NAME.sub("_", task).strip("_").lower()[:60] or "task"


def _history(job: JobDetail) -> str:
    """One line about where it comes from, and what happened to it."""
    said = f"job {job.job_id} of {job.namespace}/{job.queue}"
    if not job.history:
        return said
    error = visible_text(" ".join(job.history[-1].error.split()[-40:]))[:160]
    return f"{said}; attempt {job.history[-1].attempt} ended with: {error or job.history[-1].outcome}"
