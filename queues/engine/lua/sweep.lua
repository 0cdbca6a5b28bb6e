-- sweep: one step of a scan through a queue's records; deletes expired jobs (edge N) and expired idempotency keys.
-- HSCAN has to hand over whole records, so `count` adapts: about `budget` bytes a step, whatever the size of bodies.
-- The place is kept in Redis, so several sweepers share one scan; two at once merely look at the same step twice.
-- KEYS
--   jobs         hash     scanned
--   runs         hash     expiry after the first hand-out
--   ready        list     its tombstones
--   prio         zset     where it may be
--   priorities   hash     of the job
--   delayed      zset     where it may be
--   retry        zset     where it may be
--   working      zset     a working job does not expire
--   dead         zset     a dead job does not expire
--   completed    zset     a completed job goes by its retention
--   keys         hash     scanned when the records are done
--   flags        hash     tombstones
--   due          zset     index of due times
--   ends         zset     index of lease ends
--   queues       zset     the registry
--   stats        hash     minutes
--   active       zset     who has counts
--   events       stream   transitions
--   counters     hash     the sweep's place
-- ARGV
--   now_ms       ms or ""
--   queue        namespace/queue
--   cap          bytes    the event stream's
--   cursor       of HSCAN: "0" to begin; `k` before it: among the idempotency keys
--   count        records to ask for
--   budget       bytes
-- REPLIES
--   ok           expired keys seen    jobs and keys deleted, records looked at
-- INCLUDES record run ready registry events stats remove
count, budget = tonumber(count), tonumber(budget) -- become numbers
local COUNT_MAX = 500
local expired, dropped, seen, bytes = 0, 0, 0, 0
local next_cursor

local function expire(id, attempt)
  drop_records({id})
  if redis.call('ZREM', delayed, id) + redis.call('ZREM', retry, id) + redis.call('ZREM', prio, id) == 0 then
    count_tombstones(1)
  end
  expired = expired + 1
  emit('expired', id, attempt, '', '', '')
end

local in_keys = string.sub(cursor, 1, 1) == 'k'
if not in_keys then
  local scan = redis.call('HSCAN', jobs, cursor, 'COUNT', count)
  for i = 1, #scan[2], 2 do
    local id, raw = scan[2][i], scan[2][i + 1]
    seen = seen + 1
    bytes = bytes + #raw
    local _, expires = unpack_record(raw)
    local raw_run = redis.call('HGET', runs, id)
    local attempt = ''
    if raw_run then
      local run = unpack_run(raw_run)
      expires, attempt = run.expires, run.attempt
    end
    if expires > 0 and expires <= now and not (raw_run and (redis.call('ZSCORE', working, id)
      or redis.call('ZSCORE', dead, id) or redis.call('ZSCORE', completed, id))) then
      expire(id, attempt)
    end
  end
  next_cursor = scan[1] == '0' and 'k0' or scan[1]
else
  local scan = redis.call('HSCAN', keys, string.sub(cursor, 2), 'COUNT', COUNT_MAX)
  for i = 1, #scan[2], 2 do
    local expires = struct.unpack('>I6', scan[2][i + 1])
    if expires > 0 and expires <= now then
      redis.call('HDEL', keys, scan[2][i])
      dropped = dropped + 1
    end
  end
  next_cursor = scan[1] == '0' and '0' or 'k' .. scan[1]
end
if expired > 0 then count_stat('x', expired) end
if expired + dropped > 0 or seen == 0 then forget_if_empty() end
if seen > 0 then count = math.max(1, math.min(COUNT_MAX, math.floor(count * budget / math.max(bytes, 1)), count * 2)) end
redis.call('HDEL', counters, 'sweep_queue') -- first, so that a full Redis lets the next one through
redis.call('HSET', counters, 'sweep_queue', queue, 'sweep_cursor', next_cursor, 'sweep_count', count)
flush_events()
return {'ok', expired, dropped, seen}
