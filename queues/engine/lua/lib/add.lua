-- add: puts new jobs into a queue (edges A and B), all or nothing. `K`: keys, `A`: arguments as publish.lua lists them.
-- The first write needs memory, so on a full Redis nothing at all is written.
-- INCLUDES ids record ready wake due registry events stats
local function add_jobs(K, A, now, bodies)
  local ttl, tries, priority, counter = tonumber(A.ttl), tonumber(A.tries), tonumber(A.priority), tonumber(A.counter)
  local due_ms = A.at ~= '' and tonumber(A.at) or now + tonumber(A.delay)
  local is_delayed = due_ms > now
  if ttl > 0 and is_delayed and due_ms - now > ttl then return {'ttl_short'} end

  if A.key ~= '' then
    local held = redis.call('HGET', K.keys, A.key)
    if held then
      local expires, id = struct.unpack('>I6c26', held)
      if expires == 0 or expires > now then return {'duplicate', id} end
    end
  end

  local head = pack_head(tries, ttl > 0 and now + ttl or 0, is_delayed and due_ms or nil, A.options)
  local prefix = base32(now, 10) .. A.random
  local count = #bodies
  local ids, records = {'ok'}, {}
  for i = 1, count do
    local id = prefix .. base32(counter + i - 1, 3)
    ids[i + 1] = id
    records[2 * i - 1], records[2 * i] = id, head .. bodies[i]
    emit('published', id, '', is_delayed and due_ms - now or '', '', #bodies[i], '', '')
  end
  redis.call('HSET', K.jobs, unpack(records))
  if A.key ~= '' then
    local key_ttl = tonumber(A.key_ttl)
    redis.call('HSET', K.keys, A.key, struct.pack('>I6c26', key_ttl > 0 and now + key_ttl or 0, ids[2]))
  end
  if priority ~= 0 then
    for i = 2, count + 1 do redis.call('HSET', K.priorities, ids[i], priority) end
  end
  enrol(K.queues, K.jobs, A.queue, count)
  if is_delayed then
    local members = {}
    for i = 1, count do members[2 * i - 1], members[2 * i] = due_ms, ids[i + 1] end
    redis.call('ZADD', K.delayed, unpack(members))
    if lower_index(K.due, A.queue, due_ms) then wake_due(K.waiting, A.channel, A.queue, due_ms, now) end
  else
    if priority == 0 then
      redis.call('RPUSH', K.ready, unpack(ids, 2))
    else
      for i = 2, count + 1 do put_ready(K.ready, K.prio, ids[i], priority, now) end
    end
    wake_ready(K.waiting, A.channel, A.queue, count, now)
  end
  count_stat(K.stats, now, 'p', count)
  return ids
end
