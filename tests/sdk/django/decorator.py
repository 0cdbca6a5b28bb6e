"""Django's `@task`, from Django 6 or from the backport: what a project imports from one of the two."""

from __future__ import annotations

import importlib
from typing import Any, Protocol, overload

import django


class _Decorator(Protocol):
    @overload
    def __call__(self, function: object, /) -> Any: ...
    @overload
    def __call__(self, **options: object) -> _Decorator: ...


task: _Decorator = importlib.import_module("django.tasks" if django.VERSION >= (6, 0) else "django_tasks").task
