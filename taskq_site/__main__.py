"""taskq's command line: `taskq up`, `runpump`, `token`, `pool` and Django's own commands. `manage.py` is the same."""

from __future__ import annotations

import contextlib
import gc
import os
import sys

from queues import __version__

GARBAGE_THRESHOLD = 20_000
"""Objects made until the youngest are looked through for garbage. With Python's 700, a command spends up to an eighth
of its start on that while modules are imported."""


def main() -> None:
    """Run the command of `sys.argv`."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "taskq_site.settings")
    _choose_data_dir(sys.argv)
    if sys.argv[1:] == ["--version"]:
        print(f"taskq {__version__}")  # Django's command line would print its own
        return
    from django.core.exceptions import ImproperlyConfigured
    from django.core.management import execute_from_command_line

    _load_applications()
    try:
        execute_from_command_line(sys.argv)
    except ImproperlyConfigured as error:
        sys.exit(f"taskq: {error}")


def _load_applications() -> None:
    """Import all applications without collecting garbage: nearly all that they make stays, and to go through it again
    and again is an eighth of the work of a start."""
    import django
    from django.core.exceptions import ImproperlyConfigured

    gc.disable()
    with contextlib.suppress(ImproperlyConfigured):  # the command that needs the settings reports it
        django.setup()
    gc.freeze()
    gc.set_threshold(GARBAGE_THRESHOLD)
    gc.enable()


def _choose_data_dir(argv: list[str]) -> None:
    """Let the settings know of `up --data DIR`: they are read before any command sees its options."""
    if argv[1:2] != ["up"]:
        return
    for option, value in zip(argv, [*argv[1:], ""], strict=True):
        if option == "--data" and value:
            os.environ["TASKQ_DATA_DIR"] = value
        elif option.startswith("--data="):
            os.environ["TASKQ_DATA_DIR"] = option.removeprefix("--data=")


if __name__ == "__main__":
    main()
