"""Settings of Spark: read from command lines, the environment and files, or refused with the reason."""

from __future__ import annotations

import argparse
import stat
from pathlib import Path

import pytest
from django.core.checks import run_checks
from django.test import override_settings

from queues import spark_settings
from queues.spark_settings import SparkSettingError, SparkSettings
from taskq_site.env import EnvError, read_checked
from tests.support.rows import in_one_test

PROPERTIES = r"""
# of our cluster
! and this, too
spark.executor.cores 2
spark.hadoop.fs.s3a.secret.key=a=b:c #d
  spark.sql.x : \u00e9 y
spark.jars.packages  org.example:one:1,\
                     org.example:two:2
spark.path = C:\\jars\ttab
spark.empty
"""


def test_a_properties_file_is_read_as_java_reads_it(tmp_path: Path) -> None:
    path = tmp_path / "spark.properties"
    path.write_text(PROPERTIES)

    found = spark_settings.read_properties(str(path))

    assert found == {
        "spark.executor.cores": "2",
        "spark.hadoop.fs.s3a.secret.key": "a=b:c #d",
        "spark.sql.x": "é y",
        "spark.jars.packages": "org.example:one:1,org.example:two:2",
        "spark.path": "C:\\jars\ttab",
        "spark.empty": "",
    }


def test_a_properties_file_that_is_written_is_read_back_and_private(tmp_path: Path) -> None:
    pairs = {"spark.a": " x=y\\z\n#!:\té ", "spark.b": "", "spark.c": "\\"}
    path = tmp_path / "spark.properties"

    spark_settings.write_properties(path, pairs)

    assert spark_settings.read_properties(str(path)) == {key: value.rstrip(" ") for key, value in pairs.items()}
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("spark.a 1\nexecutor.memory 2g\n", "line 2: 'executor.memory' is no setting of Spark's"),
        ("\nspark.a \\\n 1\nfs.s3a.endpoint=x\n", r"line 4: 'fs.s3a.endpoint' .* spark.hadoop.KEY"),
        ("spark.master=yarn\n", "line 1: spark.master: the master is named by --master or TASKQ_SPARK_MASTER"),
    ],
)
def test_a_line_that_cannot_be_meant_is_named(tmp_path: Path, content: str, words: str) -> None:
    path = tmp_path / "spark.properties"
    path.write_text(content)

    with pytest.raises(SparkSettingError, match=words):
        spark_settings.read_properties(str(path))


@pytest.mark.parametrize("text", ["{path}/nowhere", "{path}"])
def test_a_file_that_is_none_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(SparkSettingError, match="cannot be read"):
        spark_settings.check_file(text.format(path=tmp_path))


@pytest.mark.parametrize(
    ("text", "pairs"),
    [
        ("", {}),
        ("spark.a=1", {"spark.a": "1"}),
        ("spark.a=1 spark.b=x,y\nspark.c='two words' spark.d=", {"spark.a": "1", "spark.b": "x,y"}),
        ('{"spark.a": "x y", "spark.b": 2, "spark.c": true}', {"spark.a": "x y", "spark.b": "2", "spark.c": "true"}),
    ],
)
def test_pairs_are_words_or_json(text: str, pairs: dict[str, str]) -> None:
    more = {"spark.c": "two words", "spark.d": ""} if "two words" in text else {}
    assert spark_settings.parse_conf(text) == {**pairs, **more}


@in_one_test(
    ("text", "words"),
    [
        ("spark.a", "'spark.a': expected KEY=VALUE"),
        ("=1", "'' is no setting of Spark's"),
        ("spark.=1", "'spark.' is no setting"),
        ("memory=2g", "'memory' is no setting of Spark's, whose names begin with spark."),
        ("spark.a='x", "a quote is not closed"),
        ("{spark.a: 1}", "not JSON"),
        ('{"spark.a": [1]}', "'spark.a': expected a text, a number, true or false"),
        ("spark.remote=sc://x", "as sc://HOST:PORT"),
    ],
)
def test_pairs_that_cannot_be_meant_are_refused_without_repeating_a_value(text: str, words: str) -> None:
    with pytest.raises(SparkSettingError, match=words):
        spark_settings.parse_conf(text)
    with pytest.raises(SparkSettingError) as caught:
        spark_settings.parse_conf(f"spark.b=hunter2 wrong=hunter2 {text}")
    assert "hunter2" not in str(caught.value)


@in_one_test(
    "master",
    [
        *("local", "local[*]", "local[2]", "local-cluster[2,1,1024]", "yarn", "spark://a:7077,b:7077"),
        *("k8s://https://host:443", "k8s://host:443", "sc://host", "sc://host:15002/", "sc://host:443/;use_ssl=true"),
    ],
)
def test_a_master_is_one_that_spark_knows(master: str) -> None:
    assert spark_settings.check_master(master) == master


@in_one_test(
    ("master", "words"),
    [
        ("host:7077", "host:7077 is no Spark master: expected"),
        ("local[", "is no Spark master"),
        ("sc://", "is no server of Spark Connect"),
        ("sc://host/path", "is no server of Spark Connect"),
        ("sc://host/;token=hunter2", "SPARK_CONNECT_AUTHENTICATE_TOKEN"),
    ],
)
def test_another_master_is_refused(master: str, words: str) -> None:
    with pytest.raises(SparkSettingError, match=words) as caught:
        spark_settings.check_master(master)
    assert "hunter2" not in str(caught.value)


@in_one_test("text", ["2", "g", "0g", "1.5g", "2gb", "-1g", "2 g"])
def test_memory_has_a_unit(text: str) -> None:
    assert spark_settings.check_memory("512m") == "512m"
    with pytest.raises(SparkSettingError, match="is no amount of memory"):
        spark_settings.check_memory(text)


def test_what_is_asked_for_wins_over_what_is_configured() -> None:
    asked = SparkSettings(memory="4g", conf={"spark.a": "asked"})
    configured = SparkSettings(
        master="yarn", memory="1g", properties_file="/etc/x", conf={"spark.a": "no", "spark.b": "2"}
    )

    both = asked.over(configured)

    assert both == SparkSettings(
        master="yarn", memory="4g", properties_file="/etc/x", conf={"spark.a": "asked", "spark.b": "2"}
    )
    assert both.arguments() == ["--master", "yarn", "--memory", "4g", "--properties-file", "/etc/x"]
    assert spark_settings.parse_conf(both.environment()["TASKQ_SPARK_CONF"]) == both.conf


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--conf", "spark.a"], "argument --conf: 'spark.a': expected KEY=VALUE"),
        (["--memory", "lots"], "argument --memory: lots is no amount of memory"),
        (["--master", "there"], "argument --master: there is no Spark master"),
        (["--properties-file", "/nowhere/at/all"], "argument --properties-file: /nowhere/at/all cannot be read"),
    ],
)
def test_a_command_says_which_of_its_options_cannot_be_meant(
    arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    parser = argparse.ArgumentParser()
    spark_settings.add_arguments(parser, master="local[*]")

    with pytest.raises(SystemExit):
        parser.parse_args(arguments)

    assert words in capsys.readouterr().err


def test_a_command_leaves_open_what_it_is_not_told() -> None:
    parser = argparse.ArgumentParser()
    spark_settings.add_arguments(parser)

    assert spark_settings.from_arguments(vars(parser.parse_args([]))) == SparkSettings()
    told = vars(parser.parse_args(["--conf", "spark.a=1", "--conf", "spark.b=x=y", "--memory", "2g"]))
    assert spark_settings.from_arguments(told) == SparkSettings(memory="2g", conf={"spark.a": "1", "spark.b": "x=y"})


def test_the_environment_is_refused_with_the_variables_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("X", "spark.key=hunter2 memory=2g")
    with pytest.raises(EnvError, match="X: 'memory' is no setting of Spark's") as caught:
        read_checked("X", spark_settings.parse_conf, default=dict[str, str]())
    assert "hunter2" not in str(caught.value)
    monkeypatch.setenv("X", " ")
    assert read_checked("X", spark_settings.check_master, default="local[*]") == "local[*]"


@pytest.mark.django_db  # other checks ask the database what it can
def test_the_system_check_names_a_file_that_is_missing(tmp_path: Path) -> None:
    with override_settings(TASKQ_SPARK_PROPERTIES=str(tmp_path / "nowhere")):
        (found,) = [one for one in run_checks() if one.id == "queues.W010"]
    assert "TASKQ_SPARK_PROPERTIES" in found.msg
    assert "nowhere cannot be read" in found.msg

    (tmp_path / "spark.properties").write_text("spark.executor.cores 2\n")
    with override_settings(TASKQ_SPARK_PROPERTIES=str(tmp_path / "spark.properties")):
        assert not [one for one in run_checks() if one.id == "queues.W010"]
