"""Sizes and counts that the engine and the HTTP contract allow, with their units.

`docs/protocol.md` states them; a test compares.

Limits that people set are enforced elsewhere: those of queues and limit keys in `lua/consume.lua` and
`lua/consume_with_limits.lua`, those of tokens in `operations/token_rate_limit.py`.
"""

from typing import Final

UINT32_MAX: Final = 2**32 - 1

NAME_MAX_BYTES: Final = 255
"""Longest namespace or queue name."""

BODY_MAX_BYTES: Final = 1024 * 1024
"""Largest body of one job, and largest result."""

BULK_MAX_JOBS: Final = 1_000
BULK_MAX_BYTES: Final = 64 * 1024 * 1024
"""A bulk publish: jobs, and bytes of the whole request; the setting TASKQ_BULK_MAX_BYTES may say otherwise."""

BULK_ACK_MAX_BYTES: Final = 2 * 1024 * 1024
"""The request of a bulk ack: room for one of the largest results in base64 and BULK_MAX_JOBS jobs without one. It is
decoded in one piece, which takes up to 5 ms."""

BULK_ACK_MAX_VALUES: Final = 8_000
"""About as many JSON values may be in it: twice those of BULK_MAX_JOBS jobs with three members each."""

DISCARD_MAX_BYTES: Final = 64 * 1024 * 1024
"""How much of a body that the request has no use for is read and dropped, so that its sender gets an answer."""

STAGE_MIN_BYTES: Final = 1024 * 1024
STAGE_PART_BYTES: Final = 512 * 1024
"""A publish of more bytes than the former is written in parts of about the latter before its jobs begin."""

STAGE_MIN_JOBS: Final = 250
"""So is one of more jobs with a limit key, a priority or dependencies, of each of which Redis writes more; and no part
has more jobs. While Redis enlarges its tables of a million jobs, such a job takes five times as long."""

CONSUME_MAX_COUNT: Final = 1_000
CONSUME_PAGE: Final = 300
"""Jobs of one consume, and those that one script call delivers."""

CONSUME_MAX_QUEUES: Final = 64
CONSUME_MAX_TIMEOUT_S: Final = 600

WAIT_MAX_S: Final = 600
WAIT_RETENTION_S: Final = 60
"""A synchronous call (`wait=`): how long it waits for its job's result at most, and for how long that is kept at least,
so that the caller can also fetch it after it has waited in vain. Longer than LOOK_EVERY_MAX_S."""

SECONDS_MAX: Final = UINT32_MAX
"""delay, ttl, ttr, retention, in seconds."""

TRIES_MAX: Final = 65_535
PRIORITY_MIN: Final = -100
PRIORITY_MAX: Final = 100

DEFAULT_TTL_S: Final = 86_400
DEFAULT_TRIES: Final = 1
DEFAULT_TTR_S: Final = 120

ATTRIBUTES_MAX: Final = 16
ATTRIBUTE_NAME_MAX_BYTES: Final = 32
ATTRIBUTE_VALUE_MAX_BYTES: Final = 128

KEY_MAX_BYTES: Final = 255
"""An idempotency key."""

DEPENDENCIES_MAX: Final = 1_000
"""Dependencies of all jobs of one publish together; dependencies that one call adds to an open job."""

DEPENDENCIES_OF_JOB_MAX: Final = 1_000_000
"""Dependencies that an open job waits for at a time."""

DEPENDENCIES_MAX_BYTES: Final = 640 * 1024
"""The request that adds dependencies: room for DEPENDENCIES_MAX of the longest names."""

DEPENDENCIES_PER_CALL: Final = 250
"""Those that one call adds to an open job."""

DEPENDENCY_PAGE: Final = 200
SETTLE_PAGE: Final = 100
RELAY_MESSAGES: Final = 32
"""Dependencies or dependants that one script call reads, and that one writes; messages of a partition that are carried
together."""

RELAY_ROUNDS: Final = 8
"""How often one relay looks for more messages. The next relay carries what is left: at the latest that of the pump."""

WORKFLOW_ID_MAX: Final = 64
WORKFLOW_NAME_MAX: Final = 100
NODE_NAME_MAX: Final = 100
"""Characters: of a workflow's id, its name, and the name of a node."""

WORKFLOW_NODES_MAX: Final = 10_000
NODES_PER_REQUEST: Final = 1_000
NODE_DEPENDENCIES_MAX: Final = 1_000
EDGES_PER_REQUEST: Final = 10_000
"""Nodes of a workflow, nodes that one request may add, and dependencies of a node and of all of a request."""

WORKFLOW_RETENTION_S: Final = 7 * 86_400
WORKFLOW_RETENTION_MIN_S: Final = 60
"""How long a workflow and the results of its nodes are kept once it has ended."""

NODE_TTL_S: Final = 30 * 86_400
"""Unless a node says otherwise: a job of a workflow waits for others, which may take long."""

WORKFLOW_STAGED_MS: Final = 60_000
PUBLISH_WITHIN_MS: Final = 30_000
"""Bodies of nodes that were not added within the former are dropped. Jobs are published within the latter after it was
read that they are to be; it is less than the shortest retention, so a node is never published again."""

NODE_PAGE: Final = 200
NODE_READ_PAGE: Final = 250
NODE_PUBLISH_MAX: Final = 100
NODE_STAGE_BYTES: Final = 512 * 1024
"""Nodes in one script call, that one call reads, or publishes; bytes that one call writes."""

CANCEL_AGAIN_AFTER_MS: Final = 5_000
"""The jobs of a workflow that was cancelled while they were being published are cancelled once more, so long after the
last of them can have been published."""

ATTEND_AGAIN_MS: Final = 1_000
"""A workflow that a role attends to comes to another one after so long."""

WORKFLOWS_AT_ONCE: Final = 4
WORKFLOW_PAGE_MAX: Final = 100
"""Workflows of a partition that a role attends to in one turn; workflows in one page of a listing."""

CYCLE_LOOKS: Final = 1_000
CYCLE_LOOKS_AT_ONCE: Final = 32
CYCLE_NAMES: Final = 20_000
"""Blocked jobs whose dependencies are looked at for a cycle, and names of these. A cycle beyond that is not found: its
jobs wait until their ttl ends."""

ONCE_MAX_BYTES: Final = 200
"""An id by which the repetition of a publish is known."""

ONCE_TTL_S: Final = 86_400
ONCE_SETTLED_S: Final = 600
"""How long such ids are remembered: a day; or ten minutes, once their publisher says that it will not repeat them."""

LIMIT_KEY_MAX_BYTES: Final = 64
"""A limit key: printable characters."""

LIMIT_WEIGHTS_MAX: Final = 100
LIMIT_WEIGHT_MAX: Final = 1_000
"""Keys of one queue that have weights of their own, and the largest weight."""

LIMIT_RATE_MIN: Final = 0.001
LIMIT_RATE_MAX: Final = 100_000.0
LIMIT_BURST_MAX: Final = 1_000_000
"""Jobs per second of a queue or of a limit key, and how many may come at once after a while without."""

GROUP_MAX_BYTES: Final = 255
"""A group's name: printable characters."""

GROUP_MAX_SIZE: Final = 500
GROUP_BATCH_BYTES: Final = 384 * 1024
"""Members of a batch, and bytes of their records: a group that has as many is flushed (lua/lib/groups.lua)."""

GROUP_DEFAULT_SIZE: Final = 500
GROUP_DEFAULT_DELAY_S: Final = 600
GROUP_DEFAULT_GRACE_S: Final = 60
"""When a group is flushed whose queue has no policy: full; so long after its oldest member came, after its latest."""

GROUP_BATCHES_PER_CALL: Final = 16
GROUP_LOOKS: Final = 100
"""Batches that one call makes; members with a delay that one call lets join, and groups that it looks at."""

CONSUMER_MAX_BYTES: Final = 64
ERROR_MAX_BYTES: Final = 1_024
HISTORY_MAX_ATTEMPTS: Final = 10
"""What a job remembers of its failed attempts: the newest ten, each with at most a kilobyte of error text."""

PAGE_MAX: Final = 1_000
"""Jobs or queues in one page."""

PARTITIONS_DEFAULT: Final = 8
PARTITIONS_MAX: Final = 256

ALONE_MIN_JOBS: Final = 16
ALONE_MIN_BYTES: Final = 64 * 1024
"""A call for so many jobs, or with so many bytes of bodies, travels alone (`Operation.alone`)."""

PROMOTE_BATCH: Final = 500
RECLAIM_BATCH: Final = 200
PURGE_BATCH: Final = 200
"""How much one script call of a background role may move, in jobs."""

DUE_QUEUES_BATCH: Final = 200
"""Queues that a role takes from a due index at a time."""

SKIP_BATCH: Final = 500
"""Tombstones that one consume or peek may step over before it asks to be called again. An expired job counts as two,
and as one more for each 16 KiB that are freed with it."""

MIN_REPLICAS_MAX: Final = 16
REPLICATION_TIMEOUT_MIN_S: Final = 0.01
REPLICATION_TIMEOUT_MAX_S: Final = 4.0
"""How many replicas a pool may wait for, and how long: less than a connection may be silent (REPLY_TIMEOUT_S)."""

MEBIBYTE: Final = 1024 * 1024

EVENTS_MEMORY_MB: Final = 256
EVENTS_MEMORY_MIN_MB: Final = 16
EVENTS_MEMORY_MAX_MB: Final = 65_536
EVENTS_MEMORY_PART: Final = 4
"""Memory for the events of a pool until the drain takes them, in MiB: where nobody has set it, a quarter of `maxmemory`
(EVENTS_MEMORY_MIN_MB at least), and EVENTS_MEMORY_MB where Redis has no bound. Each partition has an equal share of
it; the drain lends one what others do not use."""

EVENTS_FULL_BYTES: Final = MEBIBYTE
EVENTS_FULL_PART: Final = 4
"""A partition's events are drained at once when they take so much, 10,000 to 20,000 of them, or that part of the cap:
then what comes while they are drained still has room. lua/lib/events.lua has the same numbers."""

EVENT_LINES_MAX: Final = 64
"""Events that share one stream entry."""

FALLBACK_POLL_S: Final = 1.0
LOOKS_PER_S: Final = 400
LOOK_EVERY_MAX_S: Final = 30.0
"""Waiting consumers look even if no wake-up came. A line of them every FALLBACK_POLL_S; many lines take turns, together
LOOKS_PER_S; but none less often than every LOOK_EVERY_MAX_S."""

WAITING_MARK_MS: Final = 3_000
MARK_OUTLIVES: Final = 3
"""How long a queue counts as waited for after a consumer found it empty: so many times as long as until the next look,
and at least WAITING_MARK_MS. Without a mark no wake-ups are sent; one that is needed no more costs a few messages."""

STATS_MINUTES: Final = 10
"""Minutes of counts and histograms kept per queue."""

TREND_MINUTES: Final = 180
ROLLUP_MINUTES: Final = 1_440
"""Whole minutes of which a queue, and the sum over a namespace's queues, remembers what happened."""

ROLLUP_STEP_MINUTES: Final = 5
"""Such sums are also kept of so many minutes together, for charts of a day."""

PREVIEW_BYTES: Final = 256
"""How much of each body a listing shows."""

PAGE_BUDGET_BYTES: Final = 3 * 1024 * 1024
"""Records that one page of a listing may read; a page of huge jobs is shorter than asked for."""

SCAN_LOOKS: Final = 500
SCAN_BUDGET_BYTES: Final = 1024 * 1024
"""How many jobs one call of a filtered scan may look at, and bytes of their records. Searching costs more of these."""

SCAN_MATCH_MAX_BYTES: Final = 16 * 1024
"""Longest body that a filtered scan searches in Redis. Longer ones are read there and searched here."""

DEAD_SCAN_BUDGET_BYTES: Final = 512 * 1024
"""Runs of dead letters that one call of their scan may read: one with ten long errors has 14 KiB."""

SCAN_TEXT_MAX_BYTES: Final = 255
"""Longest text that a filter looks for."""

RESCHEDULE_BATCH: Final = 100
"""Jobs that one call of a reschedule moves."""

SWEEP_QUEUES_BATCH: Final = 32
"""Queues of a partition that one turn of the sweeper visits."""

SWEEPS_AT_ONCE_MIN: Final = 8
SWEEPS_AT_ONCE_MAX: Final = 32
"""Visits in one round trip, where visits find much to do and where they find little."""

SWEEP_EXPIRE_BATCH: Final = 100
SWEEP_LOOKS: Final = 500
"""Jobs that a visit deletes, and jobs or entries that it looks at: about a millisecond each."""

DELETE_BATCH: Final = 250
"""Jobs that one call of a bulk deletion handles."""

RESPAWN_BATCH: Final = 200
"""Jobs that one call of a respawn handles."""

DELETIONS_BATCH: Final = 8
"""Deleted queues of a partition of which one round frees a part each."""

FREE_BUDGET_BYTES: Final = 16 * 1024 * 1024
"""Records and results that one call may free, and a job more. A call has that much in half a millisecond to two."""

READ_BUDGET_BYTES: Final = 4 * 1024 * 1024
"""Records that one call may read though it does not answer with them, and a job more: two to three milliseconds."""

CONSUME_BUDGET_BYTES: Final = 1024 * 1024
"""Bodies in one answer to a consume: it ends early once it has so many bytes, with fewer jobs than asked for."""

MERGE_MAX_CALLS: Final = 256
MERGE_BODY_MAX_BYTES: Final = 16 * 1024
"""How many publishes, consumes or acks of one queue may share a script call, and the largest body that takes part."""
