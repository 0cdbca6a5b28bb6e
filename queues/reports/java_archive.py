"""What an earlier run has left of Java: its classes, with which Java and Spark start in half the time, and of Java 25
and newer also how its methods were used, so that the compiler need not find out again.

    OUT/_java/KEY.aot     what a run has left when it ended, some 220 MB (Java: ahead-of-time cache, JEP 514 and 515)
    OUT/_java/KEY.jsa     of an older Java, 190 MB (Java: class data sharing, JEP 350)
    OUT/_java/KEY.seen    there has been a run
    OUT/_java/KEY.making  a run is about to leave an archive, or has not managed to

KEY stands for a Java, a Spark, and whether there was little to do. The first run only notes that it was there: where
each run has a folder of its own, none takes the time to leave something in vain. Java itself passes over an archive
that does not fit it.
"""

from __future__ import annotations

import os
import re
import shutil
import time
import zlib
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

FOLDER: Final = "_java"
UNUSED_S: Final = 30 * 86_400
"""After so long without a run that used it, an archive of another Java or Spark is deleted."""

AGAIN_S: Final = 7 * 86_400
"""So long after a run that was to leave an archive and left none, another one tries: what kept Java from it, such as a
folder with files in the class path (SPARK_CONF_DIR), may be there each time."""

_AHEAD_OF_TIME: Final = 25
"""The first Java that leaves more than classes."""

_VERSION: Final = re.compile(r'^JAVA_VERSION="(\d+)', re.MULTILINE)

MAKER_MEMORY: Final = {"JDK_AOT_VM_OPTIONS": "-Xmx512m"}
"""Environment: Java 25 has another Java make the archive, which would take as much memory as itself."""


class _Kind(NamedTuple):
    """Java's options, and its quiet: it says of each class why it is not in the archive."""

    suffix: str
    use: str
    leave: str
    quiet: str


_CLASSES: Final = _Kind(".jsa", "SharedArchiveFile", "ArchiveClassesAtExit", "-Xlog:cds*=error")
_ALL: Final = _Kind(".aot", "AOTCache", "AOTCacheOutput", "-Xlog:cds*=error,aot*=error")


class JavaArchive:
    """What one run uses or leaves."""

    def __init__(self, folder: Path, *, java: Path, spark: Path, scratch: Path, is_brief: bool) -> None:
        """`folder`: OUT/_java. `java`, `spark`: their homes. `scratch`: where Java writes; gone after the run.
        `is_brief`: Java runs without its second compiler. What it leaves then says that this one is of no use, and a
        run of a large day that believes it takes a quarter longer."""
        self.options = ""
        """Of Java: to use the archive, to leave one, or none."""
        self.is_made = False
        """Whether this run is to leave one, which takes Java some 20 seconds at its end."""
        self._folder = folder
        with suppress(OSError):  # a folder that cannot be written to: it goes without
            release = (java / "release").read_text() if (java / "release").is_file() else ""
            kind = _kind_of(java, release)
            if kind is not None:
                self._path = folder / f"{_key_of(java, release, spark, is_brief=is_brief)}{kind.suffix}"
                self._made = scratch / self._path.name
                self._begin(kind)

    def _begin(self, kind: _Kind) -> None:
        if self._path.is_file():
            os.utime(self._path)
            self.options = f' "-XX:{kind.use}={self._path}" {kind.quiet}'
            return
        self._folder.mkdir(parents=True, exist_ok=True)
        seen, making = self._path.with_suffix(".seen"), self._path.with_suffix(".making")
        if not seen.is_file():
            seen.touch()
            return
        with suppress(FileNotFoundError):
            if time.time() - making.stat().st_mtime > AGAIN_S:
                making.unlink()
        with suppress(FileExistsError):
            making.touch(exist_ok=False)
            self.is_made = True
            # What Java says of it is not for standard output, where the report tells how far it is.
            self.options = f' "-XX:{kind.leave}={self._made}" {kind.quiet} -XX:+DisplayVMOutputToStderr'

    def keep(self, *, ended_well: bool) -> None:
        """Once Java has ended: keep what it has left, which is whole if it ended well."""
        if not self.is_made:
            return
        if ended_well:
            whole = self._path.with_suffix(".new")
            with suppress(OSError):
                shutil.move(self._made, whole)  # the folder may be on another disk
                whole.replace(self._path)
                self._path.with_suffix(".making").unlink(missing_ok=True)
            with suppress(OSError):
                whole.unlink(missing_ok=True)  # half of it, where the disk is full
        with suppress(OSError):
            for other in self._folder.iterdir():
                if other.stem != self._path.stem and time.time() - other.stat().st_mtime > UNUSED_S:
                    other.unlink()


def _kind_of(java: Path, release: str) -> _Kind | None:
    """None: this Java leaves nothing."""
    version = _VERSION.search(release)
    if version is not None and int(version[1]) >= _AHEAD_OF_TIME:
        return _ALL
    # Classes of a Java without an archive of its own cannot be added to it.
    return _CLASSES if (java / "lib" / "server" / "classes.jsa").is_file() else None


def _key_of(java: Path, release: str, spark: Path, *, is_brief: bool) -> str:
    """Raises OSError."""
    jars = sorted((jar.name, jar.stat().st_size, jar.stat().st_mtime_ns) for jar in (spark / "jars").iterdir())
    return f"{zlib.crc32(repr((str(java), release, str(spark), jars, is_brief)).encode()):08x}"
