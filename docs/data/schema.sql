-- Made by `python -m tools.data_docs`. Times are UTC.

-- version 3; rows differ in: pool, partition, entry_ms, entry_seq, line
CREATE TABLE events (
    "pool" VARCHAR NOT NULL, -- name of the pool
    "namespace" VARCHAR NOT NULL, -- name of the namespace
    "queue" VARCHAR NOT NULL, -- name of the queue
    "kind" VARCHAR NOT NULL, -- what happened (docs/data/events.md, Kinds)
    "at" TIMESTAMP WITH TIME ZONE NOT NULL, -- when, by the Redis server's clock
    "job" VARCHAR, -- job id; null for `destroyed`
    "published" TIMESTAMP WITH TIME ZONE, -- when the job was published, as its id says
    "attempt" INTEGER, -- delivery, from 1; of `destroyed` jobs that were neither dead nor completed
    "wait_ms" BIGINT, -- due → delivered; published: delay; ready: lateness; rescheduled: to due [ms]
    "run_ms" BIGINT, -- delivered → acked, failed, released, or its lease lost [ms]
    "size" BIGINT, -- bytes of the body; of `destroyed` the number of jobs [bytes]
    "worker" VARCHAR, -- the consumer's name
    "error" VARCHAR, -- of `failed` and `dead`, at most 200 bytes; of `deleted` how the job had ended
    "partition" SMALLINT NOT NULL, -- of the pool
    "entry_ms" BIGINT NOT NULL, -- id of the stream entry, the part before the dash [ms]
    "entry_seq" BIGINT NOT NULL, -- id of the stream entry, the part after the dash
    "line" SMALLINT NOT NULL, -- place in the entry, from 0; pool, partition, entry and line name an event
    "demo" BOOLEAN NOT NULL, -- made up for demonstration
    "date" DATE NOT NULL, -- the UTC day, YYYY-MM-DD
    "hour" INTEGER NOT NULL -- the hour of the day (UTC)
);

-- version 1; rows differ in: date, pool, partition, namespace, queue, hour
CREATE TABLE hourly_counts (
    "pool" VARCHAR NOT NULL, -- name of the pool
    "partition" SMALLINT NOT NULL, -- of the pool, from 0
    "partitions" SMALLINT NOT NULL, -- how many the pool has
    "namespace" VARCHAR NOT NULL, -- name of the namespace; empty: the row is about all queues without a row
    "queue" VARCHAR NOT NULL, -- name of the queue; empty like `namespace`
    "hour" INTEGER NOT NULL, -- of the day (UTC), when the queue was counted
    "jobs" BIGINT, -- neither dead nor completed; null where the queue has batches of groups
    "from_ms" BIGINT NOT NULL, -- newest stream entry when the queue, or the first one, was counted [ms]
    "from_seq" BIGINT NOT NULL, -- the part of its id after the dash
    "until_ms" BIGINT NOT NULL, -- newest stream entry when the queue, or the last one, was counted [ms]
    "until_seq" BIGINT NOT NULL, -- the part of its id after the dash
    "date" DATE NOT NULL -- the UTC day, YYYY-MM-DD
);

-- version 2; rows differ in: date, run, pool, namespace, queue, hour
CREATE TABLE report_figures (
    "pool" VARCHAR NOT NULL, -- name of the pool
    "namespace" VARCHAR NOT NULL, -- name of the namespace
    "queue" VARCHAR NOT NULL, -- name of the queue; empty: all of the namespace
    "hour" INTEGER, -- hour of the day, of UTC or the time zone; null: the whole day [h]
    "published" BIGINT NOT NULL, -- jobs published [events]
    "consumed" BIGINT NOT NULL, -- deliveries [events]
    "acked" BIGINT NOT NULL, -- jobs acknowledged [events]
    "failed" BIGINT NOT NULL, -- attempts that a consumer said had failed [events]
    "retried" BIGINT NOT NULL, -- deliveries with an attempt greater than 1 [events]
    "lease_lost" BIGINT NOT NULL, -- deliveries whose lease ran out [events]
    "expired" BIGINT NOT NULL, -- jobs whose ttl ended before they were delivered [events]
    "dead" BIGINT NOT NULL, -- jobs that became dead letters [events]
    "respawned" BIGINT NOT NULL, -- dead letters that became ready again [events]
    "released" BIGINT NOT NULL, -- deliveries given back without burning a try [events]
    "deleted" BIGINT NOT NULL, -- jobs deleted, those of destroyed queues included [jobs]
    "rescheduled" BIGINT NOT NULL, -- jobs that were given another time [events]
    "duplicates" BIGINT NOT NULL, -- deliveries after an attempt whose lease was lost [events]
    "bytes" BIGINT NOT NULL, -- bodies of the jobs published [bytes]
    "arrivals" BIGINT NOT NULL, -- published + respawned [events]
    "departures" BIGINT NOT NULL, -- acked + expired + dead + deleted while alive [jobs]
    "wait_count" BIGINT NOT NULL, -- how many were measured: due → delivered, of each delivery [values]
    "wait_mean" DOUBLE PRECISION, -- sum divided by count; null: nothing measured [ms]
    "wait_p50" BIGINT, -- the least that 50 % do not exceed [ms]
    "wait_p90" BIGINT, -- the least that 90 % do not exceed [ms]
    "wait_p95" BIGINT, -- the least that 95 % do not exceed [ms]
    "wait_p99" BIGINT, -- the least that 99 % do not exceed [ms]
    "wait_max" BIGINT, -- the longest [ms]
    "wait_exact" BOOLEAN NOT NULL, -- whether the percentiles are exact
    "run_count" BIGINT NOT NULL, -- how many were measured: delivered → acked, of each ack [values]
    "run_mean" DOUBLE PRECISION, -- sum divided by count; null: nothing measured [ms]
    "run_p50" BIGINT, -- the least that 50 % do not exceed [ms]
    "run_p90" BIGINT, -- the least that 90 % do not exceed [ms]
    "run_p95" BIGINT, -- the least that 95 % do not exceed [ms]
    "run_p99" BIGINT, -- the least that 99 % do not exceed [ms]
    "run_max" BIGINT, -- the longest [ms]
    "run_exact" BOOLEAN NOT NULL, -- whether the percentiles are exact
    "total_count" BIGINT NOT NULL, -- how many were measured: published → acked, of each ack [values]
    "total_mean" DOUBLE PRECISION, -- sum divided by count; null: nothing measured [ms]
    "total_p50" BIGINT, -- the least that 50 % do not exceed [ms]
    "total_p90" BIGINT, -- the least that 90 % do not exceed [ms]
    "total_p95" BIGINT, -- the least that 95 % do not exceed [ms]
    "total_p99" BIGINT, -- the least that 99 % do not exceed [ms]
    "total_max" BIGINT, -- the longest [ms]
    "total_exact" BOOLEAN NOT NULL, -- whether the percentiles are exact
    "lateness_count" BIGINT NOT NULL, -- how many were measured: due → ready, of each job that had to wait for its time [values]
    "lateness_mean" DOUBLE PRECISION, -- sum divided by count; null: nothing measured [ms]
    "lateness_p50" BIGINT, -- the least that 50 % do not exceed [ms]
    "lateness_p90" BIGINT, -- the least that 90 % do not exceed [ms]
    "lateness_p95" BIGINT, -- the least that 95 % do not exceed [ms]
    "lateness_p99" BIGINT, -- the least that 99 % do not exceed [ms]
    "lateness_max" BIGINT, -- the longest [ms]
    "lateness_exact" BOOLEAN NOT NULL, -- whether the percentiles are exact
    "success_rate" DOUBLE PRECISION, -- acked / (acked + dead + expired), 0 to 1; null: none of these
    "backlog" BIGINT, -- jobs that are there at the end; null: not known [jobs]
    "backlog_base_known" BOOLEAN, -- whether it is known what the day began with; null: no backlog
    "first_at" TIMESTAMP WITH TIME ZONE, -- the first event; null: nothing happened
    "last_at" TIMESTAMP WITH TIME ZONE, -- the last event
    "time_zone" VARCHAR, -- time zone of the day and its hours; null: UTC
    "date" DATE NOT NULL, -- the UTC day, YYYY-MM-DD
    "run" VARCHAR NOT NULL -- which run computed it; `current.json` says the one that counts
);

-- version 2; rows differ in: date, run, pool, namespace, queue, metric, bucket
CREATE TABLE report_histograms (
    "pool" VARCHAR NOT NULL, -- name of the pool
    "namespace" VARCHAR NOT NULL, -- name of the namespace
    "queue" VARCHAR NOT NULL, -- name of the queue; empty: all of the namespace
    "metric" VARCHAR NOT NULL, -- wait, run, total or lateness
    "bucket" INTEGER NOT NULL, -- one for each ms below 128, then 64 to each doubling (queues/lake/sketch.py)
    "jobs" BIGINT NOT NULL, -- values in the bucket [values]
    "date" DATE NOT NULL, -- the UTC day, YYYY-MM-DD
    "run" VARCHAR NOT NULL -- which run computed it; `current.json` says the one that counts
);

-- version 2; rows differ in: date, run, pool, namespace, queue, attempt, outcome
CREATE TABLE report_tries (
    "pool" VARCHAR NOT NULL, -- name of the pool
    "namespace" VARCHAR NOT NULL, -- name of the namespace
    "queue" VARCHAR NOT NULL, -- name of the queue
    "attempt" INTEGER NOT NULL, -- the delivery, from 1, at which jobs ended
    "outcome" VARCHAR NOT NULL, -- acked or dead
    "jobs" BIGINT NOT NULL, -- how many ended so [jobs]
    "date" DATE NOT NULL, -- the UTC day, YYYY-MM-DD
    "run" VARCHAR NOT NULL -- which run computed it; `current.json` says the one that counts
);

-- version 2; rows differ in: date, run, pool, namespace, queue, pattern
CREATE TABLE report_errors (
    "pool" VARCHAR NOT NULL, -- name of the pool
    "namespace" VARCHAR NOT NULL, -- name of the namespace
    "queue" VARCHAR NOT NULL, -- name of the queue
    "pattern" VARCHAR NOT NULL, -- the error, with placeholders for numbers, ids, times and addresses
    "failed" BIGINT NOT NULL, -- failed attempts with it [events]
    "dead" BIGINT NOT NULL, -- deaths with it [events]
    "first_at" TIMESTAMP WITH TIME ZONE NOT NULL, -- the first of them
    "last_at" TIMESTAMP WITH TIME ZONE NOT NULL, -- the last of them
    "job" VARCHAR, -- id of the job of the last one
    "date" DATE NOT NULL, -- the UTC day, YYYY-MM-DD
    "run" VARCHAR NOT NULL -- which run computed it; `current.json` says the one that counts
);

-- version 2; rows differ in: date, run, pool, namespace, queue, metric, rank
CREATE TABLE report_slow (
    "pool" VARCHAR NOT NULL, -- name of the pool
    "namespace" VARCHAR NOT NULL, -- name of the namespace
    "queue" VARCHAR NOT NULL, -- name of the queue
    "metric" VARCHAR NOT NULL, -- wait or run
    "rank" INTEGER NOT NULL, -- from 1, the longest
    "job" VARCHAR, -- id of the job
    "attempt" INTEGER, -- delivery, from 1
    "ms" BIGINT NOT NULL, -- how long it waited or ran [ms]
    "at" TIMESTAMP WITH TIME ZONE NOT NULL, -- when it was delivered or acked
    "worker" VARCHAR, -- the consumer's name, if it gave one
    "date" DATE NOT NULL, -- the UTC day, YYYY-MM-DD
    "run" VARCHAR NOT NULL -- which run computed it; `current.json` says the one that counts
);

-- version 2; rows differ in: date, run, pool, namespace, queue, figure, hour
CREATE TABLE report_changes (
    "pool" VARCHAR NOT NULL, -- name of the pool
    "namespace" VARCHAR NOT NULL, -- name of the namespace
    "queue" VARCHAR NOT NULL, -- name of the queue; empty: all of the namespace
    "figure" VARCHAR NOT NULL, -- a column of `figures`
    "hour" INTEGER, -- hour of the day (UTC); null: the whole day [h]
    "value" DOUBLE PRECISION, -- of this day or hour; null: nothing to measure
    "usual" DOUBLE PRECISION, -- median of the same weekday, and hour, in past weeks
    "spread" DOUBLE PRECISION, -- median distance from the usual × 1.4826
    "weeks" INTEGER NOT NULL, -- past weeks that have the figure [weeks]
    "verdict" VARCHAR NOT NULL, -- worse, better, usual, too few weeks, holiday or incomplete
    "flagged" BOOLEAN NOT NULL, -- whether the day or hour is out of line, that is: worse
    "date" DATE NOT NULL, -- the UTC day, YYYY-MM-DD
    "run" VARCHAR NOT NULL -- which run computed it; `current.json` says the one that counts
);
