"""Imported by every Python process that tests start (tests/settings.py puts this folder into PYTHONPATH).

The Redis client imports OpenTelemetry's SDK where there is one, which takes an eighth of a process's start. It is there
for the tests of tracing only, which run in pytest's own process.
"""

import sys

sys.modules["opentelemetry.sdk"] = None  # type: ignore[assignment]  # `import` then says that there is none
