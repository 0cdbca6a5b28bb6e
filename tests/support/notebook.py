"""Runs a notebook as Jupyter would, cell by cell in one namespace, without Jupyter."""

from __future__ import annotations

import contextlib
import io
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """What code cells printed, and the charts that they made."""

    printed: str
    charts: list[Any]


def cells_of(path: Path, kind: str) -> Iterator[dict[str, Any]]:
    """The cells of a kind (`code`, `markdown`), in order."""
    return (cell for cell in json.loads(path.read_text(encoding="utf-8"))["cells"] if cell["cell_type"] == kind)


def run_notebook(path: Path) -> Ran:
    """Raises what a cell raises, with the cell's number as the file's name."""
    import matplotlib as mpl  # half a second, which each process would take to collect tests
    import matplotlib.pyplot as plt

    mpl.use("agg")
    plt.close("all")
    namespace: dict[str, Any] = {"__name__": "__main__"}
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        for number, cell in enumerate(cells_of(path, "code"), start=1):
            code = compile("".join(cell["source"]), f"<cell {number}>", "exec")
            exec(code, namespace)
    charts = [plt.figure(number) for number in plt.get_fignums()]
    for chart in charts:
        chart.canvas.draw()
    return Ran(printed=printed.getvalue(), charts=charts)
