-- workflow: the record of a workflow, one hash. Jobs are its nodes, numbered from 0 in the order in which they came.
--   name, created ms, retention ms, nodes, done, failed (numbers of nodes), state, ended ms or 0, changed ms, cancelled ms,
--   task (cancel or retry: one process begins it, another one finishes it if that dies), asked (when, ms), again (ms)
--   =NAME  number of the node with this name      #N  node N, which never changes (queues/engine/operations/workflows/nodes.py)
--   @N     how it ended, once that is known: outcome⇥as of⇥began⇥ended⇥attempts⇥error; outcome: "" (alive), done, dead,
--          deleted, expired, cancelled (deleted since the workflow was)      :DIGEST  of a request whose nodes it has, so that a repetition is recognised
-- `unpublished`: nodes whose jobs are to be published, by the order in which that is done; `pending` has their bodies.
-- `workflows`: zset of the partition's workflows with something to do → when. Without something to do a workflow is not in it.
local ATTEND_AFTER_MS = 500 -- a process that begins something has this long to finish it; then the relay does
local STAGED_MS = 60000

-- Call after every change. → its state
local function refresh()
  local raw = redis.call('HMGET', workflow, 'nodes', 'done', 'failed', 'cancelled', 'state', 'retention', 'changed', 'task', 'again')
  local state = 'running'
  if raw[4] then
    state = 'cancelled'
  elseif tonumber(raw[3] or 0) > 0 then
    state = 'failed'
  elseif raw[2] == raw[1] then
    state = 'done'
  end
  if state ~= raw[5] then
    redis.call('HSET', workflow, 'state', state, 'ended', state == 'running' and 0 or now)
  end
  local at = math.huge
  if redis.call('EXISTS', unpublished) == 1 or raw[8] then at = now + ATTEND_AFTER_MS end
  if redis.call('EXISTS', pending) == 1 then at = math.min(at, now + STAGED_MS) end
  if raw[9] then at = math.min(at, tonumber(raw[9])) end
  if at == math.huge and state ~= 'running' then at = tonumber(raw[7]) + tonumber(raw[6]) end
  if at < math.huge then redis.call('ZADD', workflows, at, name) else redis.call('ZREM', workflows, name) end
  return state
end
