"""Digests of what the scripts are built from and of what was built, so that a test need not build them all again."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from importlib.metadata import version
from pathlib import Path
from typing import Final

from .build import SOURCES, layout_keys

MANIFEST: Final = Path(__file__).with_name("manifest.json")
"""`make scripts` writes it."""

PACKAGES: Final = ("luaparser", "antlr4-python3-runtime")
"""Those that read and print Lua: another version may print otherwise."""


def manifest() -> str:
    """What the file says if the built scripts are those of these sources, of this builder and of these packages."""
    built = SOURCES / "built"
    sources = (path for path in SOURCES.rglob("*.lua") if path.parent != built)
    digests = {
        "sources": digest_of(SOURCES, sources),
        "builder": digest_of(Path(__file__).parent, Path(__file__).parent.glob("*.py")),
        "keys": hashlib.sha256(" ".join(sorted(layout_keys())).encode()).hexdigest(),
        "packages": {name: version(name) for name in PACKAGES},
        "built": digest_of(built, built.glob("*.lua")),
    }
    return json.dumps(digests, indent=2) + "\n"


def digest_of(folder: Path, paths: Iterable[Path]) -> str:
    """One SHA-256 of the names and contents of these files."""
    whole = hashlib.sha256()
    for path in sorted(paths):
        content = path.read_text(encoding="utf-8").encode()  # the same whatever ends a line in a checkout
        whole.update(f"{path.relative_to(folder).as_posix()} {len(content)}\n".encode() + content)
    return whole.hexdigest()
