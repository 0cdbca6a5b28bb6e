-- dead_scan: a stretch of the dead letters that died within a span of time, newest first, each with its last error.
-- A cursor names the last one that was seen, so neither what dies later nor what leaves meanwhile makes a scan repeat or
-- skip what stayed.
-- KEYS
--   runs         hash     attempts
--   dead         zset     dead letters
-- ARGV
--   now_ms       ms or ""
--   since        ms       the first one of the span
--   before       ms       the first one behind the span, "" = no bound
--   score        ms       of the cursor, "" = from the newest
--   id           of the cursor
--   limit        jobs     0 = only count
--   budget       bytes of runs: no more are read once there were so many
-- REPLIES
--   ok           now left job ...    left: how many follow in the span; job: {id died attempt outcome consumer error}
-- INCLUDES run jobs_in_order
local start = redis.call('ZCOUNT', dead, '-inf', '(' .. since)
local stop = redis.call('ZCOUNT', dead, '-inf', before ~= '' and '(' .. before or '+inf')
if score ~= '' then
  local behind = rank_behind(dead, tonumber(score), id)
  if behind > 0 and redis.call('ZRANGE', dead, behind - 1, behind - 1)[1] == id then behind = behind - 1 end
  stop = math.min(stop, behind)
end
start = math.min(start, stop)
local first = math.max(start, stop - tonumber(limit))
local reply = {'ok', now, first - start}
local unread = tonumber(budget)
local found = stop > first and redis.call('ZRANGE', dead, first, stop - 1, 'WITHSCORES') or {}
for i = #found - 1, 1, -2 do
  if unread < 0 then
    reply[3] = reply[3] + (i + 1) / 2
    break
  end
  local raw = redis.call('HGET', runs, found[i])
  unread = unread - #(raw or '')
  local run = raw and unpack_run(raw) or {attempt = 0, history = ''}
  local outcome, consumer, error, at = 0, '', '', 1
  while at <= #run.history do
    local _
    _, _, _, outcome, consumer, error, at = struct.unpack(PAST, run.history, at)
  end
  reply[#reply + 1] = {found[i], string.format('%.0f', tonumber(found[i + 1])), run.attempt, outcome, consumer, error}
end
return reply
