"""An Airflow DAG that makes the report of each day: docs/data/airflow.md says how to set it up.

Airflow starts taskq's own commands and waits for them. Nothing of taskq is imported here, so Airflow's Python needs no
taskq: `TASKQ` below is the command that a shell on the worker runs.
"""

from __future__ import annotations

import os
from datetime import datetime, timedelta, timezone

from airflow.providers.standard.operators.bash import BashOperator
from airflow.providers.standard.sensors.bash import BashSensor
from airflow.sdk import DAG

TASKQ = os.environ.get("TASKQ_COMMAND", "taskq")
"""How taskq is run on the worker, such as `/opt/taskq/bin/taskq` or `docker exec taskq taskq`."""

PYTHON = os.environ.get("TASKQ_PYTHON", "python")
"""The Python that has taskq, for `python -m queues.lake`."""

LAKE = os.environ.get("TASKQ_LAKE_URL", "var/lake")

with DAG(
    dag_id="taskq_reports",
    description="The report of each UTC day, from taskq's event lake",
    schedule="10 2 * * *",  # of the day before, which is {{ ds }}; taskq's own nightly report has to be off
    start_date=datetime(2026, 1, 1, tzinfo=timezone.utc),  # noqa: UP017 - any Python that Airflow runs on
    catchup=True,  # days that were missed are made up for, one at a time
    max_active_runs=1,  # each day begins with the backlog that the day before ended with
    default_args={
        "depends_on_past": False,
        "retries": 4,
        "retry_delay": timedelta(minutes=5),
        "retry_exponential_backoff": True,
        "max_retry_delay": timedelta(hours=1),
        "execution_timeout": timedelta(hours=2),
    },
    tags=["taskq"],
) as dag:
    # The drain is through with the day: nothing that may be of it is left in a stream. Free of side effects.
    lake_ready = BashSensor(
        task_id="lake_ready",
        bash_command=f"{TASKQ} lakeready --date {{{{ ds }}}}",
        poke_interval=60,
        timeout=6 * 3600,
        mode="reschedule",
    )

    # Idempotent: the same events make the same rows, and an earlier report stays until there is a better one.
    report = BashOperator(
        task_id="report",
        bash_command=f"{TASKQ} runreport --date {{{{ ds }}}}",
    )

    # Idempotent: a day that the table has as the lake has it is left as it is. Leave it out if you do not use Iceberg.
    iceberg = BashOperator(
        task_id="iceberg",
        bash_command=f"{TASKQ} exporticeberg --date {{{{ ds }}}}",
    )

    # Reads every byte of the day and fails if a file is damaged, without holding the report up.
    check = BashOperator(
        task_id="check_lake",
        bash_command=f"{PYTHON} -m queues.lake {LAKE} --date {{{{ ds }}}}",
        retries=0,
    )

    lake_ready >> report >> iceberg
    lake_ready >> check
