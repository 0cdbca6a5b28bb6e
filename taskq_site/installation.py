"""Where taskq runs from: a checkout, or a wheel that was installed.

In a checkout `templates/`, `static/` and `manage.py` lie beside this package; in a wheel the first two lie inside it
(pyproject.toml, `force-include`), and there is no `manage.py`.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Final

from .env import EnvError

PACKAGE_DIR: Final = Path(__file__).resolve().parent

CHECKOUT_DIR: Final = None if (PACKAGE_DIR / "templates").is_dir() else PACKAGE_DIR.parent
"""The top-level folder of the checkout; None when taskq is installed from a wheel."""

ASSETS_DIR: Final = CHECKOUT_DIR or PACKAGE_DIR
"""Holds `templates` and `static`."""


def manage_command() -> tuple[str, ...]:
    """The command line that runs `taskq`, to be followed by a command's name, in this interpreter and from any folder.

    `-P`: a file `redis.py` in the folder where somebody types `taskq up` must not be imported.
    """
    if CHECKOUT_DIR is not None:
        return sys.executable, str(CHECKOUT_DIR / "manage.py")
    return sys.executable, "-P", "-m", __package__


def shown_command() -> str:
    """The same as a person types it."""
    return "taskq" if CHECKOUT_DIR is None else "python manage.py"


def default_data_dir() -> Path:
    """`var/` in the checkout. Installed: a folder of the user's own, the same wherever commands are typed.

    That is `taskq` in $XDG_DATA_HOME, by default ~/.local/share. Raises EnvError for a user without a home directory.
    """
    if CHECKOUT_DIR is not None:
        return CHECKOUT_DIR / "var"
    data_home = os.environ.get("XDG_DATA_HOME", "")
    if data_home.startswith("/"):  # the specification has relative paths ignored
        return Path(data_home) / "taskq"
    try:
        return Path.home() / ".local" / "share" / "taskq"
    except RuntimeError:
        raise EnvError("TASKQ_DATA_DIR is not set, and this user has no home directory to keep data in") from None
