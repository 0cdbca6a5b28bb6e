"""What is in the wheel, and what taskq takes for its own folders in a checkout and installed."""

from __future__ import annotations

import subprocess
import sys
from email import message_from_bytes
from pathlib import Path, PurePosixPath
from zipfile import ZipFile

import pytest

from queues import __version__
from taskq_site import installation
from taskq_site.env import EnvError
from tests.package.wheel import ROOT, build_wheel

PACKAGES = ("queues", "dashboard", "taskq_site", "taskq")
MOVED = ("templates", "static")
"""Top-level folders that are inside `taskq_site` in the wheel."""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built once."""
    return build_wheel(tmp_path_factory.mktemp("wheel"))


def in_checkout() -> set[str]:
    """The files that the wheel is to have, by their names in it. Without git, as in a copy of the checkout."""
    found = set()
    for top in (*PACKAGES, *MOVED):
        for path in (ROOT / top).rglob("*"):
            if path.is_file() and "__pycache__" not in path.parts and not path.name.startswith("."):
                name = path.relative_to(ROOT).as_posix()
                found.add(f"taskq_site/{name}" if top in MOVED else name)
    return found


def test_the_wheel_has_every_file_of_the_packages_and_nothing_else(wheel: Path) -> None:
    with ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if ".dist-info/" not in name}

    assert names == in_checkout()
    kinds = {PurePosixPath(name).suffix for name in names}
    assert {".py", ".lua", ".html", ".css", ".js", ".svg", ".mo"} <= kinds


def test_each_package_says_that_it_has_types(wheel: Path) -> None:
    with ZipFile(wheel) as archive:
        assert {f"{package}/py.typed" for package in PACKAGES} <= set(archive.namelist())


def test_the_wheel_says_what_it_is(wheel: Path) -> None:
    with ZipFile(wheel) as archive:
        info = f"taskq-{__version__}.dist-info"
        metadata = message_from_bytes(archive.read(f"{info}/METADATA"))
        commands = archive.read(f"{info}/entry_points.txt").decode()
        license_text = archive.read(f"{info}/licenses/LICENSE").decode()

    assert (metadata["Name"], metadata["Version"], metadata["License-Expression"]) == ("taskq", __version__, "MIT")
    assert set(metadata.get_all("Provides-Extra", ())) >= {"embedded", "reports", "dev"}
    assert "taskq = taskq.cli:main" in commands
    assert license_text.startswith("MIT License")


LOOK = """
import json
from taskq_site import installation
from django.conf import settings
print(json.dumps([str(installation.ASSETS_DIR), str(settings.DATA_DIR), installation.manage_command()[1:]]))
"""


def test_an_unpacked_wheel_finds_its_folders_in_itself(wheel: Path, tmp_path: Path) -> None:
    """From a folder where `taskq_site.py` and `queues.py` lie about."""
    with ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "packages")
    for name in ("taskq_site", "queues", "token"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('imported from the current folder')")
    env = {"PYTHONPATH": str(tmp_path / "packages"), "HOME": str(tmp_path / "home"), "PATH": "/usr/bin:/bin"}

    def run(*arguments: str) -> str:
        return subprocess.run(
            [sys.executable, "-P", *arguments], cwd=tmp_path, env=env, check=True, capture_output=True, text=True
        ).stdout

    env["DJANGO_SETTINGS_MODULE"] = "taskq_site.settings"
    command = '["-P", "-m", "taskq_site"]'
    data_dir = tmp_path / "home" / ".local" / "share" / "taskq"
    assert run("-c", LOOK).strip() == f'["{tmp_path}/packages/taskq_site", "{data_dir}", {command}]'
    assert run("-m", "taskq_site", "--version") == f"taskq {__version__}\n"
    found = run("-m", "taskq_site", "findstatic", "taskq/base.css")
    assert f"{tmp_path}/packages/taskq_site/static/taskq/base.css" in found


def test_data_is_kept_in_the_users_data_directory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(installation, "CHECKOUT_DIR", None)
    monkeypatch.setenv("HOME", "/home/alice")

    for xdg, expected in {
        "": "/home/alice/.local/share/taskq",
        "/data": "/data/taskq",
        "relative": "/home/alice/.local/share/taskq",
    }.items():
        monkeypatch.setenv("XDG_DATA_HOME", xdg)
        assert installation.default_data_dir() == Path(expected)


def test_a_user_without_a_home_is_told_what_to_set(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_home() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(installation, "CHECKOUT_DIR", None)
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    monkeypatch.setattr(Path, "home", no_home)

    with pytest.raises(EnvError, match="TASKQ_DATA_DIR"):
        installation.default_data_dir()


def test_a_checkout_keeps_its_data_in_var_and_is_run_by_manage_py() -> None:
    assert installation.default_data_dir() == ROOT / "var"
    assert installation.manage_command() == (sys.executable, str(ROOT / "manage.py"))
