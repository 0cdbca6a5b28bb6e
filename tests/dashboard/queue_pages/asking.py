"""Asks for pages of the queue, posts what their buttons post, and tells what was noted of it."""

from __future__ import annotations

import re
from typing import Any

from django.test import Client

from queues.models import Activity
from tests.dashboard.shop import AT

JSON = {"HTTP_ACCEPT": "application/json"}
LIVE = {"HTTP_X_LIVE": "1"}


def page(client: Client, path: str = "", **headers: str) -> str:
    response = client.get(AT + path, **headers)  # type: ignore[arg-type]
    assert response.status_code == 200, response.content.decode()
    return response.content.decode()


def post(client: Client, path: str, data: dict[str, Any] | None = None, *, status: int = 302, **headers: str) -> Any:
    response = client.post(AT + path, data or {}, **headers)  # type: ignore[arg-type]
    assert response.status_code == status, response.content.decode()
    return response.json() if headers == JSON else response


def noted() -> list[tuple[str, str, int | None]]:
    acts = Activity.objects.exclude(action="signed_in").order_by("pk")
    return [(one.who, one.action, one.count) for one in acts]


def page_after(client: Client, response: Any) -> str:
    """Where the answer to an action leads."""
    return client.get(response["Location"]).content.decode()


def uncoloured(text: str) -> str:
    """Without the colours of JSON."""
    return re.sub(r'<span class="json-\w+">|</span>', "", text)
