-- read_worker: what one worker said of itself last. lua/list_workers.lua says the same of all workers.
-- KEYS
--   workers      zset     namespace/worker → time of its latest beat
--   beats        hash     namespace/worker → its record
-- ARGV
--   now_ms       ms or ""
--   worker       namespace/worker
--   forget       ms       what is older is left out
-- REPLIES
--   ok           now at record
--   unknown
local at = tonumber(redis.call('ZSCORE', workers, worker) or '')
if not at or at > now or at <= now - forget then return {'unknown'} end
return {'ok', now, at, redis.call('HGET', beats, worker) or ''}
