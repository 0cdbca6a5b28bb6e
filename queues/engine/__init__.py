"""The engine: jobs, queues and their life on Redis. Needs the standard library and redis-py, knows nothing of Django.

    engine = open_engine("redis://127.0.0.1:6379/0")
    queue = engine.queue("shop", "orders")
    published = engine.run(publish(queue, [b"close order 7"], PublishOptions(delay_ms=1_800_000)))
    consumed = engine.run(consume(queue, ttr_ms=30_000))

Verbs build operations (one script call) or plans (several steps); `Engine` runs them synchronously, `AsyncEngine` from
asyncio. Trust window: a publish that returned is in Redis; whether it survives a crash of Redis is up to Redis's own
persistence (AOF), whether it survives a failover up to `min_replicas` (see docs/operations.md).
"""

from .aio import AsyncEngine
from .backoff import NO_BACKOFF, Backoff, BackoffKind, parse_backoff
from .errors import (
    InvalidArgumentError,
    JobNotFoundError,
    LayoutError,
    LeaseLostError,
    LimitReachedError,
    NotReplicatedError,
    ResultTooLargeError,
    ScriptError,
    StoreFullError,
    StoreUnavailableError,
    TaskqError,
)
from .executor import Engine
from .keys import Layout, QueueKeys
from .operation import Operation, Plan
from .operations.consume import consume, consume_any
from .operations.control import delete_jobs, destroy, list_queues, pause, resume
from .operations.deadletter import dead_head, delete_dead, respawn, trim_dead
from .operations.deletions import free_deleted
from .operations.drain import (
    DrainPlan,
    DrainState,
    EntryRange,
    StreamEntries,
    Trimmed,
    drain_state,
    finish_drain,
    plan_drain,
    read_events,
    trim_drained,
)
from .operations.find import JobPlace, find_job
from .operations.finish import ack, ack_attempt, extend, fail, release
from .operations.inspect import detail, list_jobs, peek, result, size, stats
from .operations.maintain import promote_due, reclaim_ended, sweep
from .operations.measure import (
    PartitionLoad,
    beat,
    count_jobs,
    list_partition,
    list_pumps,
    partition_load,
    server_time,
    write_probe,
)
from .operations.publish import PreparedOptions, prepare, publish, publish_large, republish
from .operations.ratelimit import give_back_limit, limited, take_limit
from .operations.reschedule import reschedule
from .operations.scan import scan_jobs
from .operations.survey import (
    WHOLE_POOL,
    SurveyedQueue,
    SurveyHead,
    WrittenSurvey,
    add_minutes,
    list_active,
    namespace_minutes,
    queue_minutes,
    read_survey,
    survey,
    take_survey,
    write_survey,
)
from .operations.workers import cancel_job
from .stats.heartbeat import PumpBeat, RoleBeat
from .stats.minutes import MINUTE_MS, Minute
from .stats.store_load import StoreLoad, ask_store_load, read_store_load
from .stats.survey_rows import FoundQueue, unpack_queues
from .store import StoreInfo, open_async_engine, open_engine, probe_store
from .transport.connection import parse_url, redact_url, same_place
from .values import (
    DEFAULT_OPTIONS,
    AckOutcome,
    AttemptRecord,
    Consumed,
    Counts,
    DeadHead,
    Delivery,
    Ended,
    Failed,
    JobDetail,
    JobFilter,
    JobResult,
    JobState,
    KeyMode,
    LimitTaken,
    Page,
    Published,
    PublishOptions,
    QueuePage,
    QueueStats,
    RequestLimit,
    Rescheduled,
    Scan,
)
from .waiting.full_streams import FullStreams

__all__ = [
    "DEFAULT_OPTIONS",
    "MINUTE_MS",
    "NO_BACKOFF",
    "WHOLE_POOL",
    "AckOutcome",
    "AsyncEngine",
    "AttemptRecord",
    "Backoff",
    "BackoffKind",
    "Consumed",
    "Counts",
    "DeadHead",
    "Delivery",
    "DrainPlan",
    "DrainState",
    "Ended",
    "Engine",
    "EntryRange",
    "Failed",
    "FoundQueue",
    "FullStreams",
    "InvalidArgumentError",
    "JobDetail",
    "JobFilter",
    "JobNotFoundError",
    "JobPlace",
    "JobResult",
    "JobState",
    "KeyMode",
    "Layout",
    "LayoutError",
    "LeaseLostError",
    "LimitReachedError",
    "LimitTaken",
    "Minute",
    "NotReplicatedError",
    "Operation",
    "Page",
    "PartitionLoad",
    "Plan",
    "PreparedOptions",
    "PublishOptions",
    "Published",
    "PumpBeat",
    "QueueKeys",
    "QueuePage",
    "QueueStats",
    "RequestLimit",
    "Rescheduled",
    "ResultTooLargeError",
    "RoleBeat",
    "Scan",
    "ScriptError",
    "StoreFullError",
    "StoreInfo",
    "StoreLoad",
    "StoreUnavailableError",
    "StreamEntries",
    "SurveyHead",
    "SurveyedQueue",
    "TaskqError",
    "Trimmed",
    "WrittenSurvey",
    "ack",
    "ack_attempt",
    "add_minutes",
    "ask_store_load",
    "beat",
    "cancel_job",
    "consume",
    "consume_any",
    "count_jobs",
    "dead_head",
    "delete_dead",
    "delete_jobs",
    "destroy",
    "detail",
    "drain_state",
    "extend",
    "fail",
    "find_job",
    "finish_drain",
    "free_deleted",
    "give_back_limit",
    "limited",
    "list_active",
    "list_jobs",
    "list_partition",
    "list_pumps",
    "list_queues",
    "namespace_minutes",
    "open_async_engine",
    "open_engine",
    "parse_backoff",
    "parse_url",
    "partition_load",
    "pause",
    "peek",
    "plan_drain",
    "prepare",
    "probe_store",
    "promote_due",
    "publish",
    "publish_large",
    "queue_minutes",
    "read_events",
    "read_store_load",
    "read_survey",
    "reclaim_ended",
    "redact_url",
    "release",
    "republish",
    "reschedule",
    "respawn",
    "result",
    "resume",
    "same_place",
    "scan_jobs",
    "server_time",
    "size",
    "stats",
    "survey",
    "sweep",
    "take_limit",
    "take_survey",
    "trim_dead",
    "trim_drained",
    "unpack_queues",
    "write_probe",
    "write_survey",
]
