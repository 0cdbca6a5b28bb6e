"""Files and directories that only their owner may use. Standard library only."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Final

PRIVATE_UMASK: Final = 0o077


def make_private(path: Path, *, umask: int = PRIVATE_UMASK) -> None:
    """Take the permissions in `umask` away from a file or directory, if it is there.

    Leaves alone what belongs to another user, and links, which may lead anywhere. Raises OSError.
    """
    try:
        found = path.lstat()
    except FileNotFoundError:
        return
    is_file = stat.S_ISREG(found.st_mode) or stat.S_ISDIR(found.st_mode)
    if is_file and found.st_uid == os.getuid() and found.st_mode & umask:
        path.chmod(stat.S_IMODE(found.st_mode) & ~umask)


def make_content_private(directory: Path, *, umask: int = PRIVATE_UMASK) -> None:
    """Do the same to a directory that holds nothing but our files, and to all that is in it. Raises OSError."""
    if directory.is_symlink():
        return
    make_private(directory, umask=umask)
    for parent, directories, files in os.walk(directory):
        for name in (*directories, *files):
            make_private(Path(parent, name), umask=umask)
