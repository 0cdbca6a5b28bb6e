"""`taskq schedules sync`: tells the service which schedules the code declares."""

from __future__ import annotations

import argparse
import asyncio
from typing import Any

from ..app import App
from ..schedule_sync import Synced, app_name, sync_schedules
from .apps import load_app, module_of
from .printing import print_text


def add_commands(commands: Any) -> None:
    """`schedules`, with its one verb."""
    schedules = commands.add_parser("schedules", help="tell the service which schedules the code declares")
    verbs = schedules.add_subparsers(dest="verb", metavar="VERB", required=True)
    sync = verbs.add_parser(
        "sync",
        help="create and change the service's schedules as the tasks declare them; remove those that are gone",
        description="Bring the service's schedules in line with those that tasks declare. Run it at each deploy.",
    )
    sync.add_argument("app", help="module, or module:attribute, with the app")
    sync.set_defaults(command=_sync)


def _sync(options: argparse.Namespace) -> int:
    app = load_app(options.app)
    done = asyncio.run(_sync_app(app, app_name(app, module_of(options.app))))
    for words, names in (("created", done.created), ("kept", done.updated), ("removed", done.removed)):
        for name in names:
            print_text(f"{words} {name}")
    if not (done.created or done.updated or done.removed):
        print_text("no schedules are declared")
    return 0


async def _sync_app(app: App, name: str) -> Synced:
    try:
        return await sync_schedules(app, name)
    finally:
        await app.aclose()
