"""Java's classes as an earlier run has left them: with these, Java and Spark start in half the time.

    OUT/_java/KEY.jsa     what a run has left when it ended, some 190 MB (Java calls it class data sharing)
    OUT/_java/KEY.seen    there has been a run that left nothing

KEY stands for a Java and a Spark. The first run only notes that it was there: where each run has a folder of its own,
none takes the time to leave something in vain. Java itself passes over an archive that does not fit it.
"""

from __future__ import annotations

import os
import time
import zlib
from contextlib import suppress
from pathlib import Path
from typing import Final

FOLDER: Final = "_java"
UNUSED_S: Final = 30 * 86_400
"""After so long without a run that used it, an archive of another Java or Spark is deleted."""

MAKING_S: Final = 600
"""A run that began to leave an archive so long ago has failed to."""

_QUIET: Final = " -Xlog:cds*=error"
"""Java says of each class why it is not in the archive."""


class ClassArchive:
    """What one run uses or leaves."""

    def __init__(self, folder: Path, *, java: Path, spark: Path, scratch: Path) -> None:
        """`folder`: OUT/_java. `java`, `spark`: their homes. `scratch`: where Java writes; gone after the run."""
        self.options = ""
        """Of Java: to use the archive, to leave one, or none."""
        self._made = scratch / "classes.jsa"
        self._folder = folder
        # Classes of a Java without an archive of its own cannot be added to it.
        if not (java / "lib" / "server" / "classes.jsa").is_file():
            return
        with suppress(OSError):  # a folder that cannot be written to: it goes without
            self._path = folder / f"{_key_of(java, spark)}.jsa"
            self._begin()

    @property
    def is_made(self) -> bool:
        """Whether this run is to leave one, which takes Java some seconds at its end."""
        return "ArchiveClassesAtExit" in self.options

    def _begin(self) -> None:
        if self._path.is_file():
            os.utime(self._path)
            self.options = f' "-XX:SharedArchiveFile={self._path}"{_QUIET}'
            return
        self._folder.mkdir(parents=True, exist_ok=True)
        seen, making = self._path.with_suffix(".seen"), self._path.with_suffix(".making")
        if not seen.is_file():
            seen.touch()
            return
        with suppress(FileNotFoundError):
            if time.time() - making.stat().st_mtime > MAKING_S:
                making.unlink()
        with suppress(FileExistsError):
            making.touch(exist_ok=False)
            self.options = f' "-XX:ArchiveClassesAtExit={self._made}"{_QUIET}'

    def keep(self, *, ended_well: bool) -> None:
        """Once Java has ended: keep what it has left, which is whole if it ended well."""
        if not self.is_made:
            return
        if ended_well:
            with suppress(OSError):
                self._made.replace(self._path)
        with suppress(OSError):
            self._path.with_suffix(".making").unlink(missing_ok=True)
            for other in self._folder.iterdir():
                if other.stem != self._path.stem and time.time() - other.stat().st_mtime > UNUSED_S:
                    other.unlink()


def _key_of(java: Path, spark: Path) -> str:
    """Raises OSError."""
    jars = sorted((jar.name, jar.stat().st_size, jar.stat().st_mtime_ns) for jar in (spark / "jars").iterdir())
    release = (java / "release").read_text() if (java / "release").is_file() else ""
    return f"{zlib.crc32(repr((str(java), release, str(spark), jars)).encode()):08x}"
