-- drain_ready: deletes ready jobs of one queue: of the list's head, at most `limit` entries; after the last one, those of
-- other priorities, then those with limit keys. The first write frees.
-- KEYS
--   jobs         hash     the records
--   runs         hash     attempts
--   ready        list     where they are
--   front        list     goes before `ready`
--   prio         zset     where they are
--   priorities   hash     of these jobs
--   expiring     zset     which waiting jobs expire soon
--   keys         hash     whether the queue is still registered
--   flags        hash     tombstones
--   due          zset     index of due times
--   ends         zset     index of lease ends
--   queues       zset     the registry
--   sweeps       zset     when the sweeper has work
--   events       stream   transitions
--   counters     hash     dropped events
--   outgoing     zset     gets messages to the jobs that depend on it
--   lines        zset     ready jobs with limit keys
--   turns        zset     limit keys with ready jobs
--   shares       hash     what each limit key has had
-- ARGV
--   now_ms       ms or ""
--   queue        namespace/queue
--   cap          bytes    the event stream's
--   limit        entries
--   budget       bytes     of records
-- REPLIES
--   ok           count removed left   jobs deleted; entries removed, tombstones among them; entries that are left
-- INCLUDES ready registry events bulk fair outgoing
limit, budget = tonumber(limit), tonumber(budget)
local list = redis.call('EXISTS', front) == 1 and front or ready
local ids = first_within(redis.call('LRANGE', list, 0, limit - 1), budget, jobs)
if #ids > 0 then
  redis.call('LPOP', list, #ids)
else
  ids = first_within(redis.call('ZRANGE', prio, 0, limit - 1), budget, jobs)
  if #ids > 0 then redis.call('ZREM', prio, unpack(ids)) end
end
local limit_keys = {}
if #ids == 0 then
  local members = redis.call('ZRANGE', lines, 0, limit - 1)
  for i, member in ipairs(members) do ids[i] = string.sub(member, -ID_BYTES) end
  ids = first_within(ids, budget, jobs)
  if #ids > 0 then redis.call('ZREM', lines, unpack(members, 1, #ids)) end
  for i = 1, #ids do limit_keys[string.sub(members[i], 1, key_end(members[i]) - 1)] = true end
end
local count = 0
if #ids > 0 then
  local raw_runs = redis.call('HMGET', runs, unpack(ids))
  for _, id in ipairs(ids) do
    if redis.call('HDEL', jobs, id) == 1 then
      count = count + 1
      emit('deleted', id, '', '', '', '')
    end
  end
  redis.call('HDEL', runs, unpack(ids))
  redis.call('HDEL', priorities, unpack(ids))
  redis.call('ZREM', expiring, unpack(ids))
  note_gone(ids, 'deleted', raw_runs)
  if #ids > count then count_tombstones(count - #ids) end
  for its_key in pairs(limit_keys) do leave_turns(its_key) end
  forget_if_empty()
end
flush_events()
return {'ok', count, #ids, redis.call('LLEN', front) + redis.call('LLEN', ready) + redis.call('ZCARD', prio)
  + redis.call('ZCARD', lines)}
