"""`taskq run` and `taskq enqueue`: a task by its name, with arguments as options."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from typing import Any

from queues.odd_characters import spell_out

from ..errors import JobFailedError, JobGoneError, NotConfiguredError
from ..job import Job
from ..task import Task
from .apps import load_task


def add_commands(commands: Any) -> None:
    """`run` and `enqueue`."""
    for name, text in (
        ("run", "run a task by a worker, and print its result"),
        ("enqueue", "enqueue a task, and print the job's id"),
    ):
        parser = commands.add_parser(
            name,
            allow_abbrev=False,  # --t is an argument of the task
            help=text,
            description=f"{text[0].upper()}{text[1:]}. Arguments: --name value, or positional ones, as JSON or text.",
        )
        parser.add_argument("task", help="module.task, as in tasks.hello")
        parser.add_argument(
            "--timeout", type=float, default=300.0, metavar="S", help="how long to wait for the result (%(default)g)"
        )
        parser.set_defaults(command=_run if name == "run" else _enqueue)


def _run(options: argparse.Namespace, rest: Sequence[str]) -> int:
    task = load_task(options.task)
    args, kwargs = parse_arguments(rest)
    kept = task if task.options.retention_s > 0 else task.using(retention=600)
    job: Job[Any] = _checked(kept, args, kwargs)
    try:
        value = job.result(timeout=options.timeout)
    except (JobFailedError, JobGoneError) as error:
        print(spell_out(f"taskq: {error}"), file=sys.stderr)
        return 1
    print(value if isinstance(value, str) else json.dumps(value, default=str, ensure_ascii=False))
    return 0


def _enqueue(options: argparse.Namespace, rest: Sequence[str]) -> int:
    args, kwargs = parse_arguments(rest)
    print(_checked(load_task(options.task), args, kwargs).id)
    return 0


def _checked(task: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Job[Any]:
    declared: Task[..., Any] = task.task
    try:
        declared.read_arguments(args, kwargs)
    except Exception as error:
        raise NotConfiguredError(str(error)) from error
    job: Job[Any] = task.enqueue(*args, **kwargs)
    return job


def parse_arguments(rest: Sequence[str]) -> tuple[list[Any], dict[str, Any]]:
    """`a 1 --name you --flag` → ["a", 1], {"name": "you", "flag": True}. Values are JSON where they are, else text."""
    args: list[Any] = []
    kwargs: dict[str, Any] = {}
    words = list(rest)
    while words:
        word = words.pop(0)
        if not word.startswith("--") or word == "--":
            args += [] if word == "--" else [_value(word)]
            continue
        name, has_value, text = word[2:].partition("=")
        name = name.replace("-", "_")
        if not name.isidentifier():
            raise NotConfiguredError(f"{word!r} names no argument")
        if has_value:
            kwargs[name] = _value(text)
        elif words and not words[0].startswith("--"):
            kwargs[name] = _value(words.pop(0))
        else:
            kwargs[name] = True
    return args, kwargs


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text
