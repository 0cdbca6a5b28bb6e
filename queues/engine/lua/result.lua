-- result: the result of a completed job.
-- KEYS
--   jobs         hash     whether the job exists
--   results      hash     results
--   delayed      zset     whether it is there
--   retry        zset     whether it is there
--   working      zset     whether it is there
--   dead         zset     whether it is there
--   completed    zset     whether it is there
-- ARGV
--   id           job
-- REPLIES
--   completed    result    the result, or nil if it was acked without one
--   pending      state     not completed
--   missing
if redis.call('HEXISTS', jobs, id) == 0 then return {'missing'} end
if redis.call('ZSCORE', completed, id) then return {'completed', redis.call('HGET', results, id)} end
for state, key in pairs({working = working, delayed = delayed, retry = retry, dead = dead}) do
  if redis.call('ZSCORE', key, id) then return {'pending', state} end
end
return {'pending', 'ready'}
