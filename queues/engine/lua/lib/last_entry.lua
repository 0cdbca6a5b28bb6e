-- last_entry: id of the newest entry that the event stream has had: what is drained is gone from it. `0-0`: there was none.
local function last_entry()
  local newest = redis.call('XREVRANGE', events, '+', '-', 'COUNT', 1)[1]
  local drained = redis.call('HMGET', drain, 'last', 'done')
  return newest and newest[1] or drained[1] or drained[2] or '0-0'
end
