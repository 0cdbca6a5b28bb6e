"""Runs coroutines from tests."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from asgiref.sync import sync_to_async
from django.db import connections

T = TypeVar("T")


def run_async(work: Coroutine[Any, Any, T]) -> T:
    """`asyncio.run`, and then the database connection of Django's thread is closed: it would keep the test database."""

    async def run() -> T:
        try:
            return await work
        finally:
            await sync_to_async(connections.close_all)()

    return asyncio.run(run())
