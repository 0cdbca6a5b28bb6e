"""`python -m tools.lua`: builds all scripts. `--check`: only says which of them are not what `make scripts` builds."""

from __future__ import annotations

import sys

from .build import SOURCES, ScriptSyntaxError, build
from .manifest import MANIFEST, manifest

BUILT = SOURCES / "built"


def main() -> None:
    try:
        files = {f"{name}.lua": text for name, text in build()}
    except ScriptSyntaxError as error:
        sys.exit(str(error))
    if "--check" in sys.argv[1:]:
        check(files)
    else:
        write(files)


def check(files: dict[str, str]) -> None:
    """Exit with the names of the scripts that differ from those in the folder, if there are any."""
    found = {path.name: path.read_text(encoding="utf-8") for path in BUILT.glob("*.lua")}
    if different := sorted(name for name in files.keys() | found.keys() if files.get(name) != found.get(name)):
        sys.exit(f"run `make scripts`: {', '.join(different)}")


def write(files: dict[str, str]) -> None:
    """Make the folder consist of these files, and the manifest say so."""
    BUILT.mkdir(exist_ok=True)
    for path in BUILT.glob("*.lua"):
        if path.name not in files:
            path.unlink()
    for name, text in files.items():
        (BUILT / name).write_text(text, encoding="utf-8")
    MANIFEST.write_text(manifest(), encoding="utf-8")


if __name__ == "__main__":
    main()
