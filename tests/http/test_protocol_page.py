"""docs/protocol.md: its tables are those of the code, and its examples work, as do those of other pages."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from queues.api.routes import ROUTES
from queues.engine import constants
from tests.http.service import Server
from tests.support.rows import in_one_test

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGE = (DOCS / "protocol.md").read_text(encoding="utf-8")
GIVEN = ("URL", "TOKEN", "ADMIN")
"""Variables that the page sets for its reader, and the test for itself."""


def sections() -> dict[str, str]:
    """The part of each route, by its heading."""
    parts = re.split(r"^#{2,3} (.*)$", PAGE, flags=re.MULTILINE)
    return {heading.strip("`"): text for heading, text in zip(parts[1::2], parts[2::2], strict=True) if "/" in heading}


def rows(text: str) -> Iterator[list[str]]:
    for line in text.splitlines():
        if line.startswith("| "):
            yield [cell.strip() for cell in line.strip("|").split(" | ")]


def test_the_page_has_every_route_and_no_other() -> None:
    assert list(sections()) == [f"{route.method} {route.path}" for route in ROUTES]


@in_one_test("route", ROUTES, title=lambda route: route.name)
def test_the_page_has_every_parameter_and_reply(route: object) -> None:
    documentation = route.documentation  # type: ignore[attr-defined]
    text = sections()[f"{route.method} {route.path}"]  # type: ignore[attr-defined]
    parameters = [re.match(r"`(\w+)`", row[0]) for row in rows(text)]
    replies = [int(row[0]) for row in rows(text) if row[0].isdigit()]

    assert [found[1] for found in parameters if found] == [one.name for one in documentation.parameters]
    assert replies == [one.status for one in documentation.replies]


def test_the_page_states_the_limits_of_the_engine() -> None:
    stated = {
        row[2].strip("`"): int(row[1].split()[0]) for row in rows(PAGE) if len(row) == 3 and row[2].strip("`").isupper()
    }
    stated |= {name: int(number) for number, name in re.findall(r"(\d+)[a-z ]*\s\(`(DEFAULT_\w+)`\)", PAGE)}

    assert len(stated) > 20
    assert stated == {name: getattr(constants, name) for name in stated}


def examples(page: str) -> list[tuple[str, str]]:
    """Commands and what they print, in the order of the page."""
    found: list[tuple[str, str]] = []
    for block in re.findall(r"^```console\n(.*?)^```", page, flags=re.MULTILINE | re.DOTALL):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, output = part.partition("\n")
            if command.partition("=")[0] not in GIVEN:
                found.append((command, output.strip()))
    return found


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
@pytest.mark.parametrize("name", ["protocol.md", "dependencies.md", "groups.md", "schedules.md", "workflows.md"])
def test_the_examples_print_what_the_page_says(name: str, server: Server) -> None:
    account = server.site.account
    given = {
        "URL": server.url,
        "TOKEN": account["token"],
        "ADMIN": f"{account['username']}:{account['password']}",
        "PATH": "/usr/bin:/bin:/usr/local/bin",
    }
    wanted = examples((DOCS / name).read_text(encoding="utf-8"))
    assert wanted
    script = "\n".join(f"{command}\nprintf '\\036'" for command, _ in wanted)

    done = subprocess.run(["bash", "-c", script], env=given, capture_output=True, text=True, check=True)

    printed = done.stdout.split("\x1e")[:-1]
    assert len(printed) == len(wanted)
    for (command, output), got in zip(wanted, printed, strict=True):
        assert masked(got.strip()) == masked(output), command


def masked(text: str) -> str:
    """`text` without what differs from run to run: ids, secrets, times."""
    text = re.sub(r"\b[0-9A-HJKMNP-TV-Z]{26}\b", "JOB", text)
    text = re.sub(r'"[\w-]{43}"', '"SECRET"', text)
    text = re.sub(r'"[0-9a-f]{12}":', '"PUBLIC":', text)
    return re.sub(r'("\w+_(?:ms|per_s)":|"ttl":)[0-9.]+', r"\1N", text)
