"""What a type checker says of right and of wrong uses."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
RIGHT = """
from collections.abc import Iterator
from taskq import App, Context, Depends, Job

app = App()

@app.task
def add(a: int, b: int = 1) -> int:
    return a + b

@app.task(queue="mail", timeout=30)
async def send(ctx: Context, to: str, *, subject: str = "") -> bool:
    ctx.progress(50)
    return True

@app.task
def walk(ctx: Context, to: int) -> Iterator[int]:
    yield to

number: int = add(1, b=2)
job: Job[int] = add.enqueue(1)
result: int = job.result()
sent: Job[bool] = send.enqueue("x", subject="y")
calls = [send.call("x"), add.using(delay=5, queue="later").call(1, b=2)]
app.enqueue_many(calls)
walk.enqueue(to=3)

async def main() -> None:
    again: Job[bool] = await send.aenqueue("x")
    fine: bool = await again.aresult()
    number: int = (await add.aenqueue(1)).result()
"""
WRONG = [
    'send.enqueue("x", wrong=1)',
    "send.enqueue(1)",
    "send.enqueue()",
    "add.enqueue(a=None)",
    'add.using(priority=3).enqueue("x")',
    'add.call("x")',
    "text: str = add.enqueue(1).result()",
    'number: int = send.enqueue("x").result()',
]

OPTIONS = ("--strict", "--config-file=", "--follow-imports=silent")
"""The modules of the library are read, but their functions, which `make static` checks, are not checked once more."""


def mypy(folder: Path, text: str) -> list[str]:
    """The lines of what mypy says of a module, without the file's name."""
    path = folder / "uses.py"
    path.write_text(text)
    done = subprocess.run(
        [sys.executable, "-m", "mypy", *OPTIONS, f"--cache-dir={folder / 'cache'}", str(path)],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    return [line.partition("uses.py:")[2] for line in done.stdout.splitlines() if "uses.py:" in line]


def test_right_uses_pass_and_each_wrong_one_is_found(tmp_path: Path) -> None:
    first = RIGHT.count("\n") + 1
    said = mypy(tmp_path, RIGHT + "\n".join(WRONG) + "\n")

    errors = {int(re.match(r"\d+", line)[0]) for line in said if "error:" in line}  # type: ignore[index]
    assert errors == set(range(first, first + len(WRONG))), "\n".join(said)


def test_the_library_needs_no_django(tmp_path: Path) -> None:
    """Nor the server, but for what keeps a Redis and processes; and it is light: a worker has little else in memory."""
    program = (
        "import sys, taskq, taskq.worker, taskq.testing, taskq.cli.run_worker\n"
        "loaded = {name.partition('.')[0] for name in sys.modules}\n"
        "print(sorted(loaded & {'django', 'rest_framework', 'pyarrow', 'httpx', 'uvicorn', 'pebble', 'dashboard'}))\n"
        "print([name for name in sys.modules if name.startswith('queues.') and name.split('.')[1] not in"
        " ('engine', 'embedded', 'supervision', 'odd_characters')])\n"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.split("\n")[:2] == ["[]", "[]"]
