-- add: puts new jobs into a queue (edges A and B), all or nothing; arguments as publish.lua lists them.
-- The first write needs memory, so on a full Redis nothing at all is written.
-- INCLUDES ids record ready wake due registry events stats

-- The job that holds the idempotency key, or nil.
local function holder_of_key()
  local held = redis.call('HGET', keys, key)
  if not held then return nil end
  local expires, id = struct.unpack('>I6c26', held)
  return (expires == 0 or expires > now) and id or nil
end

local function hold_key(id)
  local for_ms = tonumber(key_ttl)
  redis.call('HSET', keys, key, struct.pack('>I6c26', for_ms > 0 and now + for_ms or 0, id))
end

-- Advances the replication stream. A WAIT covers a connection's last write only (since Redis 7), and the job that a
-- duplicate stands for may have been written over another one.
local function write_to_stream()
  redis.call('PEXPIRE', keys, 60000)
  redis.call('PERSIST', keys)
end

local function add_jobs(bodies)
  local ttl_ms, wait = tonumber(ttl), tonumber(delay)
  if at ~= '' then wait = tonumber(at) - now end
  local is_delayed = wait > 0
  if ttl_ms > 0 and wait > ttl_ms then return {'ttl_short'} end
  if key ~= '' then
    local holder = holder_of_key()
    if holder then
      write_to_stream()
      return {'duplicate', holder}
    end
  end

  local due_ms = now + wait
  local head = pack_head(tonumber(tries), ttl_ms > 0 and now + ttl_ms or 0, is_delayed and due_ms or nil, options)
  local prefix = time_part() .. random
  local line_middle = is_delayed and '\t\t' .. wait .. '\t\t' or '\t\t\t\t'
  local line_end, size = '', -1
  local count, before_first = #bodies, counter - 1
  local ids, records = {'ok'}, {}
  for i = 1, count do
    local id, body = prefix .. counter_part(before_first + i), bodies[i]
    ids[i + 1] = id
    records[2 * i - 1], records[2 * i] = id, head .. body
    if #body ~= size then
      size = #body
      line_end = line_middle .. string.format('%d\t\t', size)
    end
    emit_line('published\t' .. id .. line_end)
  end
  redis.call('HSET', jobs, unpack(records))
  if key ~= '' then hold_key(ids[2]) end
  enrol(count)
  local its_priority = tonumber(priority)
  if its_priority ~= 0 then
    for i = 2, count + 1 do redis.call('HSET', priorities, ids[i], priority) end
  end
  if is_delayed then
    local members = {}
    for i = 1, count do members[2 * i - 1], members[2 * i] = due_ms, ids[i + 1] end
    redis.call('ZADD', delayed, unpack(members))
    expect_due(due_ms)
  else
    if its_priority == 0 then
      redis.call('RPUSH', ready, unpack(ids, 2))
    else
      for i = 2, count + 1 do put_ready(ids[i], its_priority) end
    end
    wake_ready(count)
  end
  count_stat('p', count)
  return ids
end
