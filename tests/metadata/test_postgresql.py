"""Everything else in this directory once more, on PostgreSQL."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.postgres import private_postgres, why_not

HERE = Path(__file__)
WITHOUT_DATABASE = ("test_private_data.py", "test_commands.py::test_a_process_starts_without_what_it_does_not_need")
"""They take DATABASE_URL from the processes that they start, so they would do the same once more."""


@pytest.mark.skipif(why_not() is not None, reason=why_not() or "")
@pytest.mark.skipif(
    os.environ.get("DATABASE_URL", "").startswith("postgres"), reason="these tests run on PostgreSQL already"
)
def test_the_metadata_tests_pass_on_postgresql() -> None:
    root = HERE.parents[2]
    left_out = [f"--deselect={HERE.parent.relative_to(root)}/{name}" for name in (HERE.name, *WITHOUT_DATABASE)]
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(HERE.parent), *left_out]
    with private_postgres() as url:
        environment = os.environ | {"DATABASE_URL": url, "DJANGO_SETTINGS_MODULE": "tests.settings"}
        result = subprocess.run(command, env=environment, capture_output=True, text=True, cwd=root)
        print(result.stdout)
    assert result.returncode == 0, result.stdout[-20_000:]
