"""Settings: where jobs are, and what system checks say of mistakes."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import pytest_django
from django.core import checks
from django.core.management import CommandError, call_command

from taskq import NotConfiguredError, QueueLimits
from taskq.django import app, taskq_backends
from taskq.django import backend as backend_module
from taskq.django.backend import OPTIONS, TaskqBackend
from taskq.django.connection_settings import ConnectionSettings, backend_connection, project_connection

from .conftest import current_backend

Settings = pytest_django.Settings
BACKEND = "taskq.django.TaskqBackend"


def problems(backend: TaskqBackend) -> list[tuple[str | None, str]]:
    return [(found.id, found.msg) for found in backend.check() if found.id != "taskq.W002"]


def test_good_settings_pass(configure: Any) -> None:
    options = {
        "RETENTION": 60,
        "RETRY": {"tries": 3, "backoff": "exponential:1:60", "only": ["builtins.OSError", ValueError]},
        "TIMEOUT": 1.5,
        "ENQUEUE_ON_COMMIT": False,
        "URL": "rediss://user:secret@example.com:6379/0",
        "NAMESPACE": "shop",
        "TOKEN": None,
    }
    assert problems(configure()) == []
    assert problems(configure(**options)) == []


@pytest.mark.parametrize(
    ("options", "code", "words"),
    [
        ({"QUEUE": "a", "RETRIES": 3}, "taskq.E001", "unknown OPTIONS: QUEUE, RETRIES"),
        ({"URL": "ftp://example.com"}, "taskq.E002", "pool URL must begin with one of redis://"),
        ({"NAMESPACE": "a b"}, "taskq.E002", "namespace name contains forbidden characters"),
        ({"RETRY": 0}, "taskq.E003", "tries shouldn't be zero"),
        ({"RETRY": "often"}, "taskq.E003", "RETRY must be a number of tries or a dict"),
        ({"RETRY": {"TIMES": 3}}, "taskq.E003", "times"),
        ({"RETRY": {"BACKOFF": "slowly"}}, "taskq.E003", "unknown backoff 'slowly'"),
        ({"RETRY": {"NEVER": ["no.such.Error"]}}, "taskq.E003", "No module named 'no'"),
        ({"RETENTION": -1}, "taskq.E003", "must not be negative"),
        ({"RETENTION": "a day"}, "taskq.E003", "retention= must be"),
        ({"TIMEOUT": 0}, "taskq.E003", "timeout= must be above 0"),
        ({"ENQUEUE_ON_COMMIT": "yes"}, "taskq.E004", "True or False"),
        ({"OUTBOX": "nowhere"}, "taskq.E006", "the alias of a database, not 'nowhere'"),
        ({"RETENTION": 0}, "taskq.W001", "gone as soon as its task is done"),
    ],
)
def test_a_mistake_is_reported(configure: Any, options: dict[str, Any], code: str, words: str) -> None:
    ((found, message),) = problems(configure(**options))
    assert found == code
    assert words in message
    assert message.startswith("TASKS['default']")


def test_bad_queue_names_are_reported(configure: Any, settings: Settings) -> None:
    configure()
    settings.TASKS = {"default": {"BACKEND": BACKEND, "QUEUES": ["good", "not good", "_hidden"]}}
    codes = problems(current_backend())
    assert [code for code, _ in codes] == ["taskq.E005", "taskq.E005"]
    assert "'_hidden'" in codes[0][1]


def test_a_missing_url_is_reported(settings: Settings, monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    monkeypatch.delenv("TASKQ_URL", raising=False)
    monkeypatch.chdir(tmp_path)
    settings.TASKS = {"default": {"BACKEND": BACKEND}}
    ((code, message),) = problems(current_backend())
    assert code == "taskq.E002"
    assert "TASKQ_URL" in message


@pytest.mark.django_db  # checks of newer Djangos ask what the database can do
def test_the_missing_app_is_a_warning_of_djangos_own_check(
    backend: TaskqBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "taskq.W002" not in {found.id for found in checks.run_checks()}
    monkeypatch.setattr("taskq.django.backend.apps.is_installed", lambda _name: False)
    assert "taskq.W002" in {found.id for found in checks.run_checks()}


def test_the_url_may_come_from_the_environment(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TASKQ_URL", "redis://example.com:6379/3")
    monkeypatch.setenv("TASKQ_NAMESPACE", "env")
    settings.TASKS = {"default": {"BACKEND": BACKEND}}
    broker = current_backend().app.broker
    assert (broker.url, broker.namespace) == ("redis://example.com:6379/3", "env")
    app.forget_broker()


def test_a_backend_has_the_connection_of_the_project_unless_it_says_otherwise(settings: Settings) -> None:
    settings.TASKQ = {"URL": "redis://a", "NAMESPACE": "shop"}
    assert project_connection() == ConnectionSettings("redis://a", "shop", None)
    assert backend_connection({}) == project_connection()
    assert backend_connection({"NAMESPACE": "other"}) == ConnectionSettings("redis://a", "other", None)
    settings.TASKS = {
        "default": {"BACKEND": BACKEND},
        "other": {"BACKEND": BACKEND, "OPTIONS": {"NAMESPACE": "other"}},
        "another": {"BACKEND": BACKEND, "OPTIONS": {"NAMESPACE": "other"}},
    }
    assert current_backend().app is app
    assert current_backend("other").app is current_backend("another").app is not app
    assert current_backend("other").app.broker.namespace == "other"
    assert {backend.alias for backend in app.backends()} == {"default"}


def test_without_taskq_the_project_is_where_the_default_backend_is(settings: Settings) -> None:
    settings.TASKS = {"default": {"BACKEND": BACKEND, "OPTIONS": {"URL": "redis://a", "RETENTION": 1}}}
    assert project_connection() == ConnectionSettings("redis://a", None, None)
    assert current_backend().app is app
    settings.TASKS = {"default": {"BACKEND": "django_tasks.backends.dummy.DummyBackend", "OPTIONS": {"URL": "x"}}}
    assert project_connection() == ConnectionSettings(None, None, None)


def test_a_misspelt_name_in_taskq_is_refused(settings: Settings) -> None:
    settings.TASKQ = {"URI": "redis://a"}
    with pytest.raises(NotConfiguredError, match="unknown names in TASKQ: URI"):
        _ = app.broker


def test_limits_of_queues_are_those_of_taskq(settings: Settings) -> None:
    settings.TASKQ = {"URL": "redis://a", "QUEUE_LIMITS": {"mails": {"rate": 5, "key_weights": {"acme": 3}}}}
    settings.TASKS = {"default": {"BACKEND": BACKEND}, "other": {"BACKEND": BACKEND, "OPTIONS": {"NAMESPACE": "other"}}}
    assert app.queue_limits == {"mails": QueueLimits(rate=5, key_weights={"acme": 3})}
    assert current_backend("other").app.queue_limits == {}
    settings.TASKQ = {"URL": "redis://a", "QUEUE_LIMITS": {"mails": {"RATE": 5}}}
    with pytest.raises(NotConfiguredError, match="queue_limits of 'mails': got an unexpected keyword argument 'RATE'"):
        _ = app.queue_limits


def test_a_project_without_tasks_has_no_backends(settings: Settings) -> None:
    settings.TASKS = {}
    assert taskq_backends() == []


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--backend=gone"], "TASKS has no TaskqBackend 'gone'; there are: default"),
        ([], "choose --backend default"),
    ],
)
def test_runworker_says_what_it_cannot_serve(settings: Settings, arguments: list[str], words: str) -> None:
    settings.TASKQ = {"URL": "redis://a"}
    settings.TASKS = {"default": {"BACKEND": BACKEND, "OPTIONS": {"NAMESPACE": "other"}}}
    from taskq.django.management.commands.runworker import Command

    with pytest.raises(CommandError, match=words):
        call_command(Command(), *arguments)


def test_the_library_loads_no_django(tmp_path: Any) -> None:
    code = "import json, sys, taskq, taskq.worker, taskq.cli.main, taskq.testing; print(json.dumps(list(sys.modules)))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"django", "django_tasks", "taskq.django"} & set(json.loads(run.stdout))


WITHOUT_DJANGO_TASKS = """
import sys
sys.modules["django_tasks"] = None  # as if it were not installed
import django
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
settings.configure(INSTALLED_APPS=["taskq.django"], TASKQ={"URL": "redis://a"})
django.setup()
from taskq.django import app
assert app.task(len).name == "builtins.len" and app.queues() == {"default"}
try:
    from taskq.django import TaskqBackend
except ImproperlyConfigured as error:
    assert django.VERSION < (6, 0) and "pip install 'taskq[django-tasks]'" in str(error)
else:
    assert django.VERSION >= (6, 0)
"""


def test_without_the_backport_the_app_works() -> None:
    run = subprocess.run([sys.executable, "-c", WITHOUT_DJANGO_TASKS], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr


def test_the_documentation_lists_all_options_and_checks() -> None:
    page = (Path(__file__).parents[3] / "docs" / "sdk" / "django.md").read_text()
    options = page.partition("OPTIONS of a TASKS backend:")[2].partition("`manage.py check`")[0]
    assert {name for row in options.splitlines() for name in re.findall("`([A-Z_]+)`", row[:40])} - {"TASKQ"} == OPTIONS
    source = Path(backend_module.__file__).read_text()
    assert set(re.findall(r"taskq\.[EW]\d+", page)) == set(re.findall(r"taskq\.[EW]\d+", source))
    for snippet in re.findall(r"```python\n(.*?)```", page, re.DOTALL):
        compile(snippet, "django.md", "exec")
