"""Dependency injection: parameters that the worker provides, by `Depends`, as in FastAPI and taskiq."""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import Annotated, Any, Final, get_args, get_origin

from .context import Context
from .serializers import type_hints


@dataclass(frozen=True, slots=True)
class _Dependency:
    provide: Callable[..., Any]
    use_cache: bool


def Depends(provide: Callable[..., Any], *, use_cache: bool = True) -> Any:  # noqa: N802
    """A parameter that `provide` gives: a function, a coroutine, or a generator that yields it and then cleans up.

    As a default (`db: DB = Depends(open_db)`) or in Annotated. `provide` may have a Context and dependencies itself.
    Within one attempt it is called once, unless `use_cache` is False.
    """
    return _Dependency(provide, use_cache)


@dataclass(frozen=True, slots=True)
class Injected:
    """A parameter that callers do not give. `dependency` None: the Context."""

    name: str
    dependency: _Dependency | None


def injected_parameters(function: Callable[..., Any]) -> tuple[Injected, ...]:
    """The parameters of a function that the worker provides."""
    hints = type_hints(function)
    found = []
    for parameter in _parameters(function):
        kind = hints.get(parameter.name, parameter.annotation)
        marks = get_args(kind)[1:] if get_origin(kind) is Annotated else ()
        dependency = next((mark for mark in (parameter.default, *marks) if isinstance(mark, _Dependency)), None)
        if dependency is not None or kind is Context or kind == "Context":
            found.append(Injected(parameter.name, dependency))
    return tuple(found)


def _parameters(function: Callable[..., Any]) -> list[inspect.Parameter]:
    try:
        return list(inspect.signature(function).parameters.values())
    except (ValueError, TypeError):
        return []


_NOTHING: Final[tuple[Injected, ...]] = ()


class Resolver:
    """Provides what a task's parameters ask for. Its plan is made once per task; `provide` runs for each attempt."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.injected = injected_parameters(function)
        self._plans: dict[Callable[..., Any], tuple[Injected, ...]] = {}
        self._plan(self.injected, ())

    def _plan(self, injected: tuple[Injected, ...], above: tuple[Callable[..., Any], ...]) -> None:
        for one in injected:
            if one.dependency is None:
                continue
            provide = one.dependency.provide
            if provide in above:
                names = " -> ".join(getattr(each, "__qualname__", repr(each)) for each in (*above, provide))
                raise TypeError(f"dependencies go round in a circle: {names}")
            if provide not in self._plans:
                self._plans[provide] = injected_parameters(provide)
                self._plan(self._plans[provide], (*above, provide))

    @asynccontextmanager
    async def provide(self, context: Context) -> AsyncIterator[dict[str, Any]]:
        """The values of the parameters, by name, and then the clean-up of the generators among them.

        What the body raises is raised at their `yield`, and then to the caller also if one of them swallows it: the
        task has failed all the same.
        """
        failure: BaseException | None = None
        async with AsyncExitStack() as stack:
            values = await self._resolve(self.injected, context, stack, {})
            try:
                yield values
            except BaseException as error:
                failure = error
                raise
        if failure is not None:
            raise failure

    async def _resolve(
        self,
        injected: tuple[Injected, ...],
        context: Context,
        stack: AsyncExitStack,
        cache: dict[Callable[..., Any], Any],
    ) -> dict[str, Any]:
        values: dict[str, Any] = {}
        for one in injected:
            if one.dependency is None:
                values[one.name] = context
                continue
            provide = one.dependency.provide
            if one.dependency.use_cache and provide in cache:
                values[one.name] = cache[provide]
                continue
            needs = await self._resolve(self._plans.get(provide, _NOTHING), context, stack, cache)
            values[one.name] = cache[provide] = await _call(provide, needs, stack)
        return values


async def _call(provide: Callable[..., Any], needs: dict[str, Any], stack: AsyncExitStack) -> Any:
    if inspect.isasyncgenfunction(provide):
        return await stack.enter_async_context(asynccontextmanager(provide)(**needs))
    if inspect.isgeneratorfunction(provide):
        return stack.enter_context(contextmanager(provide)(**needs))
    value = provide(**needs)
    return await value if inspect.isawaitable(value) else value
