"""Log lines: one each, with fields, without secrets."""

from __future__ import annotations

import json
import logging
import sys

import pytest

from taskq_site.logs import JsonFormatter, LogfmtFormatter


def record(message: str = "job published", **fields: object) -> logging.LogRecord:
    made = logging.LogRecord("queues.x", logging.INFO, __file__, 1, message, (), None)
    vars(made).update(fields)
    return made


def test_fields_follow_the_message() -> None:
    line = LogfmtFormatter().format(record(action="publish", jobs=2, note="two words", nothing=None))
    assert line.endswith('INFO queues.x "job published" action=publish jobs=2 note="two words" nothing=null')


def test_json_has_the_same_fields() -> None:
    line = json.loads(JsonFormatter().format(record(action="publish", jobs=2)))
    assert line | {"time": ""} == {
        "time": "",
        "level": "INFO",
        "logger": "queues.x",
        "message": "job published",
        "action": "publish",
        "jobs": 2,
    }


@pytest.mark.parametrize("formatter", [LogfmtFormatter(), JsonFormatter()])
def test_line_breaks_and_tracebacks_stay_on_one_line(formatter: logging.Formatter) -> None:
    try:
        raise ValueError("first\nsecond")
    except ValueError:
        made = record("odd\nmessage", note="a\nb", exc_info=sys.exc_info())
    line = formatter.format(made)
    assert "\n" not in line
    assert "ValueError: first" in line


@pytest.mark.parametrize("formatter", [LogfmtFormatter(), JsonFormatter()])
def test_tokens_in_paths_and_queries_are_masked(formatter: logging.Formatter) -> None:
    line = formatter.format(
        record("Internal Server Error: /token/ns/s3cr3t/limit", path="/api/ns/q?token=s3cr3t&ttr=1")
    )
    assert "s3cr3t" not in line
    assert "/token/***" in line
    assert "?token=***" in line


def test_the_pattern_of_a_route_is_not_masked() -> None:
    line = JsonFormatter().format(record("request", path="/token/{namespace}/{token}/limit"))
    assert json.loads(line)["path"] == "/token/{namespace}/{token}/limit"


def test_objects_are_not_printed() -> None:
    assert "request" not in LogfmtFormatter().format(record(request=object()))
