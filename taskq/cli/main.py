"""The command line: finds the command, runs it, and prints errors."""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Callable
from typing import Final

from queues import __version__

COMMANDS: Final = (
    "init",
    "dev",
    "worker",
    "run",
    "enqueue",
    "queues",
    "jobs",
    "job",
    "cancel",
    "retry",
    "delete",
    "dead",
    "workers",
    "schedules",
    "stats",
    "pause",
    "resume",
)
"""Those of this package; all others are the server's."""

BY_URL: Final = ("--url", "--namespace", "--token")
"""Options that say where taskq is. `token` has none of them: it needs the server's database."""

EPILOG: Final = """\
The server's commands: up, serve, runpump, runpusher, runreport, token, pool and Django's own; see `taskq help`.
Where taskq is: --url, TASKQ_URL (redis://... or https://... with TASKQ_TOKEN), or the `taskq dev` of this folder.
"""


def main() -> None:
    """Run the command of `sys.argv`."""
    arguments = sys.argv[1:]
    if arguments and arguments[0] not in (*COMMANDS, "-h", "--help", "--version"):
        if arguments[0] == "token" and any(word.partition("=")[0] in BY_URL for word in arguments):
            sys.exit(
                f"taskq: token takes no {', '.join(BY_URL)}: tokens are kept in the server's database. Run it with the "
                "server's DATABASE_URL or TASKQ_DATA_DIR; elsewhere, staff manage tokens by the dashboard or /token/"
            )
        from taskq_site.__main__ import main as run_server_command

        run_server_command()
        return
    sys.exit(_run(arguments))


def _run(arguments: list[str]) -> int:
    from queues.engine import TaskqError
    from queues.odd_characters import spell_out

    from ..errors import TaskqClientError

    parser = _parser()
    options, rest = parser.parse_known_args(arguments)
    command: Callable[..., int] | None = getattr(options, "command", None)
    if command is None:
        parser.print_help()
        return 0
    if rest and options.name not in ("run", "enqueue"):
        parser.error(f"unrecognized arguments: {' '.join(rest)}")
    try:
        return command(options, rest) if options.name in ("run", "enqueue") else command(options)
    except (TaskqClientError, TaskqError) as error:
        print(spell_out(f"taskq: {error}"), file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:  # `taskq jobs ... | head` has read enough; Python would complain again when it ends
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 128 + signal.SIGPIPE


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="taskq",
        description="Task queue: tasks, workers, jobs.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"taskq {__version__}")
    commands = parser.add_subparsers(dest="name", metavar="COMMAND")
    from . import getting_started, inspector, run_task, sync

    getting_started.add_commands(commands)
    run_task.add_commands(commands)
    inspector.add_commands(commands)
    sync.add_commands(commands)
    return parser
