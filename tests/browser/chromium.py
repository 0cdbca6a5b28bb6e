"""The browser that the tests drive: a Chromium of this machine. None is downloaded."""

from __future__ import annotations

import os
import shutil
from typing import Final

import pytest

NAMES: Final = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
ARGUMENTS: Final = ("--no-sandbox", "--disable-dev-shm-usage", "--force-color-profile=srgb")
"""Containers have neither the right to make a sandbox nor much shared memory."""


def find_chromium() -> str:
    """Where it is. Skips the test if there is none; where CI is set there has to be one."""
    for name in NAMES:
        if path := shutil.which(name):
            return path
    reason = f"no browser: none of {', '.join(NAMES)} is installed (on Debian: apt-get install chromium)"
    if os.environ.get("CI"):
        pytest.fail(reason)
    pytest.skip(reason)
