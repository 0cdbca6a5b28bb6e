"""Which broker a URL means, and where the URL comes from if none is given."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Final

from queues.engine import InvalidArgumentError, parse_url

from ..errors import NotConfiguredError
from .base import Broker
from .redis import RedisBroker

DEV_FILE: Final = Path(".taskq") / "dev.json"
"""Where `taskq dev` says how it is reached, in the folder in which it runs."""


def open_broker(url: str | None, *, namespace: str | None, token: str | None) -> Broker:
    """The broker for a URL, by default that of TASKQ_URL, or of the `taskq dev` of this folder or one above it.

    `redis://`, `rediss://`, `unix://`, Sentinel and Cluster URLs, or `http(s)://` with a token (TASKQ_TOKEN). The
    namespace is TASKQ_NAMESPACE or `default`. Raises NotConfiguredError.
    """
    url = url or os.environ.get("TASKQ_URL") or None
    namespace = namespace or os.environ.get("TASKQ_NAMESPACE") or None
    if url is None:
        found = dev_settings()
        if found is None:
            raise NotConfiguredError(
                "where is taskq? Give App(url=...) or set TASKQ_URL (redis://... or https://... with TASKQ_TOKEN), "
                "or start `taskq dev` in this folder"
            )
        url, namespace = found["url"], namespace or found["namespace"]
    if url.startswith(("http://", "https://")):
        from .http import HttpBroker

        token = token or os.environ.get("TASKQ_TOKEN") or ""
        return HttpBroker(url, namespace or "default", token)
    try:
        parse_url(url)
        return RedisBroker(url, namespace or "default")
    except InvalidArgumentError as error:
        raise NotConfiguredError(f"{error}: set TASKQ_URL, or App(url=...), to redis://... or https://...") from error


def dev_settings() -> dict[str, str] | None:
    """What the `taskq dev` of this folder, or one above it, says: `url`, `namespace`, and `http` with its `token`."""
    here = Path.cwd()
    for folder in (here, *here.parents):
        try:
            content = json.loads((folder / DEV_FILE).read_text())
            found = {"url": str(content["url"]), "namespace": str(content["namespace"])}
            return found | {name: str(content[name]) for name in ("http", "token") if name in content}
        except (OSError, ValueError, KeyError, TypeError):
            continue
    return None
