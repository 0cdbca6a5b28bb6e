"""Limits of the operating system."""

from __future__ import annotations

import resource


def raise_open_files() -> int:
    """Allow as many open files as may be had without being root, here and in processes started later. How many."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    return most
