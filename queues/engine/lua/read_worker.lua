-- read_worker: the latest heartbeat of one worker. lua/list_workers.lua reads those of all workers.
-- KEYS
--   workers      zset     namespace/worker → time of its latest beat
--   beats        hash     namespace/worker → its record
-- ARGV
--   now_ms       ms or ""
--   worker       namespace/worker
--   forget       ms       a heartbeat that is older is left out
-- REPLIES
--   ok           now at record
--   unknown
local at = tonumber(redis.call('ZSCORE', workers, worker) or '')
if not at or at > now or at <= now - forget then return {'unknown'} end
return {'ok', now, at, redis.call('HGET', beats, worker) or ''}
