"""A pages process whose pages never end: `python -m tests.running.stuck_pages DIRECTORY`."""

from __future__ import annotations

import sys
import threading
from pathlib import Path


def main() -> None:
    """Serve until the process has enough of it."""
    import django

    django.setup()
    from queues.management.web.pages_handler import PagesHandler
    from queues.management.web.pages_server import serve_pages

    PagesHandler.get_response = lambda _self, _request: threading.Event().wait()  # type: ignore[method-assign, assignment]
    serve_pages(Path(sys.argv[1]))


if __name__ == "__main__":
    main()
