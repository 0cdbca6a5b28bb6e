-- Views of taskq's report tables for DuckDB 1.2 or newer: of each day the run that counts. See index.md beside this file.
--
--   SET VARIABLE reports = 'var/reports';      a directory, or a URL that DuckDB opens
--   .read docs/data/report-views.sql
--
-- The list of files is made when this script runs: run it again after newer reports.

SET TimeZone = 'UTC';
SET VARIABLE reports = rtrim(coalesce(getvariable('reports'), 'var/reports'), '/');

-- `current.json` says which run of a day counts. Another run may be being written beside it.
CREATE OR REPLACE TEMP TABLE report_files AS
SELECT regexp_extract(file, '([a-z]+)\.parquet[/\\][^/\\]+$', 1) AS name, found.file
FROM glob(getvariable('reports') || '/date=*/run=*/*.parquet/*.parquet') AS found
JOIN (
    SELECT regexp_extract(filename, 'date=[0-9-]{10}') AS day, content ->> '$.run' AS run
    FROM read_text(getvariable('reports') || '/date=*/current.json')
) AS current
  ON regexp_extract(found.file, 'date=[0-9-]{10}') = current.day
 AND regexp_extract(found.file, 'run=([^/\\]+)', 1) = current.run
WHERE parse_filename(found.file)[1] NOT IN ('_', '.');

SELECT CASE WHEN count(*) = 0
            THEN error('no report below ' || getvariable('reports') || ': is it where reports are, and was one made?')
       END AS problem
FROM report_files;

SET VARIABLE figures_files = (SELECT list(file ORDER BY file) FROM report_files WHERE name = 'figures');
SET VARIABLE histograms_files = (SELECT list(file ORDER BY file) FROM report_files WHERE name = 'histograms');
SET VARIABLE tries_files = (SELECT list(file ORDER BY file) FROM report_files WHERE name = 'tries');
SET VARIABLE errors_files = (SELECT list(file ORDER BY file) FROM report_files WHERE name = 'errors');
SET VARIABLE slow_files = (SELECT list(file ORDER BY file) FROM report_files WHERE name = 'slow');
SET VARIABLE changes_files = (SELECT list(file ORDER BY file) FROM report_files WHERE name = 'changes');

CREATE OR REPLACE TEMP VIEW report_figures AS
SELECT * REPLACE (timezone('UTC', first_at) AS first_at, timezone('UTC', last_at) AS last_at)
FROM read_parquet(getvariable('figures_files'), hive_partitioning = true, union_by_name = true,
                  hive_types = {'date': DATE, 'run': VARCHAR});

CREATE OR REPLACE TEMP VIEW report_histograms AS
FROM read_parquet(getvariable('histograms_files'), hive_partitioning = true, union_by_name = true,
                  hive_types = {'date': DATE, 'run': VARCHAR});

CREATE OR REPLACE TEMP VIEW report_tries AS
FROM read_parquet(getvariable('tries_files'), hive_partitioning = true, union_by_name = true,
                  hive_types = {'date': DATE, 'run': VARCHAR});

CREATE OR REPLACE TEMP VIEW report_errors AS
SELECT * REPLACE (timezone('UTC', first_at) AS first_at, timezone('UTC', last_at) AS last_at)
FROM read_parquet(getvariable('errors_files'), hive_partitioning = true, union_by_name = true,
                  hive_types = {'date': DATE, 'run': VARCHAR});

CREATE OR REPLACE TEMP VIEW report_slow AS
SELECT * REPLACE (timezone('UTC', "at") AS "at")
FROM read_parquet(getvariable('slow_files'), hive_partitioning = true, union_by_name = true,
                  hive_types = {'date': DATE, 'run': VARCHAR});

CREATE OR REPLACE TEMP VIEW report_changes AS
FROM read_parquet(getvariable('changes_files'), hive_partitioning = true, union_by_name = true,
                  hive_types = {'date': DATE, 'run': VARCHAR});
