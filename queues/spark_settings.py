"""Spark's settings as people write them: on command lines, in the environment, in properties files.

One rule reads and checks them for `manage.py runreport`, the variables TASKQ_SPARK_* and `python -m queues.reports`.
Knows nothing of Spark itself.
"""

from __future__ import annotations

import argparse
import json
import re
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

CONF_VARIABLE: Final = "TASKQ_SPARK_CONF"
"""In it pairs travel to the process that computes, too: every user of a machine can read command lines."""

PREFIX: Final = "spark."

_MASTERS: Final = re.compile(r"local(\[[^\]]+\])?|local-cluster\[[^\]]+\]|yarn|[a-z][a-z0-9+.-]*://\S+")
_CONNECT: Final = re.compile(r"sc://[^/;\s]+(/(;[^/\s]*)?)?")
_MEMORY: Final = re.compile(r"[1-9]\d*[kmgtKMGT]")

_ELSEWHERE: Final = {
    "spark.master": "the master is named by --master or TASKQ_SPARK_MASTER",
    "spark.remote": "the server of Spark Connect is named by --master or TASKQ_SPARK_MASTER, as sc://HOST:PORT",
}


class SparkSettingError(ValueError):
    """A setting that cannot be meant. The message never repeats a value of a pair: it may be a secret."""


def is_local(master: str) -> bool:
    """Whether all of Spark runs in one process here."""
    return master.startswith("local")


@dataclass(frozen=True, slots=True, kw_only=True)
class SparkSettings:
    """`master`: URL of a Spark master. `memory`: of the heap, such as `2g`: Spark's own if it is local, each executor's
    with a cluster. `properties_file`: a file of pairs; `conf`: pairs that win over those. An empty one is left open."""

    master: str = ""
    memory: str = ""
    properties_file: str = ""
    conf: Mapping[str, str] = field(default_factory=dict)

    def over(self, others: SparkSettings) -> SparkSettings:
        """These, and what they leave open as `others` have it."""
        return SparkSettings(
            master=self.master or others.master,
            memory=self.memory or others.memory,
            properties_file=self.properties_file or others.properties_file,
            conf={**others.conf, **self.conf},
        )

    def arguments(self) -> list[str]:
        """As options of `queues.reports`; the pairs are in `environment`."""
        options = {"--master": self.master, "--memory": self.memory, "--properties-file": self.properties_file}
        return [part for option, value in options.items() if value for part in (option, value)]

    def environment(self) -> dict[str, str]:
        """The pairs, for the environment of `queues.reports`."""
        return {CONF_VARIABLE: json.dumps(dict(self.conf)) if self.conf else ""}


def add_arguments(parser: argparse.ArgumentParser, *, master: str = "") -> None:
    """The options that both commands have. `master`: what it is if the option is not given."""
    parser.add_argument(
        "--master",
        metavar="URL",
        type=_checked_by(check_master),
        default=master or None,
        help="Spark master: local[*], spark://HOST:PORT, sc://HOST:PORT (Spark Connect), yarn, k8s://...; default: "
        + (master or "TASKQ_SPARK_MASTER"),
    )
    parser.add_argument(
        "--memory",
        metavar="SIZE",
        type=_checked_by(check_memory),
        help="Java heap, as 2g: Spark's own with a local master, each executor's with a cluster",
    )
    parser.add_argument(
        "--properties-file",
        metavar="FILE",
        type=_checked_by(check_file),
        help="settings of Spark's, one a line, as for spark-submit; the place for secrets",
    )
    parser.add_argument(
        "--conf",
        metavar="KEY=VALUE",
        type=_checked_by(parse_pair),
        action="append",
        help="a setting of Spark's, which wins over the file's; may be given several times",
    )


def from_arguments(options: Mapping[str, Any]) -> SparkSettings:
    """What `add_arguments` has parsed, as `vars` of it."""
    return SparkSettings(
        master=options["master"] or "",
        memory=options["memory"] or "",
        properties_file=options["properties_file"] or "",
        conf=dict(options["conf"] or ()),
    )


def parse_pair(text: str) -> tuple[str, str]:
    """`KEY=VALUE`. Raises SparkSettingError."""
    key, separator, value = text.partition("=")
    if not separator:
        raise SparkSettingError(f"{_shown(key)}: expected KEY=VALUE")
    return _checked(key.strip(), value.strip())


def parse_conf(text: str) -> dict[str, str]:
    """Pairs: a JSON object, or KEY=VALUE separated by blanks or lines, quoted as in a shell where a value has blanks.

    Raises SparkSettingError.
    """
    if text.lstrip().startswith("{"):
        try:
            found = json.loads(text)
        except ValueError as error:
            raise SparkSettingError(f"not JSON: {error}") from None
        return dict(_checked(key, _plain(key, value)) for key, value in found.items())
    try:
        words = shlex.split(text, comments=False)
    except ValueError as error:
        raise SparkSettingError(f"a quote is not closed: {error}") from None
    return dict(map(parse_pair, words))


def read_properties(path: str) -> dict[str, str]:
    """The pairs of a file in the format of Java's properties, as spark-submit reads it. Raises SparkSettingError."""
    try:
        lines = Path(path).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise SparkSettingError(f"{path} cannot be read: {error}") from None
    found: dict[str, str] = {}
    number = 0
    while number < len(lines):
        first = number + 1
        line = lines[number].lstrip()
        number += 1
        if not line or line[0] in "#!":
            continue
        while _goes_on(line) and number < len(lines):
            line = line[:-1] + lines[number].lstrip()
            number += 1
        try:
            key, value = _checked(*_split(line))
        except SparkSettingError as error:
            raise SparkSettingError(f"{path}, line {first}: {error}") from None
        found[key] = value
    return found


def write_properties(path: Path, pairs: Mapping[str, str]) -> None:
    """A file that Java reads these pairs of, and nobody else: they may have secrets."""
    path.touch(mode=0o600)
    path.write_text("".join(f"{_escaped(key)}={_escaped(value)}\n" for key, value in pairs.items()), encoding="utf-8")


def check_master(text: str) -> str:
    """A master's URL. Raises SparkSettingError."""
    if text.startswith("sc://"):
        if _CONNECT.fullmatch(text) is None:
            raise SparkSettingError(f"{text} is no server of Spark Connect: expected sc://HOST:PORT/;KEY=VALUE;...")
        if ";token=" in text:  # pages and lists of processes show the URL
            raise SparkSettingError("leave the token out of the URL, and put it into SPARK_CONNECT_AUTHENTICATE_TOKEN")
    elif _MASTERS.fullmatch(text) is None:
        raise SparkSettingError(
            f"{text} is no Spark master: expected local[*], spark://HOST:PORT, sc://HOST:PORT, yarn or k8s://URL"
        )
    return text


def check_memory(text: str) -> str:
    """A number and a unit, as Java takes it. Raises SparkSettingError."""
    if _MEMORY.fullmatch(text) is None:
        raise SparkSettingError(f"{text} is no amount of memory: expected a number and k, m, g or t, such as 2g")
    return text


def check_file(text: str) -> str:
    """The absolute path of a file that can be read, with pairs that can be meant. Raises SparkSettingError."""
    path = str(Path(text).expanduser().absolute())
    read_properties(path)
    return path


def _checked_by(check: Callable[[str], Any]) -> Callable[[str], Any]:
    """For argparse, which shows the text of no other error, but the value."""

    def parse(text: str) -> Any:
        try:
            return check(text)
        except SparkSettingError as error:
            raise argparse.ArgumentTypeError(str(error)) from None

    return parse


def _checked(key: str, value: str) -> tuple[str, str]:
    if not key.startswith(PREFIX) or not key[len(PREFIX) :].strip() or any(char.isspace() for char in key):
        hint = "; Hadoop's are written spark.hadoop.KEY" if key.startswith(("fs.", "hadoop.", "dfs.")) else ""
        raise SparkSettingError(f"{_shown(key)} is no setting of Spark's, whose names begin with spark.{hint}")
    if key in _ELSEWHERE:
        raise SparkSettingError(f"{key}: {_ELSEWHERE[key]}")
    return key, value


def _plain(key: str, value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if not isinstance(value, str | int | float):
        raise SparkSettingError(f"{_shown(key)}: expected a text, a number, true or false")
    return str(value)


def _shown(key: str) -> str:
    return repr(key if len(key) <= 80 else f"{key[:80]}…")


_ESCAPES: Final = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_ESCAPED: Final = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))", re.DOTALL)
_KEY: Final = re.compile(r"((?:\\.|[^\\=:\s])*)[ \t\f]*[=:]?[ \t\f]*", re.DOTALL)


def _goes_on(line: str) -> bool:
    """Whether it ends with an odd number of backslashes, so that the next line belongs to it."""
    return (len(line) - len(line.rstrip("\\"))) % 2 == 1


def _split(line: str) -> tuple[str, str]:
    found = _KEY.match(line)
    assert found is not None  # it matches nothing at all, too
    return _unescaped(found[1]), _unescaped(line[found.end() :].rstrip())


def _unescaped(text: str) -> str:
    return _ESCAPED.sub(lambda found: chr(int(found[1], 16)) if found[1] else _ESCAPES.get(found[2], found[2]), text)


def _escaped(text: str) -> str:
    for plain, escaped in (("\\", "\\\\"), ("\n", "\\n"), ("\r", "\\r"), ("\t", "\\t"), ("\f", "\\f")):
        text = text.replace(plain, escaped)
    return f"\\{text}" if text.startswith(" ") else text
