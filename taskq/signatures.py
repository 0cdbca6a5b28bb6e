"""What the signature of a task's function says: which arguments it takes, and how they are read."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple


def signature_without(function: Callable[..., Any], injected: set[str]) -> inspect.Signature | None:
    """The signature without the parameters that the worker provides; None: the function has none that can be read."""
    try:
        signature = inspect.signature(function)
    except (ValueError, TypeError):
        return None
    kept = [parameter for name, parameter in signature.parameters.items() if name not in injected]
    return signature.replace(parameters=kept)


def positional_names(function: Callable[..., Any]) -> list[str]:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (ValueError, TypeError):
        return []
    return [one.name for one in parameters if one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)]


def positional_counts(signature: inspect.Signature | None) -> tuple[int, int]:
    """How many positional arguments fit, and how many must be given if there are no others; (-1, 0): ask the
    signature.
    """
    if signature is None:
        return -1, 0
    allowed = required = 0
    for parameter in signature.parameters.values():
        if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD):
            allowed += 1
            required += parameter.default is parameter.empty
        elif parameter.kind is parameter.VAR_POSITIONAL:
            allowed = 1 << 30
        elif parameter.kind is parameter.KEYWORD_ONLY and parameter.default is parameter.empty:
            return -1, 0
    return allowed, required


class ParameterNames(NamedTuple):
    """The names of a signature's parameters, by how they take arguments; "" for those that it does not have."""

    positional: tuple[str, ...] = ()
    keyword: frozenset[str] = frozenset()
    var_positional: str = ""
    var_keyword: str = ""


def parameter_names(signature: inspect.Signature | None) -> ParameterNames:
    parameters = list(signature.parameters.values()) if signature is not None else []

    def of(*kinds: Any) -> tuple[str, ...]:
        return tuple([one.name for one in parameters if one.kind in kinds])

    one = inspect.Parameter
    return ParameterNames(
        of(one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD),
        frozenset(of(one.POSITIONAL_OR_KEYWORD, one.KEYWORD_ONLY)),
        "".join(of(one.VAR_POSITIONAL)),
        "".join(of(one.VAR_KEYWORD)),
    )


def annotations_of(signature: inspect.Signature | None, hints: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters whose annotations say how to read them."""
    if signature is None:
        return {}
    return {name: hints[name] for name in signature.parameters if name in hints and hints[name] is not Any}
