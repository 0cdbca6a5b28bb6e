-- add: puts new jobs into a queue (edges A and B), all or nothing; arguments as publish.lua lists them.
-- The first write needs memory, so on a full Redis nothing at all is written.
-- Scripts include ready_places or plain_ready_places before it.
-- INCLUDES ids record run ready wake due expiry_horizon keys registry events minute_counts

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
  if for_ms > 0 then expect_key_end(now + for_ms) end
end

-- Whether jobs wait for one with this key (lua/subscribe.lua).
local function is_key_awaited()
  if key == '' then return false end
  return #redis.call('ZRANGEBYLEX', dependants, '[:' .. key .. '\t', '(:' .. key .. '\n', 'LIMIT', 0, 1) > 0
end

-- Advances the replication stream. A WAIT covers a connection's last write only (since Redis 7), and the job that a
-- duplicate stands for may have been written over another one.
local function write_to_stream()
  redis.call('PEXPIRE', keys, 60000)
  redis.call('PERSIST', keys)
end

-- `sizes`: of the bodies, whose records have been staged under the same ids; else they are written. `due_at`: instead of
-- the delay. `key_is_free`: that has been looked at.
local function add_jobs(bodies, sizes, due_at, key_is_free)
  local ttl_ms, wait = tonumber(ttl), tonumber(delay)
  local due_ms = wait > 0 and now_up + wait or now
  if due_at or at ~= '' then
    due_ms = due_at or tonumber(at)
    wait = due_ms - now
  end
  local is_delayed = wait > 0
  if ttl_ms > 0 and wait > ttl_ms then return {'ttl_short'} end
  if key ~= '' and not key_is_free then
    local holder = holder_of_key()
    if holder then
      write_to_stream()
      return {'duplicate', holder}
    end
  end

  local expires = ttl_ms > 0 and now + ttl_ms or 0
  local head = pack_head(tonumber(tries), expires, is_delayed and due_ms or nil, options)
  local prefix = time_part() .. random
  local line_middle = is_delayed and '\t\t' .. wait .. '\t\t' or '\t\t\t\t'
  local line_end, size = '', -1
  local count, before_first = sizes and #sizes or #bodies, counter - 1
  local ids, records, new_runs, its_run = {'ok'}, {}, nil, nil
  local is_awaited = is_key_awaited()
  for i = 1, count do
    local id = prefix .. counter_part(before_first + i)
    ids[i + 1] = id
    local its_size = sizes and tonumber(sizes[i]) or #bodies[i]
    if not sizes then records[2 * i - 1], records[2 * i] = id, head .. bodies[i] end
    if its_size > LONG_RECORD - #head or is_awaited then
      new_runs = new_runs or {}
      its_run = its_run or struct.pack(RUN, 0, 0, tries, is_awaited and DEPENDED or 0, expires, due_ms, 0, #options, options, 0, '')
      new_runs[#new_runs + 1] = id
      new_runs[#new_runs + 1] = its_run
    end
    if its_size ~= size then
      size = its_size
      line_end = line_middle .. string.format('%d\t\t', size)
    end
    emit_line('published\t' .. id .. line_end)
  end
  if not sizes then redis.call('HSET', jobs, unpack(records)) end
  if new_runs then redis.call('HSET', runs, unpack(new_runs)) end
  if key ~= '' then hold_key(ids[2]) end
  local horizon = expires > 0 and expect_expiry(expires, due_ms, ids, 2)
  if horizon then expect_scan(horizon, redis.call('HLEN', jobs), #ids) end
  if not (sizes or horizon) then enrol(count) end
  place_new(ids, is_delayed, sizes)
  if is_delayed then
    local members = {}
    for i = 1, count do members[2 * i - 1], members[2 * i] = due_ms, ids[i + 1] end
    redis.call('ZADD', delayed, unpack(members))
    expect_due(due_ms)
  else
    wake_ready(count)
  end
  count_stat('p', count)
  return ids
end
