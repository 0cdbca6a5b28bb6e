"""Names of Django's Tasks in jobs, and the tasks that they name."""

from __future__ import annotations

import sys
from typing import Any, Final

from django.apps import apps
from django.utils.module_loading import import_string

from .compat import Task

PREFIX: Final = "django:"
DEFAULT_ALIAS: Final = "default"


def job_task_name(task: Task[..., Any], alias: str) -> str:
    """What a task's jobs call it: `django:MODULE.FUNCTION`, or `django:MODULE.FUNCTION@BACKEND`."""
    return f"{PREFIX}{task.module_path}" + ("" if alias == DEFAULT_ALIAS else f"@{alias}")


def backend_alias(name: str) -> str:
    """The backend that a job names."""
    return name.partition("@")[2] or DEFAULT_ALIAS


def load_task(name: str) -> Task[..., Any]:
    """The task that a job names, as declared. Raises LookupError for whatever is not a task of this project.

    It imports the module that the job names, as Django's other backends do, but calls nothing except a Task.
    """
    path = name.removeprefix(PREFIX).partition("@")[0]
    module = path.rpartition(".")[0]
    if module not in sys.modules and not _is_of_the_project(module):
        raise LookupError(f"{module} is no module of an installed app")
    try:
        found = import_string(path)
    except BaseException as error:  # a module may raise anything when it is imported
        raise LookupError(f"{path} cannot be imported: {type(error).__name__}: {error}") from error
    if not isinstance(found, Task):
        raise LookupError(f"{path} is no task of Django's Tasks")
    return found


def _is_of_the_project(module: str) -> bool:
    """Whether an installed app has the module. Others are not imported because a message names them."""
    return any(f"{module}.".startswith(f"{config.name}.") for config in apps.get_app_configs())
