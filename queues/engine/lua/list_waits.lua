-- list_waits: what blocked jobs wait for, in name order: of one job, or of all those that are not blocked any more.
-- KEYS
--   runs         hash     has the job's idempotency key
--   keys         hash     idempotency keys
--   blocked      zset     blocked jobs
--   waits        zset     what they wait for
--   staged       zset     jobs that are being published, and will be blocked
-- ARGV
--   id           job or ""
--   key          of the job, instead of its id, or ""
--   low          without either: bounds of members, as ZRANGEBYLEX takes them; only of jobs that are not blocked
--   high         the same
--   only         "", or the state (lib/waits.lua) of those that are wanted, if the job is blocked
--   limit        members
-- REPLIES
--   ok           id is_blocked key total next member ...   is_blocked: 2: and it is a node of a workflow; next: the bound from
--                which to go on, "" at the end
-- INCLUDES record run
local its_key, is_blocked, from, to = '', 0, low, high
if key ~= '' then
  local value = redis.call('HGET', keys, key)
  id = value and string.sub(value, 7, 32) or ''
  if id == '' then return {'ok', '', 0, '', 0, ''} end
end
if id ~= '' then
  if redis.call('ZSCORE', blocked, id) then
    local raw = redis.call('HGET', runs, id)
    is_blocked, its_key = string.byte(raw, RUN_MARKS) >= DEPENDED + NODE and 2 or 1, key_of(run_options(raw))
  end
  if is_blocked == 0 then only = '' end
  from, to = '[' .. id .. '\t' .. only, only == '' and '(' .. id .. '\n' or '(' .. id .. '\t' .. only .. '\255'
end
local found = redis.call('ZRANGEBYLEX', waits, from, to, 'LIMIT', 0, limit)
local total = id ~= '' and redis.call('ZLEXCOUNT', waits, '[' .. id .. '\t', '(' .. id .. '\n') or #found
local reply = {'ok', id, is_blocked, its_key, total, #found == tonumber(limit) and '(' .. found[#found] or ''}
for _, member in ipairs(found) do
  local its_id = string.sub(member, 1, 26)
  if id ~= '' or not (redis.call('ZSCORE', blocked, its_id) or redis.call('ZSCORE', staged, its_id)) then
    reply[#reply + 1] = member
  end
end
return reply
