"""The threads in which staff's passwords and sessions are looked at.

A thread waits while its password waits to be hashed (`queues.services.sign_ins.password_checks`), which bounds how many
do. There are more threads than that, so sessions and passwords that need no hashing never stand behind guesses.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, Final, TypeVar

from queues.services.sign_ins.password_checks import LINE_MAX, PROGRAMS_LINE_MAX

from .metadata_threads import with_fresh_connections

T = TypeVar("T")

THREADS: Final = LINE_MAX + 2 * PROGRAMS_LINE_MAX + 4
"""Strangers, known clients and suspects may wait in as many as they have places; the last four are for the rest."""

_threads: Final = ThreadPoolExecutor(max_workers=THREADS, thread_name_prefix="taskq-staff")


async def call_for_staff(function: Callable[..., T], *args: Any) -> T:
    """Run `function` in one of these threads."""
    work = partial(with_fresh_connections, function, *args)
    return await asyncio.get_running_loop().run_in_executor(_threads, work)
