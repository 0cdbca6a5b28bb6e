-- live_jobs: jobs of one queue that are neither dead nor completed, and the newest event that had happened by then. O(1).
-- KEYS
--   ready        list     ready jobs
--   front        list     goes before `ready`
--   prio         zset     ready jobs of other priorities
--   delayed      zset     delayed jobs
--   retry        zset     jobs waiting for their next try
--   working      zset     working jobs
--   flags        hash     tombstones
--   blocked      zset     jobs that wait for others
--   grouped      zset     jobs that wait for their group
--   lines        zset     ready jobs with limit keys
--   batches      hash     members of batches, which are not counted here
--   events       stream   transitions
--   drain        hash     the plan
-- ARGV
--   now_ms       ms or ""
--   queue        namespace/queue
-- REPLIES
--   ok           now jobs entry   jobs: -1: there are batches, whose members events count one by one
-- INCLUDES ready last_entry
if redis.call('EXISTS', batches) == 1 then return {'ok', now, -1, last_entry()} end
return {'ok', now, ready_size() + redis.call('ZCARD', delayed) + redis.call('ZCARD', retry)
  + redis.call('ZCARD', working) + redis.call('ZCARD', blocked) + redis.call('ZCARD', grouped), last_entry()}
