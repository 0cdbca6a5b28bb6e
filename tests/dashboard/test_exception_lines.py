"""Of an error of many lines, the one that says what happened is shown."""

from __future__ import annotations

import traceback

import pytest

from dashboard.exception_lines import LINE_MAX, exception_line
from queues.engine.error_texts import cut_error
from taskq.outcomes import describe
from tests.support.rows import in_one_test

PYTHON = """Traceback (most recent call last):
  File "/app/worker.py", line 31, in run
    charge(order)
    ~~~~~~^^^^^^^
  File "/app/billing.py", line 7, in charge
    raise CardDeclined(order.id)
billing.CardDeclined: order 17: insufficient funds
"""
CHAINED = f"""{PYTHON}
During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "/app/worker.py", line 33, in run
    log(error)
OSError: [Errno 28] No space left on device
"""
JAVA = """java.lang.IllegalStateException: order 17 is closed
\tat com.shop.Orders.close(Orders.java:41)
\tat com.shop.Main.main(Main.java:7)
Caused by: java.sql.SQLException: deadlock
\t... 2 more"""
GO = """panic: runtime error: index out of range [3] with length 3

goroutine 1 [running]:
main.main()
\t/app/main.go:9 +0x1d
exit status 2"""
NODE = """TypeError: Cannot read properties of undefined (reading 'id')
    at charge (/app/billing.js:7:15)
    at process.processTicksAndRejections (node:internal/process/task_queues:95:5)"""
SDK = """ValueError: no such order
billing.py:7 in charge
worker.py:31 in run"""
CUT = """Traceback (most recent call last):
  File "/app/worker.py", line 31, in run
    charge(order)
"""


@in_one_test(
    ("error", "line"),
    [
        ("", ""),
        ("  \n ", ""),
        ("421 smtp timeout", "421 smtp timeout"),
        ("\n  boom \nmore", "boom"),
        (PYTHON, "billing.CardDeclined: order 17: insufficient funds"),
        (PYTHON.replace("\n", "\r\n"), "billing.CardDeclined: order 17: insufficient funds"),
        (f"{PYTHON}it was declined by the bank\n", "billing.CardDeclined: order 17: insufficient funds"),
        (f"job 17 failed\n{PYTHON}", "billing.CardDeclined: order 17: insufficient funds"),
        (CHAINED, "OSError: [Errno 28] No space left on device"),
        (JAVA, "java.lang.IllegalStateException: order 17 is closed"),
        (GO, "panic: runtime error: index out of range [3] with length 3"),
        (NODE, "TypeError: Cannot read properties of undefined (reading 'id')"),
        (SDK, "ValueError: no such order"),
        (CUT, "charge(order)"),
        (f"job 17 failed\n{CUT}", "job 17 failed"),
        ("Traceback (most recent call last):", "Traceback (most recent call last):"),
    ],
)
def test_the_line_that_says_what_happened(error: str, line: str) -> None:
    assert exception_line(error) == line


def test_of_what_python_itself_prints() -> None:
    """An exception, a syntax error, and a group of exceptions."""

    def printed(error: BaseException) -> str:
        try:
            raise error
        except BaseException as raised:
            return "".join(traceback.format_exception(raised))

    def failed(text: str) -> Exception:
        try:
            raise ValueError(text)
        except ValueError as error:
            return error

    syntax = SyntaxError("invalid syntax", ("<job>", 1, 3, "a b", 1, 4))
    group = ExceptionGroup("two failed", [failed("one"), failed("two")])

    assert exception_line(printed(ZeroDivisionError("division by zero"))) == "ZeroDivisionError: division by zero"
    assert exception_line(printed(syntax)) == "SyntaxError: invalid syntax"
    assert exception_line(printed(group)) == "ExceptionGroup: two failed (2 sub-exceptions)"


def test_a_long_line_is_cut() -> None:
    line = exception_line("x" * 10_000)

    assert len(line) == LINE_MAX
    assert line.endswith("x…")


CALLS = "".join(f'  File "/app/deep.py", line {number}, in call\n    call({number})\n' for number in range(100))
MORE = "[SQL: 1]\n" * 400


@in_one_test(
    ("error", "line"),
    [
        (f"Traceback (most recent call last):\n{CALLS}shop.Closed: order 17\n", "shop.Closed: order 17"),
        (f"Traceback (most recent call last):\n{CALLS}shop.Closed: {'é' * 4_000}\n", f"shop.Closed: {'é' * 200}"),
        (f"Traceback (most recent call last):\n{CALLS}Deadlock: 3\n{MORE}", "Deadlock: 3"),
        (f"{PYTHON}\nDuring it:\n\nTraceback (most recent call last):\n{CALLS}OSError: full\n", "OSError: full"),
        (JAVA + "\n\tat com.shop.Main.call(Main.java:1)" * 200, "java.lang.IllegalStateException: order 17 is closed"),
    ],
)
def test_the_line_is_that_of_the_whole_error_where_a_job_keeps_a_part(error: str, line: str) -> None:
    assert len(error) > 5_000
    assert exception_line(cut_error(error).decode()).startswith(line)


def test_the_line_of_what_the_sdk_says_of_a_deep_exception() -> None:
    def call(depth: int) -> None:
        if not depth:
            raise LookupError("Bestellung Nr. 17 für Müller " + "ü" * 600)
        call(depth - 1)

    with pytest.raises(LookupError) as raised:
        call(200)

    line = exception_line(cut_error(describe(raised.value)).decode())
    assert line.startswith("LookupError: Bestellung Nr. 17 für Müller ü")
