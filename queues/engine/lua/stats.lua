-- stats: counts per state, the oldest ready job, and the last minutes of one queue. Bounded: counts are O(1), the minutes
-- are few, and at most 100 tombstones at the head are looked past.
-- KEYS
--   jobs         hash     the records
--   runs         hash     attempts
--   ready        list     ready jobs
--   prio         zset     ready jobs of other priorities
--   delayed      zset     delayed jobs
--   retry        zset     jobs waiting for their next try
--   working      zset     working jobs
--   dead         zset     dead jobs
--   completed    zset     completed jobs
--   flags        hash     paused, tombstones, dropped
--   stats        hash     minutes
-- ARGV
--   now_ms       ms or ""
--   queue        namespace/queue
-- REPLIES
--   ok           now paused ready delayed retry working dead completed oldest_due dropped_by_age dropped_by_count minutes
-- INCLUDES ids record run ready

-- When the job became due, or nil if it is gone or expired.
local function due_of(id)
  local raw_run = redis.call('HGET', runs, id)
  if raw_run then
    local run = unpack_run(raw_run)
    return (run.expires == 0 or run.expires > now) and run.due or nil
  end
  local raw = redis.call('HGET', jobs, id)
  if not raw then return nil end
  local _, expires, due_at = unpack_record(raw)
  return (expires == 0 or expires > now) and (due_at or id_time(id)) or nil
end

local oldest
for _, id in ipairs(redis.call('LRANGE', ready, 0, 99)) do
  oldest = due_of(id)
  if oldest then break end
end
local first = redis.call('ZRANGE', prio, 0, 0)[1]
local first_due = first and due_of(first)
if first_due then oldest = math.min(oldest or first_due, first_due) end
local marks = redis.call('HMGET', flags, 'p:' .. queue, 'a:' .. queue, 'c:' .. queue)
return {'ok', now, marks[1] and 1 or 0, ready_size(), redis.call('ZCARD', delayed),
  redis.call('ZCARD', retry), redis.call('ZCARD', working), redis.call('ZCARD', dead), redis.call('ZCARD', completed),
  oldest or -1, tonumber(marks[2] or 0), tonumber(marks[3] or 0), redis.call('HGETALL', stats)}
