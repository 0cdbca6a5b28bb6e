"""Stands in for `python -m queues.reports`: same options, same words, real files; but what it does is told by a file.

Run as a script: `stand_in.py PLAN --lake ... --out ... --run ID --date D`. PLAN is JSON: `report` (a directory with the
files of a run, which are put in place as this run's), or `error` and `kind`, or `die`: "killed", "silent" (status 3,
last words on standard error); `hang`: a file that is made, with its process id in it, when it waits for ever; `say`:
lines to print first, `errors`: to standard error. Under a date it may say what is different on that day.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
from pathlib import Path
from typing import Any


def main() -> int:
    plan = json.loads(Path(sys.argv[1]).read_text())
    pairs = list(zip(sys.argv[2::2], sys.argv[3::2], strict=True))
    for day in sorted(value for name, value in pairs if name == "--date"):
        status = _do(plan | plan.get(day, {}), dict(pairs) | {"--date": day})
        if status:
            return status
    return 0


def _do(plan: dict[str, Any], options: dict[str, str]) -> int:
    print(json.dumps({"date": options["--date"], "stage": "counting", "done": 40, "of": 100}), flush=True)
    for line in plan.get("say", ()):
        print(line, flush=True)
    for line in plan.get("errors", ()):
        print(line, file=sys.stderr, flush=True)
    if "die" in plan:
        print("java.lang.OutOfMemoryError: Java heap space", file=sys.stderr, flush=True)
        if plan["die"] == "killed":
            os.kill(os.getpid(), signal.SIGKILL)
        return 3
    if "hang" in plan:
        unfinished = Path(f"{plan['hang']}.unfinished")
        unfinished.write_text(str(os.getpid()))
        unfinished.rename(plan["hang"])  # complete as soon as it exists
        signal.pause()
    if "error" in plan:
        print(json.dumps({"error": plan["error"], "kind": plan["kind"]}), flush=True)
        return 1
    _put(Path(plan["report"]), options)
    return 0


def _put(report: Path, options: dict[str, str]) -> None:
    folder = Path(options["--out"]) / f"date={options['--date']}" / f"run={options['--run']}"
    shutil.copytree(report, folder)
    summary = json.loads((folder / "summary.json").read_text())
    summary |= {"date": options["--date"], "run": options["--run"], "master": options["--master"]}
    summary["asked"] = options | {"conf": os.environ.get("TASKQ_SPARK_CONF")}
    (folder / "summary.json").write_text(json.dumps(summary))


if __name__ == "__main__":
    sys.exit(main())
