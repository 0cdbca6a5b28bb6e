"""Checks of the names in a path, made before anything else is looked at."""

from __future__ import annotations

from typing import Final

from queues.engine.limits import CONSUME_MAX_QUEUES
from queues.engine.names import check_namespace, check_queue

from .errors import ParameterError
from .request import ApiRequest

NO_QUEUES: Final = "invalid queue name(s)"


def check_names(request: ApiRequest) -> None:
    """Namespace and queue, where the path has them. Raises InvalidArgumentError."""
    namespace = request.path.get("namespace")
    if namespace is not None:
        check_namespace(namespace)
    queue = request.path.get("queue")
    if queue is not None:
        check_queue(queue)


def check_names_of_several(request: ApiRequest) -> None:
    """As check_names, for a path that may name several queues."""
    check_namespace(request.path["namespace"])
    for name in split_queues(request.path["queue"]):
        check_queue(name)


def split_queues(text: str) -> list[str]:
    """`q1,q2,..` → names in order, each once, empty ones skipped. Raises ParameterError for none or too many."""
    if "," not in text:
        return [text]
    names = list(dict.fromkeys(name for name in text.split(",") if name))
    if not 0 < len(names) <= CONSUME_MAX_QUEUES:
        raise ParameterError(NO_QUEUES)
    return names
