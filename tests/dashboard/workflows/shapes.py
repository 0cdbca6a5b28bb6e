"""Graphs of workflows for tests: of each node the numbers of those that it depends on."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Final

Shape = tuple[tuple[int, ...], ...]


def chain(size: int) -> Shape:
    return tuple((node - 1,) if node else () for node in range(size))


def fan(size: int) -> Shape:
    """One, many, one."""
    return ((), *[(0,)] * (size - 2), tuple(range(1, size - 1)))


def lanes(size: int) -> Shape:
    """One, many chains of three, one."""
    many = (size - 2) // 3
    middle = [(0,) if step == 0 else (3 * lane + step,) for lane in range(many) for step in range(3)]
    return ((), *middle, tuple(3 * lane + 3 for lane in range(many)))


def woven(size: int) -> Shape:
    """Each node depends on up to three of the forty before it."""
    dice = random.Random(7)
    return tuple(
        tuple(sorted({dice.randrange(max(0, node - 40), node) for _ in range(dice.randint(0, 3))})) if node else ()
        for node in range(size)
    )


def far_reaching(size: int) -> Shape:
    """Each on up to three of all before it: most edges pass many layers."""
    dice = random.Random(8)
    return tuple(
        tuple(sorted({dice.randrange(node) for _ in range(dice.randint(0, 3))})) if node else () for node in range(size)
    )


def bipartite(size: int) -> Shape:
    """Each of one half on all of the other half."""
    half = size // 2
    return ((),) * half + (tuple(range(half)),) * half


def loose(size: int) -> Shape:
    return ((),) * size


def ladder(size: int) -> Shape:
    """A long chain whose first node every other node needs, too: as many bends as could be."""
    return tuple(() if node == 0 else (0,) if node == 1 else (0, node - 1) for node in range(size))


SHAPES: Final[dict[str, Callable[[int], Shape]]] = {
    one.__name__: one for one in (chain, fan, lanes, woven, far_reaching, bipartite, loose, ladder)
}
