"""A pages process whose pages never end: `python -m tests.running.stuck_pages DIRECTORY`."""

from __future__ import annotations

import sys
import threading
from pathlib import Path
from typing import NoReturn


def main() -> None:
    """Serve until the process has enough of it."""
    import django

    django.setup()
    from queues.server.pages_handler import PagesHandler
    from queues.server.pages_process import serve_pages

    def never_answer(*_: object) -> NoReturn:
        while True:
            threading.Event().wait()

    PagesHandler.get_response = never_answer  # type: ignore[assignment, method-assign]
    serve_pages(Path(sys.argv[1]))


if __name__ == "__main__":
    main()
