--{"name": "node_facts", "purpose": "states and outcomes of many jobs at once, without bodies and results.", "keys": ["jobs", "runs", "delayed", "retry", "working", "dead", "completed", "blocked"], "args": ["now_ms"], "rest": true, "replies": ["ok"]}
local now = tonumber(ARGV[1])
local now_up = now
if not now then
 local time = redis.call('TIME')
 now = time[1] * 1000 + math.floor(time[2] / 1000)
 now_up = now + 1
end
local ids, reply = {
 unpack(ARGV, 2),
}, {
 'ok',
 now,
}
local raw_runs = redis.call('HMGET', KEYS[2], unpack(ids))
local scores = {
}
for name, set in pairs({
 working = KEYS[5],
 dead = KEYS[6],
 completed = KEYS[7],
 blocked = KEYS[8],
 delayed = KEYS[3],
 retry = KEYS[4],
}) do
 if redis.call('EXISTS', set) == 1 then
  scores[name] = redis.call('ZMSCORE', set, unpack(ids))
 end
end
local function newest_error(history)
 local at, error = 1, ''
 while at <= #history do
  local _, __2, __3, __4, __5, its_error, after = struct.unpack('>I4I6I6BBc0Hc0', history, at)
  at, error = after, its_error
 end
 return string.sub(error, 1, 200)
end
for i, id in ipairs(ids) do
 local state, score = 'ready', nil
 for name_2, its in pairs(scores) do
  if its[i] then
   state, score = name_2, tonumber(its[i])
  end
 end
 if raw_runs[i] then
  local run
  do
   local raw = raw_runs[i]
   local attempt, used, tries, marks, expires, due_ms, taken, options, consumer, at_2 = struct.unpack('>I4HHBI6I6I6Hc0Bc0', raw)
   run = {
    attempt = attempt,
    used = used,
    tries = tries,
    marks = marks % 4,
    depended = marks - marks % 4,
    expires = expires,
    due = due_ms,
    taken = taken,
    options = options,
    consumer = consumer,
    history = string.sub(raw, at_2),
   }
  end
  local ended = 0
  if state == 'dead' then
   ended = score
  end
  if state == 'completed' then
   local unpack_options
   repeat
    local options_2 = run.options
    if options_2 == '' then
     unpack_options = 0, 0, 0, 0
     break
    end
    unpack_options = struct.unpack('>I6BI6I6', options_2)
   until true
   ended = score - unpack_options
  end
  reply[#reply + 1] = {
   state,
   run.attempt,
   run.taken,
   ended,
   newest_error(run.history),
  }
 else
  reply[#reply + 1] = {
   redis.call('HEXISTS', KEYS[1], id) == 1 and state or 'gone',
   0,
   0,
   0,
   '',
  }
 end
end
return reply
