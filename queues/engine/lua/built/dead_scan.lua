--{"name": "dead_scan", "purpose": "a stretch of the dead letters that died within a span of time, newest first, each with its last error.", "keys": ["runs", "dead"], "args": ["now_ms", "since", "before", "score", "id", "limit", "budget"], "rest": false, "replies": ["ok"]}
local now = tonumber(ARGV[1])
local now_up = now
if not now then
 local time = redis.call('TIME')
 now = time[1] * 1000 + math.floor(time[2] / 1000)
 now_up = now + 1
end
local function unpack_run(raw)
 local attempt, used, tries, marks, expires, due_ms, taken, options, consumer, at = struct.unpack('>I4HHBI6I6I6Hc0Bc0', raw)
 return {
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
  history = string.sub(raw, at),
 }
end
local start = redis.call('ZCOUNT', KEYS[2], '-inf', '(' .. ARGV[2])
local stop = redis.call('ZCOUNT', KEYS[2], '-inf', ARGV[3] ~= '' and '(' .. ARGV[3] or '+inf')
if ARGV[4] ~= '' then
 local behind
 do
  local set, score = KEYS[2], tonumber(ARGV[4])
  local text = string.format('%.0f', score)
  local low, high = redis.call('ZCOUNT', set, '-inf', '(' .. text), redis.call('ZCOUNT', set, '-inf', text)
  while low < high do
   local middle = math.floor((low + high) / 2)
   if redis.call('ZRANGE', set, middle, middle)[1] > ARGV[5] then
    high = middle
   else
    low = middle + 1
   end
  end
  behind = low
 end
 if behind > 0 and redis.call('ZRANGE', KEYS[2], behind - 1, behind - 1)[1] == ARGV[5] then
  behind = behind - 1
 end
 stop = math.min(stop, behind)
end
start = math.min(start, stop)
local first = math.max(start, stop - tonumber(ARGV[6]))
local reply = {
 'ok',
 now,
 first - start,
}
local unread = tonumber(ARGV[7])
local found = stop > first and redis.call('ZRANGE', KEYS[2], first, stop - 1, 'WITHSCORES') or {
}
for i = #found - 1, 1, -2 do
 if unread < 0 then
  reply[3] = reply[3] + (i + 1) / 2
  break
 end
 local raw_2 = redis.call('HGET', KEYS[1], found[i])
 unread = unread - #(raw_2 or '')
 local run = raw_2 and unpack_run(raw_2) or {
  attempt = 0,
  history = '',
 }
 local outcome, consumer_2, error, at_2 = 0, '', '', 1
 while at_2 <= #run.history do
  local _
  _, _, _, outcome, consumer_2, error, at_2 = struct.unpack('>I4I6I6BBc0Hc0', run.history, at_2)
 end
 reply[#reply + 1] = {
  found[i],
  string.format('%.0f', tonumber(found[i + 1])),
  run.attempt,
  outcome,
  consumer_2,
  error,
 }
end
return reply
