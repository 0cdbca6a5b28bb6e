"""Finds the app and the tasks that a command line names."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

from ..app import App
from ..errors import NotConfiguredError
from ..task import Task


def load_app(name: str) -> App:
    """The app of `module` or `module:attribute`, found from the current folder. Raises NotConfiguredError."""
    module_name, _, attribute = name.partition(":")
    module_name = module_name.removesuffix(".py").replace("/", ".")
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        module = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module_name}.".startswith(f"{error.name}."):
            raise
        raise NotConfiguredError(f"there is no module {module_name!r} in {here}") from error
    if attribute:
        found = getattr(module, attribute, None)
        if not isinstance(found, App):
            raise NotConfiguredError(f"{module_name}:{attribute} is no taskq.App")
        return found
    return _only_app(module, module_name)


def _only_app(module: Any, name: str) -> App:
    values = list(vars(module).values())
    apps = {id(value): value for value in values if isinstance(value, App)}
    of_tasks = [value.app for value in values if isinstance(value, Task)]
    apps |= {id(app): app for app in of_tasks if isinstance(app, App)}
    if len(apps) != 1:
        problem = "has no taskq.App" if not apps else "has several apps: name one, as in module:app"
        raise NotConfiguredError(f"the module {name!r} {problem}")
    return next(iter(apps.values()))


def load_task(name: str) -> Task[..., Any]:
    """The task that `module.task` names. Raises NotConfiguredError."""
    module_name, _, attribute = name.rpartition(".")
    if not module_name:
        raise NotConfiguredError(f"{name!r} names no task: module.task, as in tasks.hello")
    app = load_app(module_name)
    task = getattr(importlib.import_module(module_name), attribute, None)
    if isinstance(task, Task):
        return task
    for known in (name, attribute):
        if known in app.tasks:
            return app.tasks[known]
    names = ", ".join(sorted(app.tasks)) or "none"
    raise NotConfiguredError(f"there is no task {attribute!r} in {module_name}; there are {names}")


def module_of(app: str) -> str:
    """Whose schedules they are if the app has no name: the module's that is named on the command line."""
    return app.partition(":")[0].removesuffix(".py").replace("/", ".")
