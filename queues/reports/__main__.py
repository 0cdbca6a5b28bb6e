"""`python -m queues.reports --lake URL --out URL --run ID --date D [--date D ...]`: reports of days, by Spark."""

from __future__ import annotations

import sys

if __name__ == "__main__":
    from .command import main

    sys.exit(main())
