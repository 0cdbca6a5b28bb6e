"""The end of a run: all bars in one table, and every figure in a file under var/bench/, to compare later runs with."""

from __future__ import annotations

import dataclasses
import json
import os
import platform
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .processes import ROOT
from .report import Section, head
from .settings import Settings

FOLDER = ROOT / "var" / "bench"


def show_bars(sections: Mapping[str, Section]) -> None:
    """Print the figures that have something to reach."""
    asked = [(name, figure) for name, section in sections.items() for figure in section.figures if figure.bar]
    if not asked:
        return
    print(f"\nAll that is asked for: {sum(figure.passed is True for _, figure in asked)} of {len(asked)} reached")
    print(head())
    for name, figure in asked:
        print(dataclasses.replace(figure, name=f"{name}: {figure.name}").line())


def save(sections: Mapping[str, Section], settings: Settings) -> Path:
    """Write the file. Its path."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    path = FOLDER / f"{time.strftime('%Y%m%d-%H%M%S')}.json"
    content = {
        "python": platform.python_version(),
        "machine": platform.machine(),
        "cores": os.cpu_count(),
        "settings": dataclasses.asdict(settings),
        "scenarios": {name: _plain(section) for name, section in sections.items()},
    }
    path.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n")
    return path


def _plain(section: Section) -> dict[str, Any]:
    figures = [
        {
            **dataclasses.asdict(figure),
            "bar": str(figure.bar or ""),
            "median": figure.median,
            "of_s_unix": figure.ratio(figure.s_unix),
            "of_s_tcp": figure.ratio(figure.s_tcp),
            "passed": figure.passed,
        }
        for figure in section.figures
    ]
    return {"title": section.title, "figures": figures}
