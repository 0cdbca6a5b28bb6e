"""What the started service prints: which address to open and what to type, or the same for a program."""

from __future__ import annotations

import json

from .service import Running


def as_json(running: Running) -> str:
    """One line."""
    account = running.account
    return json.dumps(
        {
            "url": running.url,
            "namespace": account.namespace,
            "token": account.token,
            "admin": {"username": account.username, "password": account.password},
            "redis": running.redis_url,
        }
    )


def as_text(running: Running, *, demo: bool) -> str:
    """A screenful. The lines to type work as they stand."""
    url, account = running.url, running.account
    password = account.password if account.password is not None else "(the one you chose)"
    queue = f"{url}/api/{account.namespace}/greetings"
    header = f"-H 'X-Token: {account.token}'"
    return f"""
taskq is up.

  dashboard   {url}/
  admin       {url}/admin/
  sign in as  {account.username}, password {password}
  API docs    {url}/api/docs
  Redis       {running.redis_url}
  data, logs  {running.data_dir}{_demo_line(account.namespace) if demo else ""}

Publish a job that is due in a second, take it, acknowledge it:

  curl -X PUT {header} -d 'hello' '{queue}?delay=1'
  curl {header} '{queue}?timeout=5'
  curl -X DELETE {header} '{queue}/job/JOB_ID'

Ctrl-C stops everything.
"""


def _demo_line(namespace: str) -> str:
    return f"\n  demo load   queues order-close, emails and images in namespace {namespace}; --no-demo leaves it out"
