"""Deliveries, and the pages of push endpoints, once more on PostgreSQL."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.postgres import private_postgres, why_not

HERE = Path(__file__)
AGAIN = ("tests/push/test_delivery.py", "tests/dashboard/test_push_forms.py")


@pytest.mark.skipif(why_not() is not None, reason=why_not() or "")
@pytest.mark.skipif(
    os.environ.get("DATABASE_URL", "").startswith("postgres"), reason="these tests run on PostgreSQL already"
)
def test_push_works_on_postgresql() -> None:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *AGAIN]
    with private_postgres() as url:
        environment = os.environ | {"DATABASE_URL": url, "DJANGO_SETTINGS_MODULE": "tests.settings"}
        result = subprocess.run(command, env=environment, capture_output=True, text=True, cwd=HERE.parents[2])
        print(result.stdout)
    assert result.returncode == 0, result.stdout[-20_000:]
    assert " passed" in result.stdout
