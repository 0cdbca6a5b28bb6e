"""Finds the row of a pool that a caller names."""

from __future__ import annotations

from queues.models import Pool
from queues.pools import check_pool_name

from ..errors import PoolNotFoundError


def find_pool_row(name: str) -> Pool:
    """Raises PoolNotFoundError."""
    check_pool_name(name)
    try:
        return Pool.objects.get(name=name)
    except Pool.DoesNotExist:
        raise PoolNotFoundError from None
