-- Views of taskq's event lake for DuckDB 1.2 or newer. What they are for is in index.md beside this file.
--
--   SET VARIABLE lake = 'var/lake';            a directory, or a URL that DuckDB opens
--   SET VARIABLE first_day = DATE '2026-11-01';  optional, as is last_day: read only files of these days
--   SET VARIABLE damaged = 'damaged.txt';      optional: leave out the files that `python -m queues.lake LAKE --list
--                                              damaged.txt` found damaged, for DuckDB checks no checksums
--   .read docs/data/views.sql
--
-- The list of files is made when this script runs: run it again to see newer ones.

SET TimeZone = 'UTC';
SET VARIABLE lake = rtrim(coalesce(getvariable('lake'), 'var/lake'), '/');
SET VARIABLE first_day = coalesce(getvariable('first_day'), DATE '1970-01-01');
SET VARIABLE last_day = coalesce(getvariable('last_day'), DATE '9999-12-31');

-- Which files count, as in docs/lake.md (queues/lake/files.py has the same rules, and a test compares them). Compaction
-- puts a merged file into place, then a manifest that names what it holds: from then on the merged file counts and the
-- others do not. Names that begin with `_` or `.` are no data.
CREATE OR REPLACE TEMP TABLE lake_files AS
WITH found AS (
    SELECT file, parse_filename(file) AS name, regexp_extract(file, 'date=[0-9-]{10}[/\\]hour=[0-9]{2}') AS folder
    FROM glob(getvariable('lake') || '/date=*/hour=*/*.parquet')
),
data AS (
    SELECT *, regexp_extract(name, '^(.+-p\d{4})-(\d{15})_(\d{10,19})-(\d{15})_(\d{10,19})\.parquet$',
                             ['stream', 'first_ms', 'first_seq', 'last_ms', 'last_seq']) AS range
    FROM found
    WHERE name[1] NOT IN ('_', '.')
      AND TRY_CAST(folder[6:15] AS DATE) BETWEEN getvariable('first_day') AND getvariable('last_day')
),
there AS (
    SELECT file, name, folder, nullif(range.stream, '') AS stream,
           (TRY_CAST(range.first_ms AS HUGEINT), TRY_CAST(range.first_seq AS HUGEINT)) AS first_entry,
           (TRY_CAST(range.last_ms AS HUGEINT), TRY_CAST(range.last_seq AS HUGEINT)) AS last_entry
    FROM data
),
manifests AS (
    SELECT regexp_extract(filename, 'date=[0-9-]{10}[/\\]hour=[0-9]{2}') AS folder,
           regexp_extract(parse_filename(filename), '^_(compact-[0-9a-f]{20})\.json$', 1) || '.parquet' AS compacted,
           from_json(content, '{"sources": ["VARCHAR"]}').sources AS sources
    FROM read_text(getvariable('lake') || '/date=*/hour=*/_compact-*.json')
),
valid AS ( -- a compaction that slept while another one took its files and more has made what no longer counts
    SELECT folder, compacted FROM manifests AS one
    WHERE NOT EXISTS (
        FROM manifests AS other
        WHERE other.folder = one.folder AND other.compacted <> one.compacted
          AND (list_contains(other.sources, one.compacted)
               OR (list_has_all(other.sources, one.sources) AND NOT list_has_all(one.sources, other.sources)))
    )
),
taken AS (
    SELECT folder, name, regexp_extract(name, '^(.+-p\d{4})-(\d{15})_(\d{10,19})-(\d{15})_(\d{10,19})\.parquet$',
                                        ['stream', 'first_ms', 'first_seq', 'last_ms', 'last_seq']) AS range
    FROM (SELECT DISTINCT folder, unnest(sources) AS name FROM manifests)
),
taken_ranges AS (
    SELECT folder, range.stream AS stream,
           (range.first_ms::HUGEINT, range.first_seq::HUGEINT) AS first_entry,
           (range.last_ms::HUGEINT, range.last_seq::HUGEINT) AS last_entry
    FROM taken WHERE range.stream <> ''
),
damaged AS ( -- without a list the pattern matches no file
    SELECT unnest(string_split(content, chr(10))) AS path
    FROM read_text(coalesce(getvariable('damaged'), getvariable('lake') || '/_no-list-of-damaged-files-*'))
),
judged AS (
    SELECT file, replace(folder, '\', '/') || '/' || name AS path,
           folder[6:15]::DATE AS date, folder[-2:]::INTEGER AS hour,
           CASE
               WHEN (folder, name) IN (SELECT (folder, name) FROM taken) THEN 'is in a compacted file'
               WHEN regexp_matches(name, '^compact-[0-9a-f]{20}\.parquet$') THEN
                   CASE WHEN (folder, name) NOT IN (SELECT (folder, compacted) FROM valid)
                        THEN 'has no manifest that counts' END
               WHEN stream IS NULL THEN NULL -- written by somebody else
               WHEN EXISTS (FROM taken_ranges AS other
                            WHERE other.folder = there.folder AND other.stream = there.stream
                              AND other.first_entry <= there.last_entry AND there.first_entry <= other.last_entry)
                   THEN 'overlaps what is in a compacted file'
               WHEN EXISTS (FROM there AS other
                            WHERE other.folder = there.folder AND other.stream = there.stream
                              AND other.name <> there.name
                              AND other.first_entry <= there.first_entry AND there.last_entry <= other.last_entry)
                   THEN 'is within another file'
           END AS reason
    FROM there
)
SELECT file, date, hour, why IS NULL AS counts, why AS reason
FROM (SELECT *, CASE WHEN reason IS NULL AND path IN (SELECT path FROM damaged) THEN 'is damaged' ELSE reason END AS why
      FROM judged)
ORDER BY file;

SELECT CASE WHEN getvariable('damaged') IS NOT NULL
                 AND NOT EXISTS (FROM glob(coalesce(getvariable('damaged'), '')))
            THEN error('no list of damaged files at ' || getvariable('damaged'))
       END AS problem;
SET VARIABLE files = (SELECT list(file ORDER BY file) FROM lake_files WHERE counts);
SELECT CASE WHEN getvariable('files') IS NULL
            THEN error('no file with events below ' || getvariable('lake') || ': is it the lake, and are there such days?')
       END AS problem;

-- Times are UTC without a zone. `"at"` is a keyword in DuckDB, which is why it is quoted.
CREATE OR REPLACE TEMP VIEW events AS
SELECT * REPLACE (timezone('UTC', "at") AS "at", timezone('UTC', published) AS published)
FROM read_parquet(getvariable('files'), hive_partitioning = true, union_by_name = true,
                  hive_types = {'date': DATE, 'hour': INTEGER});

-- Times are negative where a clock was set back, and null where they do not apply, which `greatest` would take for 0.
CREATE OR REPLACE TEMP MACRO not_negative(ms) AS CASE WHEN ms < 0 THEN 0 ELSE ms END;

-- A row for each delivery. `outcome`: acked, failed, released, lease_lost; null: it had not ended, or the job was deleted.
CREATE OR REPLACE TEMP VIEW deliveries AS
SELECT pool, namespace, queue, job, attempt,
       any_value(date) FILTER (kind = 'consumed') AS date,
       any_value(hour) FILTER (kind = 'consumed') AS hour,
       min("at") FILTER (kind = 'consumed') AS delivered_at,
       any_value(worker) FILTER (kind = 'consumed') AS worker,
       not_negative(any_value(wait_ms) FILTER (kind = 'consumed')) AS wait_ms,
       arg_min(kind, "at") FILTER (kind <> 'consumed') AS outcome,
       min("at") FILTER (kind <> 'consumed') AS ended_at,
       not_negative(arg_min(run_ms, "at") FILTER (kind <> 'consumed')) AS run_ms,
       arg_min(error, "at") FILTER (kind = 'failed') AS error,
       any_value(demo) AS demo
FROM events
WHERE kind IN ('consumed', 'acked', 'failed', 'released', 'lease_lost') AND job IS NOT NULL
GROUP BY pool, namespace, queue, job, attempt
HAVING count(*) FILTER (kind = 'consumed') > 0;

-- A row for each job. `outcome`: acked, dead, expired, deleted; null: the job is still there, or went with its queue.
-- `published_at` comes from the job's id, so it is known even of jobs older than the lake; `delay_ms` and `size` are not.
CREATE OR REPLACE TEMP VIEW jobs AS
WITH lives AS (
    SELECT pool, namespace, queue, job,
           min(published) AS published_at,
           any_value(size) FILTER (kind = 'published') AS size,
           any_value(wait_ms) FILTER (kind = 'published') AS delay_ms,
           count(*) FILTER (kind = 'consumed') AS deliveries,
           count(*) FILTER (kind = 'failed') AS failures,
           min("at") FILTER (kind = 'consumed') AS first_delivered_at,
           sum(not_negative(run_ms)) FILTER (kind IN ('acked', 'failed', 'released', 'lease_lost'))::BIGINT AS run_ms,
           -- a death and the failure before it have the same time; a respawned job is alive again
           arg_max(kind, ("at", entry_ms, entry_seq, line))
               FILTER (kind IN ('acked', 'dead', 'expired', 'deleted', 'respawned')
                       AND NOT (kind = 'deleted' AND error IS NOT NULL)) AS ending,
           max("at") FILTER (kind IN ('acked', 'dead', 'expired', 'deleted', 'respawned')
                             AND NOT (kind = 'deleted' AND error IS NOT NULL)) AS ending_at,
           any_value(demo) AS demo
    FROM events
    WHERE job IS NOT NULL
    GROUP BY pool, namespace, queue, job
)
SELECT * EXCLUDE (ending, ending_at, demo),
       nullif(ending, 'respawned') AS outcome,
       CASE WHEN ending <> 'respawned' THEN ending_at END AS ended_at,
       CASE WHEN ending <> 'respawned' THEN not_negative(date_diff('millisecond', published_at, ending_at)) END AS total_ms,
       demo
FROM lives;

-- What went wrong, event by event. A death comes after the failure, or the lost lease, that used the last try up.
CREATE OR REPLACE TEMP VIEW failures AS
SELECT date, hour, "at", pool, namespace, queue, kind, job, attempt, worker, run_ms,
       coalesce(nullif(trim(error), ''), CASE kind WHEN 'lease_lost' THEN 'lease lost' END, '(no error text)') AS error, demo
FROM events
WHERE kind IN ('failed', 'dead', 'lease_lost');

-- Events by queue and hour.
CREATE OR REPLACE TEMP VIEW queue_hours AS
SELECT date, hour, date + to_hours(hour) AS begins, pool, namespace, queue,
       count(*) FILTER (kind = 'published') AS published,
       count(*) FILTER (kind = 'consumed') AS consumed,
       count(*) FILTER (kind = 'acked') AS acked,
       count(*) FILTER (kind = 'failed') AS failed,
       count(*) FILTER (kind = 'dead') AS dead,
       count(*) FILTER (kind = 'expired') AS expired,
       quantile_disc(not_negative(wait_ms), 0.95) FILTER (kind = 'consumed') AS wait_p95,
       quantile_disc(not_negative(run_ms), 0.95) FILTER (kind = 'acked') AS run_p95,
       (sum(not_negative(run_ms)) FILTER (kind = 'acked') / 1000.0)::DOUBLE AS run_s,
       bool_or(demo) AS demo
FROM events
GROUP BY date, hour, pool, namespace, queue;

-- The figures of a report, under its names: of each queue and, with queue '', of each namespace. Percentiles are exact
-- (nearest rank). What takes other days to know (backlog, duplicates, what is out of line) is in report-views.sql.
CREATE OR REPLACE TEMP VIEW queue_days AS
SELECT date, pool, namespace, CASE WHEN grouping(queue) = 1 THEN '' ELSE queue END AS queue,
       count(*) FILTER (kind = 'published') AS published,
       count(*) FILTER (kind = 'consumed') AS consumed,
       count(*) FILTER (kind = 'acked') AS acked,
       count(*) FILTER (kind = 'failed') AS failed,
       count(*) FILTER (kind = 'consumed' AND attempt > 1) AS retried,
       count(*) FILTER (kind = 'lease_lost') AS lease_lost,
       count(*) FILTER (kind = 'expired') AS expired,
       count(*) FILTER (kind = 'dead') AS dead,
       count(*) FILTER (kind = 'respawned') AS respawned,
       count(*) FILTER (kind = 'released') AS released,
       count(*) FILTER (kind = 'rescheduled') AS rescheduled,
       (count(*) FILTER (kind = 'deleted') + coalesce(sum(size) FILTER (kind = 'destroyed'), 0))::BIGINT AS deleted,
       coalesce(sum(size) FILTER (kind = 'published'), 0)::BIGINT AS bytes,
       acked / nullif(acked + dead + expired, 0) AS success_rate,
       count(wait_ms) FILTER (kind = 'consumed') AS wait_count,
       avg(not_negative(wait_ms)) FILTER (kind = 'consumed') AS wait_mean,
       quantile_disc(not_negative(wait_ms), 0.5) FILTER (kind = 'consumed') AS wait_p50,
       quantile_disc(not_negative(wait_ms), 0.9) FILTER (kind = 'consumed') AS wait_p90,
       quantile_disc(not_negative(wait_ms), 0.95) FILTER (kind = 'consumed') AS wait_p95,
       quantile_disc(not_negative(wait_ms), 0.99) FILTER (kind = 'consumed') AS wait_p99,
       max(not_negative(wait_ms)) FILTER (kind = 'consumed') AS wait_max,
       count(run_ms) FILTER (kind = 'acked') AS run_count,
       avg(not_negative(run_ms)) FILTER (kind = 'acked') AS run_mean,
       quantile_disc(not_negative(run_ms), 0.5) FILTER (kind = 'acked') AS run_p50,
       quantile_disc(not_negative(run_ms), 0.9) FILTER (kind = 'acked') AS run_p90,
       quantile_disc(not_negative(run_ms), 0.95) FILTER (kind = 'acked') AS run_p95,
       quantile_disc(not_negative(run_ms), 0.99) FILTER (kind = 'acked') AS run_p99,
       max(not_negative(run_ms)) FILTER (kind = 'acked') AS run_max,
       min("at") AS first_at,
       max("at") AS last_at,
       bool_or(demo) AS demo
FROM events
GROUP BY GROUPING SETS ((date, pool, namespace, queue), (date, pool, namespace));

-- What a namespace used. `run_s`: seconds that acked deliveries ran, as the page Cost counts them; `busy_s`: also those
-- that failed, were released or lost their lease. `bytes`: of the bodies published.
CREATE OR REPLACE TEMP VIEW namespace_costs AS
SELECT date, pool, namespace,
       count(*) FILTER (kind = 'published') AS jobs,
       coalesce(sum(size) FILTER (kind = 'published'), 0)::BIGINT AS bytes,
       (coalesce(sum(not_negative(run_ms)) FILTER (kind = 'acked'), 0) / 1000.0)::DOUBLE AS run_s,
       (coalesce(sum(not_negative(run_ms)) FILTER (kind IN ('acked', 'failed', 'released', 'lease_lost')), 0) / 1000.0)::DOUBLE
           AS busy_s,
       bool_or(demo) AS demo
FROM events
GROUP BY date, pool, namespace;

-- Stretches of time of which events are missing: the streams' cap dropped them before a drain came.
CREATE OR REPLACE TEMP VIEW gaps AS
SELECT gap.pool, gap.partition, gap.dropped, make_timestamp_ms(gap.from_ms) AS since, make_timestamp_ms(gap.until_ms) AS until
FROM (
    SELECT from_json(content, '{"pool": "VARCHAR", "partition": "BIGINT", "dropped": "BIGINT", "from_ms": "BIGINT",
                                "until_ms": "BIGINT"}') AS gap
    FROM read_text(getvariable('lake') || '/_gaps/*.json')
)
ORDER BY until;
