"""docs/sdk/django.md: its snippets, in order, in a Django project that consists of them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Final

import django

from tests.support.python_path import python_path

ROOT: Final = Path(__file__).parents[3]
PAGE: Final = (ROOT / "docs/sdk/django.md").read_text(encoding="utf-8")
SNIPPETS: Final = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
COMMANDS: Final = re.findall(r"^\$ python (manage\.py .*)$", PAGE, re.MULTILINE)

MANAGE: Final = """\
import os, sys
os.environ["DJANGO_SETTINGS_MODULE"] = "settings"
from django.core.management import execute_from_command_line
execute_from_command_line(sys.argv)
"""
BEFORE_SETTINGS: Final = """\
SECRET_KEY = "of a test"
USE_TZ = True
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
DATABASES = {"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": "db.sqlite3"}}
"""
MODELS: Final = """\
from django.db import models

class Order(models.Model):
    receipt = models.CharField(max_length=100)
"""
BEFORE_CODE: Final = """\
import django
django.setup()
from django.core.management import call_command
call_command("migrate", run_syncdb=True, verbosity=0)
"""
AFTER_CODE: Final = """
print(order.receipt)
"""
LOOK: Final = """\
import sys, django
django.setup()
from shop.tasks import send_receipt
print(*(send_receipt.get_result(one).return_value for one in sys.argv[1:]), sep="\\n")
"""


def test_the_snippets_work_in_a_project_that_consists_of_them(redis_url: str, tmp_path: Path) -> None:
    settings, tasks, *code = SNIPPETS
    assert (settings.split("\n")[0], tasks.split("\n")[0], len(code)) == ("# settings.py", "# shop/tasks.py", 3)
    settings = settings.replace("redis://localhost:6379/0", redis_url).replace("# ...", '"shop",')
    if django.VERSION < (6, 0):
        tasks = tasks.replace("from django.tasks import", "from django_tasks import")
        code = [one.replace("django.tasks", "django_tasks") for one in code]
    (tmp_path / "shop").mkdir()
    for name, text in {
        "manage.py": MANAGE,
        "settings.py": BEFORE_SETTINGS + settings,
        "shop/__init__.py": "",
        "shop/models.py": MODELS,
        "shop/tasks.py": tasks,
        "snippets.py": BEFORE_CODE + code[0] + "print(result.id)\n" + code[1] + AFTER_CODE + code[2],
        "look.py": LOOK,
    }.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": python_path(tmp_path, ROOT), "DJANGO_SETTINGS_MODULE": "settings"}

    def run(*arguments: str) -> str:
        done = subprocess.run(
            [sys.executable, *arguments], env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=60
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    ids = run("snippets.py").split()
    (command,) = COMMANDS
    printed = run(*command.split(), "--burst")

    assert printed.count("2026-11") == 2  # two threads print, and may mix their words
    assert run("look.py", *ids).splitlines() == ["receipt of order 7 sent", "receipt of order 1 sent"]
