"""Imported by every Python process that tests start (tests/settings.py puts this folder into PYTHONPATH).

Two libraries are here for some tests only and are imported wherever they are found: OpenTelemetry's SDK by the Redis
client, an eighth of a process's start, and pandas by the first Arrow array, a third of a second. Tests of tracing and
of analysts' tools run in pytest's own process; of the others, only a client of Spark Connect needs pandas.
"""

import sys
from importlib.machinery import ModuleSpec

sys.modules["opentelemetry.sdk"] = None  # type: ignore[assignment]  # `import` then says that there is none


class NoPandas:
    """Refuses pandas, also to who only asks whether it is there. Arrow takes None in `sys.modules` for a module."""

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        if name == "pandas":
            raise ModuleNotFoundError(name)
        return None


if not any("sc://" in word for word in sys.orig_argv):
    sys.meta_path.insert(0, NoPandas)
