-- promote: moves due jobs of one queue from delayed and retry to ready (edges E and J), at most `limit`, earliest first
-- (lib/due_jobs.lua). A consume moves those of its queue as well.
-- KEYS
--   ready        list     where they go
--   prio         zset     the same, other priorities
--   priorities   hash     of these jobs
--   delayed      zset     where they come from
--   retry        zset     where they come from
--   due          zset     index, set to the true next due time
--   waiting      zset     queues on which consumers wait
--   stats        hash     minutes
--   active       zset     queues with counts in `stats`
--   events       stream   transitions
--   counters     hash     dropped events
--   lines        zset     ready jobs with limit keys
--   turns        zset     limit keys with ready jobs
--   shares       hash     what each limit key has had
--   flags        hash     number of places in lines
-- ARGV
--   now_ms       ms or ""
--   queue        namespace/queue
--   channel      of the partition's wake-ups
--   cap          bytes    the event stream's
--   limit        jobs
-- REPLIES
--   ok           moved more    more: 1 if due jobs are left
-- INCLUDES ready_places wake due events minute_counts due_jobs
local moved, next_due = promote_jobs(tonumber(limit))
if moved > 0 then wake_ready(moved) end
flush_events()
return {'ok', moved, next_due and next_due <= now and 1 or 0}
