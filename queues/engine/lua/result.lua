-- result: the result of a completed job.
-- KEYS
--   jobs         hash     whether the job exists
--   runs         hash     when it expires
--   results      hash     results
--   delayed      zset     whether it is there
--   retry        zset     whether it is there
--   working      zset     whether it is there
--   dead         zset     whether it is there
--   completed    zset     whether it is there
--   blocked      zset     whether it is there
--   grouped      zset     whether it is there
-- ARGV
--   now_ms       ms or ""
--   id           job
-- REPLIES
--   completed    result    the result, or nil if it was acked without one
--   pending      state     not completed
--   missing                none, or it has expired
-- INCLUDES has_expired job_details
local expires = expiry_of(id, redis.call('HGET', runs, id))
if not expires then return {'missing'} end
local state = find_state(id)
if state == 'completed' then return {'completed', redis.call('HGET', results, id)} end
if is_waiting(state) and has_expired(expires) then return {'missing'} end
return {'pending', state}
