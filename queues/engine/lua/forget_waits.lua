-- forget_waits: drops the waits of jobs that are not blocked any more, once these are unsubscribed from their dependencies.
-- The first write frees.
-- KEYS
--   blocked      zset     blocked jobs
--   waits        zset     what they wait for
--   staged       zset     jobs that are being published, and will be blocked
--   outgoing     zset     messages to other partitions
-- ARGV
--   now_ms       ms or ""
--   queue        namespace/queue
--   id           job, or "": of a queue that was deleted
--   message      "" or the message, once it has been carried to every job that it concerns
--   ...          members
-- REPLIES
--   ok
-- INCLUDES waits
for i = REST, #ARGV do
  local its_id = string.sub(ARGV[i], 1, 26)
  if not (redis.call('ZSCORE', blocked, its_id) or redis.call('ZSCORE', staged, its_id)) then
    redis.call('ZREM', waits, ARGV[i])
  end
end
if id ~= '' then end_message(id) end
if message ~= '' then redis.call('ZREM', outgoing, message) end
return {'ok'}
