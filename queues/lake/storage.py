"""Where the files of the lake are stored: a local directory, or any URL that fsspec opens."""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final, NamedTuple

from fsspec.core import url_to_fs
from fsspec.implementations.local import LocalFileSystem

from .names import temporary_name


class LakeError(Exception):
    """The lake cannot be read or written. `str(error)` names the file and says why."""


class Entry(NamedTuple):
    """A file or directory. `age_s`: since it was last written, where that is known."""

    name: str
    size: int
    is_dir: bool
    age_s: float | None


class Storage:
    """The files of a lake, or of reports. Paths are relative to it, with `/`.

    All errors are LakeError. A missing file is no error, unless a method says so.
    """

    def __init__(self, url: str) -> None:
        with _told(url):
            self.fs, self.root = url_to_fs(os.path.expanduser(url) if "://" not in url else url)
        self.root = self.root.rstrip("/")
        self.is_local = isinstance(self.fs, LocalFileSystem)
        # A file system forgets hosts, ports and accounts, which others need to find the same file.
        self._url = str(self.fs.unstrip_protocol(self.root)) if self.is_local else url.rstrip("/")

    def path(self, relative: str) -> str:
        """As the file system calls it."""
        return f"{self.root}/{relative}" if relative else self.root or "/"

    def url(self, relative: str) -> str:
        """With its scheme and authority: `file:///...`, `s3://bucket/...`, `hdfs://host:8020/...`."""
        if relative:
            return f"{self._url}/{relative}"
        return self._url if "/" in self._url.partition("://")[2] else f"{self._url}/"

    def list(self, relative: str) -> list[Entry]:
        """What a directory holds, by name; nothing if there is no such directory."""
        path = self.path(relative)
        with _told(self.url(relative)):
            self.fs.invalidate_cache()
            try:
                found = self.fs.ls(path, detail=True)
            except FileNotFoundError:
                return []
        entries = [_entry(info) for info in found if info["name"].rstrip("/") != path]
        return sorted(entries, key=lambda entry: entry.name)

    def read(self, relative: str) -> bytes:
        """The whole of a small file. Raises FileNotFoundError."""
        path = self.path(relative)
        with _told(self.url(relative)):
            return bytes(self.fs.cat_file(path))

    def put(self, relative: str, content: bytes | memoryview) -> bool:
        """Put a file into place, whole or not at all, and durably. False: there is one already; it stays as it is."""
        folder, _, name = relative.rpartition("/")
        temporary = f"{folder}/{temporary_name(name)}"
        if self.is_local:
            return self._put_locally(relative, temporary, content)
        path = self.path(relative)
        with _told(self.url(relative)):
            self.fs.invalidate_cache()
            if self.fs.exists(path):
                return False
            try:
                self.fs.makedirs(self.path(folder), exist_ok=True)
                self.fs.pipe_file(self.path(temporary), bytes(content))
                self.fs.mv(self.path(temporary), path)
            except BaseException:
                self.forget(temporary)
                raise
        return True

    def replace(self, relative: str, content: bytes) -> None:
        """Put a file in the place of what is there, if anything: at once, as a whole and durably."""
        folder, _, name = relative.rpartition("/")
        path = self.path(relative)
        with _told(path):
            if not self.is_local:  # object stores show a file when it is whole
                self.fs.pipe_file(path, content)
                return
            _make_local_dir(Path(path).parent)
            temporary = f"{folder}/{temporary_name(name)}"
            try:
                with open(self.path(temporary), "xb") as file:
                    file.write(content)
                _write_out(self.path(temporary))
                os.replace(self.path(temporary), path)
            except BaseException:
                self.forget(temporary)
                raise
            _write_out(Path(path).parent)

    def put_written(self, relative: str, temporary: str) -> bool:
        """Put a finished file, written under a temporary name in the same directory, into place. As `put`."""
        path = self.path(relative)
        with _told(self.url(relative)):
            if self.is_local:
                return self._link(temporary, relative)
            self.fs.invalidate_cache()
            if self.fs.exists(path):
                self.forget(temporary)
                return False
            self.fs.mv(self.path(temporary), path)
        return True

    def make_dir(self, relative: str) -> None:
        """Make a directory and those above it, durably."""
        path = self.path(relative)
        with _told(self.url(relative)):
            if self.is_local:
                _make_local_dir(Path(path))
            else:
                self.fs.makedirs(path, exist_ok=True)

    def open(self, relative: str, mode: str) -> Any:
        """An open binary file. Raises FileNotFoundError; errors while it is used are the file system's own."""
        path = self.path(relative)
        with _told(self.url(relative)):
            return open(path, mode) if self.is_local else self.fs.open(path, mode)

    def delete(self, relative: str) -> None:
        """Delete a file, if it is there."""
        path = self.path(relative)
        with _told(self.url(relative)), suppress(FileNotFoundError):
            self.fs.rm_file(path)

    def rename_dir(self, relative: str, to: str) -> bool:
        """Rename a local directory, in one step and durably. False: it is not there."""
        path = Path(self.path(relative))
        with _told(str(path)):
            try:
                os.rename(path, self.path(to))
            except FileNotFoundError:
                return False
            _write_out(path.parent)
        return True

    def delete_tree(self, relative: str) -> None:
        """Delete a directory and all that is in it, if it is there."""
        path = self.path(relative)
        with _told(path), suppress(FileNotFoundError):
            self.fs.invalidate_cache()
            self.fs.rm(path, recursive=True)

    def walk(self, relative: str = "") -> Iterator[tuple[str, int]]:
        """Each file's path and size in bytes, or those below a folder. What goes away meanwhile is left out."""
        if self.is_local:
            yield from self._walk_locally(self.path(relative) if relative else self.root)
            return
        with _told(self.root):
            self.fs.invalidate_cache()
            try:
                found = self.fs.find(self.path(relative) if relative else self.root, detail=True)
            except FileNotFoundError:
                return
        for path, info in found.items():
            yield path[len(self.root) :].lstrip("/"), int(info.get("size") or 0)

    def _walk_locally(self, top: str) -> Iterator[tuple[str, int]]:
        for folder, _, names in os.walk(top):
            relative = os.path.relpath(folder, self.root)
            for name in names:
                with suppress(FileNotFoundError):
                    size = os.stat(os.path.join(folder, name)).st_size
                    yield name if relative == "." else f"{relative}/{name}", size

    def _put_locally(self, relative: str, temporary: str, content: bytes | memoryview) -> bool:
        path = self.path(relative)
        with _told(self.url(relative)):
            _make_local_dir(Path(path).parent)
            try:
                with open(self.path(temporary), "xb") as file:
                    file.write(content)
            except BaseException:
                self.forget(temporary)
                raise
            return self._link(temporary, relative)

    def _link(self, temporary: str, relative: str) -> bool:
        """A link, unlike a rename, never replaces. The directory is written out also for a file that another process
        has put there but not yet written out."""
        path = Path(self.path(relative))
        try:
            _write_out(self.path(temporary))
            try:
                os.link(self.path(temporary), path)
                is_new = True
            except FileExistsError:
                is_new = False
            except OSError as error:
                if error.errno not in (errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS):
                    raise
                is_new = not path.exists()  # a file system without links
                if is_new:
                    os.rename(self.path(temporary), path)
        finally:
            self.forget(temporary)
        _write_out(path.parent)
        return is_new

    def forget(self, temporary: str) -> None:
        """Delete an unfinished file after an error. What cannot be deleted now is deleted when it is a day old."""
        with suppress(Exception):
            self.fs.rm_file(self.path(temporary))


_WRITTEN: Final = ("mtime", "LastModified", "last_modified", "modification_time", "modificationTime", "created")
"""Each file system has a word of its own for when a file was last written."""

_MS_FROM: Final = 1e11
"""Greater numbers are no seconds since 1970, but ms: those of HDFS."""


def _entry(info: dict[str, Any]) -> Entry:
    written = next((found for name in _WRITTEN if (found := info.get(name))), None)
    if written is not None and not isinstance(written, int | float):
        written = written.timestamp()
    elif written is not None and written > _MS_FROM:
        written /= 1_000
    return Entry(
        name=info["name"].rstrip("/").rpartition("/")[2],
        size=int(info.get("size") or 0),
        is_dir=info["type"] == "directory",
        age_s=None if written is None else time.time() - written,
    )


def _make_local_dir(path: Path) -> None:
    """With its parents, each new one's name written out."""
    missing = []
    while not path.is_dir():
        missing.append(path)
        if path == path.parent:
            break
        path = path.parent
    for new in reversed(missing):
        new.mkdir(exist_ok=True)
        _write_out(new.parent)


def _write_out(path: str | Path) -> None:
    """fsync of a file or directory."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def _told(path: str) -> Iterator[None]:
    """Whatever a file system has against it, as a LakeError; but a file that is missing stays a FileNotFoundError."""
    try:
        yield
    except (LakeError, FileNotFoundError):
        raise
    except OSError as error:
        raise LakeError(f"{path}: {error.strerror or error or type(error).__name__}") from error
    except Exception as error:  # each file system has errors of its own
        raise LakeError(f"{path}: {type(error).__name__}: {error}") from error
