"""A task with its arguments, which is not enqueued yet."""

from __future__ import annotations

from typing import Any, NamedTuple


class Call(NamedTuple):
    """A task with its arguments, to be enqueued with others: by `enqueue_many`, or in a workflow.

    `takes_results`: in a chain, what the call before it returned comes before its own arguments.
    """

    task: Any
    """A BoundTask."""
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    takes_results: bool = True

    def immutable(self) -> Call:
        """The same, which in a chain gets its own arguments only."""
        return self._replace(takes_results=False)
