"""The pages of docs/sdk: every snippet is executed, and what it claims to give is compared with what it gives.

A page's blocks are taken in order:

    ```python                     runs in the page's module `tasks`; blocks that declare something are written to
                                  tasks.py as well, where `taskq ...` of the page finds them
    ```python title="x.py"        the same for the module `x`; files test_*.py and conftest.py are run by pytest instead
    ```python title="celery"      another system's: compiled only; ```go title="asynq" is not
    ```console                    `$ taskq ...` is run in the page's folder; `worker` and `dev` until the page ends
    ```go, php, console           a job's body in them is enqueued and run
    ```yaml, ini                  is parsed

`EXPRESSION  # → VALUE` compares the repr (of a `print`, the text); `# raises NAME` expects an exception. `...` matches
anything. Hidden comments: `<!-- setup: CODE -->` runs code, `<!-- worker -->` runs a worker until nothing is ready,
`<!-- failures: REGEX -->` names a failure or parked job that the page intends, `<!-- not run: NAME, ... -->` tasks that
stay declared. A worker also runs whenever a snippet waits for a result, and at the page's end.
"""

from __future__ import annotations

import ast
import asyncio
import configparser
import io
import json
import logging
import os
import re
import shlex
import subprocess
import sys
import tokenize
import types
from collections.abc import Callable, Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from queues.engine import JobState, PublishOptions, promote_due, relay
from taskq import App, Job, Middleware, Running, TaskOptions
from taskq.brokers.redis import _EngineWork
from taskq.message import read_message
from tests.support.python_path import python_path
from tests.support.waiting import wait_until

from .conftest import until, working

ROOT: Final = Path(__file__).parents[2]
DOCS: Final = ROOT / "docs" / "sdk"
PAGES: Final = sorted(DOCS.glob("*.md"))
WRITTEN_BY_OTHERS: Final = {"django.md", "transactions.md"}
"""They need a Django project and have tests of their own."""

NAMESPACE: Final = "docs"
TOKEN: Final = re.compile(
    r"^```(?P<language>\w+)(?P<info>[^\n]*)\n(?P<text>.*?)^```$|<!-- (?P<word>setup|worker|failures|not run):?"
    r"(?P<rest>.*?)-->",
    re.MULTILINE | re.DOTALL,
)
NOT_RUN: Final = ("pip ", "kill ", "sudo ", "kubectl ", "curl ", "journalctl ")
"""What a console block may show besides `taskq`: it is not run."""

JSON: Final = json.JSONDecoder()


def plain_text(value: object) -> str:
    return " ".join(str(value).split())


def matches(shown: str, got: str) -> bool:
    """Whether the text on the page is what came; `...` stands for anything, and blanks do not count."""
    pattern = re.escape(plain_text(shown)).replace(r"\.\.\.", ".*")
    return re.fullmatch(pattern, plain_text(got)) is not None


class Checks(ast.NodeTransformer):
    """Makes `EXPRESSION  # → VALUE` call `_check`, and `# raises NAME` call `_check_raises`."""

    def __init__(self, source: str) -> None:
        self.comments: dict[int, str] = {}
        for token in tokenize.generate_tokens(io.StringIO(source).readline):
            if token.type == tokenize.COMMENT and (found := re.match(r"# (→|raises) (.+)", token.string)):
                self.comments[token.start[0]] = found[0]

    def visit_Expr(self, node: ast.Expr) -> ast.AST:
        comment = self.comments.get(node.end_lineno or 0)
        if comment is None:
            return self.generic_visit(node)
        arguments: list[ast.expr] = [ast.Constant(node.end_lineno), ast.Constant(comment)]
        if comment.startswith("# raises"):
            call = ast.Lambda(
                args=ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[]), body=node.value
            )
            arguments.append(call)
        else:
            value, is_print = node.value, False
            if isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id == "print":
                value, is_print = value.args[0], True
            arguments += [value, ast.Constant(is_print)]
        name = ast.Name("_check_raises" if comment.startswith("# raises") else "_check", ast.Load())
        return ast.fix_missing_locations(
            ast.copy_location(ast.Expr(ast.Call(func=name, args=arguments, keywords=[])), node)
        )


class Ran(Middleware):
    """Notes which tasks run."""

    def __init__(self) -> None:
        self.names: set[str] = set()

    async def around_run(self, run: Running, call_next: Callable[[], Any]) -> Any:
        self.names.add(run.context.task)
        return await call_next()


class Failures(logging.Handler):
    """Collects what workers in this process say of failed and parked jobs."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.seen: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        detail = getattr(record, "error", None) or getattr(record, "reason", "")
        self.seen.append(f"{record.getMessage()}: {detail}")


class Page:
    """A page that is carried out in a folder of its own."""

    def __init__(self, path: Path, folder: Path, url: str, forked_taskq: list[str]) -> None:
        self.path = path
        self.text = path.read_text(encoding="utf-8")
        self.folder = folder
        self.modules: dict[str, types.ModuleType] = {}
        self.apps: list[App] = []
        self.ran = Ran()
        self.wrong: list[str] = []
        self.expected: set[int] = set()
        self.checked: set[int] = set()
        self.may_fail: list[str] = []
        self.stay: set[str] = set()
        self.background: list[subprocess.Popen[bytes]] = []
        self.queues = {"default", *re.findall(r'queue="([\w-]+)"', self.text)}
        self.has_dev = "$ taskq dev" in self.text
        self.env = {**os.environ, "PYTHONPATH": python_path(ROOT)}
        for name in ("TASKQ_URL", "TASKQ_NAMESPACE", "TASKQ_TOKEN"):
            self.env.pop(name, None)
        if not self.has_dev:  # which is found by its folder
            self.env |= {"TASKQ_URL": url, "TASKQ_NAMESPACE": NAMESPACE}
        self.env_of_commands = {"PATH": self._bin("bin", forked_taskq)}
        self.env_of_processes = {"PATH": self._bin("bin-of-processes", [sys.executable, "-m", "taskq"])}

    def _bin(self, name: str, taskq: list[str]) -> str:
        """PATH with a `taskq` that is this."""
        command = self.folder / name / "taskq"
        command.parent.mkdir()
        command.write_text(f'#!/bin/sh\nexec {shlex.join(taskq)} "$@"\n')
        command.chmod(0o755)
        return f"{command.parent}:{os.environ['PATH']}"

    def run(self) -> None:
        try:
            for found in TOKEN.finditer(self.text):
                line = self.text.count("\n", 0, found.start()) + 1
                if found["word"]:
                    self._obey(found["word"], found["rest"].strip(), line)
                else:
                    self._block(found["language"], found["info"].strip(), found["text"], line + 1)
            self.work()
            if self.has_dev:
                wait_until(
                    lambda: not any(map(self._left, self.queues)), or_fail="the worker did not run all", timeout_s=60
                )
            self._run_tests()
        finally:
            for process in self.background:
                process.terminate()
            for process in self.background:
                process.wait(30)

    def work(self, app: App | None = None) -> None:
        """Run what is ready; beside a `taskq dev` its worker does that. `app`: one that a block has just made."""
        if app is not None and app not in self.apps:
            self.apps.append(app)
        for app in self.apps:
            if app.tasks and not self.has_dev:
                if self.ran not in app.middleware:
                    app.middleware.append(self.ran)
                asyncio.run(self._work(app))

    async def _work(self, app: App) -> None:
        """A worker until all that is ready has run and Redis knows it."""
        await app.broker.arun(_promote())
        async with working(app, queues=dict.fromkeys(self.queues, 1)):
            await until(lambda: self._is_idle(app), or_fail="the worker did not run all", timeout_s=30)

    async def _is_idle(self, app: App) -> bool:
        """Whether nothing is ready or worked on, and no job waits for one of these."""
        if not await self._is_empty(app):
            return False
        await app.broker.arun(_EngineWork(lambda engine: relay(engine.layout)))
        return await self._is_empty(app)

    async def _is_empty(self, app: App) -> bool:
        works = [app.broker.stats(name) for name in self.queues]
        counts = [found.counts for found in await app.broker.arun_all(works)]
        return not sum(one[JobState.READY] + one[JobState.WORKING] for one in counts)

    def _left(self, queue: str) -> int:
        broker = self.apps[0].broker
        counts = broker.run(broker.stats(queue)).counts
        return sum(number for state, number in counts.items() if state is not JobState.COMPLETED)

    def _obey(self, word: str, rest: str, line: int) -> None:
        if word == "setup":
            self._execute("tasks", rest, line)
        elif word == "worker":
            self.work()
        elif word == "failures":
            self.may_fail.append(rest)
        else:
            self.stay |= set(re.findall(r"[\w.]+", rest))

    def _block(self, language: str, info: str, text: str, line: int) -> None:
        title = found[1] if (found := re.fullmatch(r'title="([^"]+)"', info)) else ""
        assert bool(title) == bool(info), f"line {line}: {info!r} is not understood"
        if language == "python" and title and not title.endswith(".py"):
            compile(text, f"{self.path.name}:{line}", "exec")
        elif language == "python":
            self._python(title or "tasks.py", text, line)
        elif language == "console":
            self._console(text, line)
            self._bodies(text)
        elif language in ("go", "php") and not title:
            assert self._bodies(text), f"line {line}: no body of a job in it"
        elif language == "yaml":
            assert list(yaml.safe_load_all(text))
        elif language == "ini":
            parser = configparser.ConfigParser(strict=False, interpolation=None)
            parser.optionxform = str  # type: ignore[assignment, method-assign]
            parser.read_string(text)
            assert parser.sections()
        elif language == "json":
            json.loads(text)
        else:
            assert language == "text" or (language == "go" and title), (
                f"line {line}: nobody knows how to check {language}"
            )

    def _python(self, file: str, text: str, line: int) -> None:
        path = self.folder / file
        if file.startswith(("test_", "conftest")):
            path.write_text(text)
            return
        if _declares(text):
            with path.open("w" if file in text else "a", encoding="utf-8") as out:
                out.write(text + "\n")
        self._execute(file.removesuffix(".py"), text, line)

    def _execute(self, name: str, text: str, line: int) -> None:
        source = "\n" * (line - 1) + text
        module = self.modules.get(name)
        if module is None:
            module = self.modules[name] = sys.modules[name] = types.ModuleType(name)
            module.__file__ = str(self.folder / f"{name}.py")
            vars(module).update(_check=self._check, _check_raises=self._check_raises)
        checks = Checks(source)
        self.expected |= checks.comments.keys()
        tree = checks.visit(ast.parse(source, f"docs/sdk/{self.path.name}"))
        exec(compile(tree, f"docs/sdk/{self.path.name}", "exec"), vars(module))
        self.apps += [app for app in vars(module).values() if isinstance(app, App) and app not in self.apps]

    def _check(self, line: int, comment: str, value: object, is_print: bool) -> None:
        self.checked.add(line)
        got = str(value) if is_print else repr(value)
        if not matches(comment.removeprefix("# → "), got):
            self.wrong.append(f"line {line}: shown {comment!r}, got {got}")

    def _check_raises(self, line: int, comment: str, call: Callable[[], object]) -> None:
        self.checked.add(line)
        name, _, text = comment.removeprefix("# raises ").partition(": ")
        try:
            call()
        except Exception as error:
            if type(error).__name__ != name or (text and not matches(text, str(error))):
                self.wrong.append(f"line {line}: shown {comment!r}, got {error!r}")
        else:
            self.wrong.append(f"line {line}: shown {comment!r}, nothing was raised")

    def _console(self, text: str, line: int) -> None:
        assert text.startswith("$ "), f"line {line}: it begins with no command"
        for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
            command, _, shown = part.partition("\n")
            while command.endswith("\\"):
                more, _, shown = shown.partition("\n")
                command = command[:-1] + more
            command = command.partition("  #")[0].strip()
            if command.startswith(NOT_RUN):
                continue
            assert re.match(r"(\w+=\$\()?taskq ", command), f"line {line}: {command!r} is not run"
            if re.match(r"taskq (dev|worker)", command) and "--burst" not in command:
                self._start(command)
            else:
                self._command(command, shown)

    def _command(self, command: str, shown: str) -> None:
        variable = re.fullmatch(r"(\w+)=\$\((.*)\)", command)
        done = subprocess.run(
            ["/bin/sh", "-c", variable[2] if variable else command],
            cwd=self.folder, env=self.env | self.env_of_commands, capture_output=True, text=True, timeout=60,
            check=False,
        )  # fmt: skip
        fails = shown.startswith("taskq: ")
        said = done.stderr if fails else done.stdout
        assert done.returncode == (1 if fails else 0), f"{command}: {done.stdout}{done.stderr}"
        if variable:
            self.env[variable[1]] = said.strip()
        elif shown.strip():
            assert matches(shown, said), f"$ {command}\nshown:\n{shown}\ngot:\n{said}"

    def _start(self, command: str) -> None:
        is_dev = command.startswith("taskq dev")
        process = subprocess.Popen(
            ["/bin/sh", "-c", f"exec {command}{' --port 0' if is_dev else ''}"], cwd=self.folder,
            env=self.env | self.env_of_processes, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        self.background.append(process)
        if is_dev:
            place = self.folder / ".taskq" / "dev.json"
            wait_until(place.exists, or_fail=f"{command} did not start", timeout_s=60)
        else:
            app = App(self.env["TASKQ_URL"], namespace=NAMESPACE)
            wait_until(
                lambda: any(one.pid == process.pid for one in app.broker.run(app.broker.workers())),
                or_fail=f"{command} did not start", timeout_s=20,
            )  # fmt: skip
            app.broker.close()

    def _bodies(self, text: str) -> int:
        """Enqueue the jobs whose bodies another language's producer shows. How many there are."""
        number = 0
        for start in (found.start() for found in re.finditer(r'\{"task":', text)):
            content, _ = JSON.raw_decode(text[start:])
            body = json.dumps(content).encode()
            message = read_message(body)
            app = next((app for app in self.apps if message.task in app.tasks), None)
            assert app is not None, f"the page has no task {message.task}"
            app.tasks[message.task].read_arguments(message.args, message.kwargs)
            app.broker.run(app.broker.publish(app.tasks[message.task].options.queue, [body], PublishOptions()))
            number += 1
        return number

    def _run_tests(self) -> None:
        if not list(self.folder.glob("test_*.py")):
            return
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:django", "-p", "no:valkey", "-p", "no:xdist", "."]
        done = subprocess.run(command, cwd=self.folder, env=self.env, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stdout + done.stderr

    def tasks_left(self) -> set[str]:
        """Tasks that no worker ran though the page does not say so. Commands run theirs in other processes."""
        known = {name for app in self.apps for name in app.tasks if not self.has_dev}
        return {name for name in known - self.ran.names if name not in self.stay and "*" not in self.stay}


def _promote() -> Any:
    return _EngineWork(lambda engine: promote_due(engine.layout))


def _declares(text: str) -> bool:
    """Whether a block declares what others import; else it only calls."""
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    return any(isinstance(node, kinds) or "App(" in ast.unparse(node) for node in ast.parse(text).body)


@pytest.fixture
def failures() -> Iterator[Failures]:
    handler = Failures()
    logger = logging.getLogger("taskq.worker")
    logger.addHandler(handler)
    yield handler
    logger.removeHandler(handler)


@pytest.fixture
def carry_out(
    tmp_path: Path, redis_url: str, monkeypatch: pytest.MonkeyPatch, failures: Failures, forked_taskq: list[str]
) -> Iterator[Callable[[Path], None]]:
    """Carries a page out. Fails if something on it is not so."""
    pages: list[Page] = []

    def run(path: Path) -> None:
        page = Page(path, tmp_path, redis_url, forked_taskq)
        pages.append(page)
        for name in ("TASKQ_URL", "TASKQ_NAMESPACE"):
            monkeypatch.setenv(name, page.env[name]) if name in page.env else monkeypatch.delenv(name, raising=False)
        result, aresult = Job.result, Job.aresult

        def run_and_wait(job: Job[Any], timeout: float = 30.0) -> Any:
            assert isinstance(job._app, App)
            page.work(job._app)
            return result(job, 60 if page.has_dev else timeout)

        async def run_and_await(job: Job[Any], timeout: float = 30.0) -> Any:  # noqa: ASYNC109 - the same as `Job`
            assert isinstance(job._app, App)
            await asyncio.to_thread(page.work, job._app)
            return await aresult(job, timeout)

        monkeypatch.setattr(Job, "result", run_and_wait)
        monkeypatch.setattr(Job, "aresult", run_and_await)
        page.run()
        assert not page.wrong, "\n".join(page.wrong)
        assert page.expected - page.checked == set(), "these lines were not checked"
        unexpected = [text for text in failures.seen if not any(re.search(one, text) for one in page.may_fail)]
        assert unexpected == []
        assert page.tasks_left() == set(), "nobody ran these"

    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield run
    for page in pages:
        for name in page.modules:
            sys.modules.pop(name, None)
        for app in page.apps:
            if app._broker is not None:
                app._broker.close()


@pytest.mark.parametrize("path", [page for page in PAGES if page.name not in WRITTEN_BY_OTHERS], ids=lambda p: p.name)
def test_every_snippet_of_a_page_does_what_it_says(path: Path, carry_out: Callable[[Path], None]) -> None:
    carry_out(path)


HELLO: Final = """
```python
from taskq import App

app = App()


@app.task(name="hello", retention=60)
def hello(name: str) -> str:
    return f"Hello, {name}"


job = hello.enqueue("you")
```
"""


def test_a_page_without_mistakes_passes(tmp_path: Path, carry_out: Callable[[Path], None]) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"{HELLO}\n```python\njob.result()  # → 'Hello, ...'\n```\n")
    carry_out(page)


@pytest.mark.parametrize(
    ("mistake", "error"),
    [
        ("```python\nhello.enque()\n```", "no attribute 'enque'"),
        ("```python\njob.result()  # → 'Hello, me'\n```", "got 'Hello, you'"),
        ("```python\nx = job.id  # → '1'\n```", "not checked"),
        ("```python\njob.result()  # raises ValueError\n```", "nothing was raised"),
        ("```python\n@app.task\ndef other(): ...\n```", "nobody ran these"),
        ("```python\n@app.task\ndef other():\n    missing()\nother.enqueue()\n```", "'missing' is not defined"),
        ('```python title="celery"\ndef f(:\n```', "invalid syntax"),
        ('```python title="test_x.py"\ndef test_x():\n    assert 1 == 2\n```', "assert 1 == 2"),
        ("```console\n$ taskq enqueue tasks.hello\n```", "missing a required argument"),
        ("```console\n$ taskq --version\ntaskq none\n```", "got:"),
        ("```console\n$ make\n```", "is not run"),
        ('```go\nbody := `{"task": "hello", "args": [1, 2]}`\n```', "too many positional arguments"),
        ('```php\n$body = \'{"task": "other"}\';\n```', "the page has no task other"),
        ("```yaml\na: [\n```", "while parsing"),
        ("```ini\nno section\n```", "no section headers"),
        ("```ruby\n1\n```", "knows how to check"),
    ],
)
def test_a_mistake_on_a_page_is_found(
    tmp_path: Path, carry_out: Callable[[Path], None], mistake: str, error: str
) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"{HELLO}\n{mistake}\n")
    with pytest.raises(BaseException, match=re.escape(error)):
        carry_out(page)


def test_links_lead_somewhere() -> None:
    for path in PAGES:
        for target in re.findall(r"\]\((?!https?:)([^)#]+)(?:#[^)]*)?\)", path.read_text(encoding="utf-8")):
            assert (path.parent / target).exists() or target in WRITTEN_BY_OTHERS, f"{path.name}: {target}"


def test_all_pages_are_listed() -> None:
    text = (DOCS / "index.md").read_text(encoding="utf-8")
    assert [page.name for page in PAGES if page.name != "index.md" and f"({page.name})" not in text] == []


def test_tables_of_options_are_complete() -> None:
    rows = re.findall(r"^\| `(\w+)` \|", (DOCS / "tasks.md").read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert {field.name for field in fields(TaskOptions)} - set(rows) == set()

    import argparse

    from taskq.cli.main import COMMANDS
    from taskq.cli.run_worker import add_arguments

    parser = argparse.ArgumentParser(add_help=False)
    add_arguments(parser)
    shown = (DOCS / "worker.md").read_text(encoding="utf-8")
    options = [one.option_strings[-1] for one in parser._actions if one.help != argparse.SUPPRESS]
    assert [option for option in options if f"`{option}" not in shown] == []
    commands = (DOCS / "cli.md").read_text(encoding="utf-8")
    assert [name for name in COMMANDS if f"| `{name}" not in commands] == []
