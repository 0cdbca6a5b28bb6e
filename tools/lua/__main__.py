"""`python -m tools.lua`: builds all scripts, or the folder of sources that it is given."""

from __future__ import annotations

import sys
from pathlib import Path

from .build import SOURCES, ScriptSyntaxError, build


def main() -> None:
    sources = Path(sys.argv[1]) if len(sys.argv) > 1 else SOURCES
    folder = sources / "built"
    try:
        files = {f"{name}.lua": text for name, text in build(sources)}
    except ScriptSyntaxError as error:
        sys.exit(str(error))
    folder.mkdir(exist_ok=True)
    for path in folder.glob("*.lua"):
        if path.name not in files:
            path.unlink()
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
