"""taskq's settings in surroundings of their own: a private directory, a private Redis, never the developer's.

DATABASE_URL is honoured (Django makes and drops a database `test_NAME` on that server); REDIS_URL is not, because every
test begins by emptying its Redis.
"""

from __future__ import annotations

import atexit
import os
import shutil
import sys
import tempfile
from pathlib import Path

from tests.support.python_path import python_path

# Images of containers often set this. Then each of the hundreds of processes that tests start would compile all of
# taskq anew, and pytest all tests: half of the time of collecting them. `make` unsets it, too.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# Also of the processes that pytest-xdist starts, which run tests and must have all.
if sys.modules.get("opentelemetry.sdk", sys) is None:
    del sys.modules["opentelemetry.sdk"]
    sys.meta_path[:] = [finder for finder in sys.meta_path if getattr(finder, "__name__", "") != "NoPandas"]
os.environ["PYTHONPATH"] = python_path(*filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep)))

PRIVATE_DIR = Path(tempfile.mkdtemp(prefix="taskq-tests-"))
atexit.register(shutil.rmtree, PRIVATE_DIR, ignore_errors=True)

SHARED_DIR = Path(os.environ.setdefault("TASKQ_TESTS_SHARED_DIR", str(PRIVATE_DIR / "shared")))
"""One for all processes of a run of tests: they inherit the name from the process that starts and outlives them."""

from queues.embedded import EmbeddedRedis  # noqa: E402

TEST_REDIS = EmbeddedRedis(PRIVATE_DIR / "redis", persistent=False)
"""Not started yet: the fixture `redis_server` does that."""

SPARK_DEFAULTS = """\
spark.sql.codegen.wholeStage false
spark.sql.codegen.factoryMode NO_CODEGEN
spark.sql.adaptive.enabled false
spark.sql.files.openCostInBytes 65536
"""
"""To compile what runs for a millisecond, or to plan it anew after each stage, takes seconds. So does a task for each
eight files of a few events, which Spark makes where it takes to open one for as much work as to read 4 MiB. `make
wheel-test` makes a report without these settings, and checks its figures."""

(PRIVATE_DIR / "spark").mkdir()
(PRIVATE_DIR / "spark" / "spark-defaults.conf").write_text(SPARK_DEFAULTS)
os.environ["SPARK_CONF_DIR"] = str(PRIVATE_DIR / "spark")
# To leave its classes, Java takes longer than the few reports of a run of tests could win.
os.environ.setdefault("TASKQ_JAVA_ARCHIVES", "none")
# The second compiler comes too late, too, and to verify Spark's classes is a twelfth of what a report takes.
JAVA_OPTIONS = "-XX:TieredStopAtLevel=1 -XX:+UnlockDiagnosticVMOptions -XX:-BytecodeVerificationRemote"
os.environ.setdefault("JAVA_TOOL_OPTIONS", JAVA_OPTIONS)

os.environ["TASKQ_DATA_DIR"] = str(PRIVATE_DIR)
os.environ["REDIS_URL"] = TEST_REDIS.url
os.environ.setdefault("LOG_LEVEL", "DEBUG")

from taskq_site.settings import *  # noqa: E402, F403
from taskq_site.settings import DATABASES, INSTALLED_APPS  # noqa: E402

# Processes that tests start are the real thing.
os.environ["DJANGO_SETTINGS_MODULE"] = "taskq_site.settings"

if DATABASES["default"]["ENGINE"].endswith("sqlite3"):
    # A file, so that threads and other processes see the same database.
    DATABASES["default"]["TEST"] = {"NAME": PRIVATE_DIR / "test.sqlite3"}

# The library's own table, which projects have and the service has not.
INSTALLED_APPS = [*INSTALLED_APPS, "taskq.django"]

PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
