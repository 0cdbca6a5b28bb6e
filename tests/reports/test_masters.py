"""A master that cannot be reached is one within seconds, where Spark itself would try for minutes."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from queues.reports import masters
from queues.reports.failures import MasterUnreachableError

from .commands import command, ended, start
from .made import event, ms, write_lake

DAY = "2026-03-28"
SCHEMES = ("spark://{}", "k8s://https://{}", "k8s://http://{}", "k8s://{}", "sc://{}")


@pytest.fixture
def closed_port() -> int:
    """One where nobody listens."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


@contextlib.contextmanager
def listening(answer: bytes | None) -> Iterator[int]:
    """A port that accepts connections and says `answer` to what comes, or nothing."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        peers: list[socket.socket] = []

        def serve() -> None:
            with contextlib.suppress(OSError):
                while True:
                    peer = server.accept()[0]
                    peers.append(peer)
                    if answer is not None:
                        peer.recv(1_024)
                        peer.sendall(answer)

        threading.Thread(target=serve, daemon=True).start()
        yield server.getsockname()[1]
        server.shutdown(socket.SHUT_RDWR)
        for peer in peers:
            peer.close()


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_port_where_nobody_listens(closed_port: int, scheme: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if scheme.startswith("sc"):
        pytest.importorskip("grpc")
        monkeypatch.setattr(masters, "ANSWER_S", 0.5)
    master = scheme.format(f"127.0.0.1:{closed_port}")

    with pytest.raises(MasterUnreachableError) as caught:
        masters.check_answers(master)

    reason = "no answer within" if scheme.startswith("sc") else "Connection refused"
    assert f"The Spark master {master} does not answer: {reason}" in str(caught.value)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_port_that_accepts_and_says_nothing(scheme: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if scheme.startswith("sc"):
        pytest.importorskip("grpc")
    monkeypatch.setattr(masters, "ANSWER_S", 0.5)
    with listening(None) as port, pytest.raises(MasterUnreachableError, match="no answer within"):
        masters.check_answers(scheme.format(f"127.0.0.1:{port}"))


def test_a_host_that_does_not_exist() -> None:
    with pytest.raises(MasterUnreachableError, match=r"master spark://nowhere\.invalid:7077 does not answer: "):
        masters.check_answers("spark://nowhere.invalid:7077")


@pytest.mark.parametrize("scheme", [scheme for scheme in SCHEMES if not scheme.startswith("sc")])
def test_any_answer_will_do(scheme: str) -> None:
    """That it is the right one, Spark finds out."""
    with listening(b"HTTP/1.1 400 Bad Request\r\n\r\n") as port:
        masters.check_answers(scheme.format(f"127.0.0.1:{port}"))


def test_one_of_several_masters_will_do(closed_port: int) -> None:
    with listening(b"x") as port:
        masters.check_answers(f"spark://127.0.0.1:{closed_port},127.0.0.1:{port}")


@pytest.mark.parametrize("master", ["local[*]", "yarn"])
def test_what_has_no_address_is_not_asked(master: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HADOOP_CONF_DIR", raising=False)
    masters.check_answers(master)


@pytest.mark.parametrize(
    ("settings", "managers"),
    [
        ({"address": "rm.example.org:8050", "hostname": "other"}, [("rm.example.org", 8050)]),
        ({"hostname": "rm.example.org"}, [("rm.example.org", 8032)]),
        ({"hostname": "${host}"}, []),
        ({}, []),
        (
            {"ha.rm-ids": "a, b", "hostname.a": "one", "address.b": "two:1", "hostname": "none"},
            [("one", 8032), ("two", 1)],
        ),
    ],
)
def test_the_managers_of_yarn_are_those_of_hadoops_settings(
    settings: dict[str, str], managers: list[tuple[str, int]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HADOOP_CONF_DIR", str(tmp_path))
    assert masters._yarn_managers() == []
    write_yarn(tmp_path, settings)
    assert masters._yarn_managers() == managers


def test_yarn_that_does_not_answer(tmp_path: Path, closed_port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HADOOP_CONF_DIR", str(tmp_path))
    write_yarn(tmp_path, {"address": f"127.0.0.1:{closed_port}"})
    refused = rf"master yarn \(127.0.0.1:{closed_port}\) does not answer: Connection refused"
    with pytest.raises(MasterUnreachableError, match=refused):
        masters.check_answers("yarn")
    monkeypatch.setattr(masters, "ANSWER_S", 0.5)
    with listening(None) as port:
        write_yarn(tmp_path, {"address": f"127.0.0.1:{port}"})
        with pytest.raises(MasterUnreachableError, match="no answer within"):
            masters.check_answers("yarn")


def write_yarn(folder: Path, settings: dict[str, str]) -> None:
    properties = "".join(
        f"<property><name>yarn.resourcemanager.{name}</name><value> {value} </value></property>"
        for name, value in settings.items()
    )
    (folder / "yarn-site.xml").write_text(f"<configuration>{properties}</configuration>")


def test_the_command_says_it_before_java_is_started(tmp_path: Path, closed_port: int) -> None:
    write_lake(tmp_path / "lake", [event("published", ms(DAY), job="01J", published=ms(DAY), size=1)])
    words = command(tmp_path / "lake", tmp_path / "out", DAY, options=(f"--master=spark://127.0.0.1:{closed_port}",))

    status, said, _ = ended(start(words, JAVA_HOME="/nowhere", PATH="/nowhere"))

    assert status == 1
    assert said[-1]["kind"] == "master_unreachable"
    assert f"127.0.0.1:{closed_port} does not answer: Connection refused" in said[-1]["error"]
