-- note_nodes: records what has become of nodes of a workflow. News that is known, or older than what is known, changes nothing.
-- KEYS
--   workflow     hash     the record (lib/workflow.lua)
--   pending      hash     bodies
--   unpublished  zset     the nodes
--   workflows    zset     workflows with something to do
-- ARGV
--   now_ms       ms or ""
--   name         namespace/workflow
--   ...          for each: number; outcome: "" (it is alive), done, dead, deleted or expired; as of, ms; began⇥ended⇥attempts⇥error
-- REPLIES
--   ok           changed state   nodes with another outcome than before; the workflow's state
--   missing                there is no such workflow
-- INCLUDES workflow
local record = redis.call('HMGET', workflow, 'created', 'cancelled')
if not record[1] then return {'missing'} end
local counters = {done = 'done', dead = 'failed', deleted = 'failed', expired = 'failed'}
local changed, changes = 0, {done = 0, failed = 0}
for i = REST, #ARGV, 4 do
  local number, outcome, as_of = ARGV[i], ARGV[i + 1], tonumber(ARGV[i + 2])
  if record[2] and outcome == 'deleted' then outcome = 'cancelled' end
  local known, known_as_of = string.match(redis.call('HGET', workflow, '@' .. number) or '\t0\t', '^(%l*)\t(%d+)\t')
  local is_final = known ~= '' and known ~= 'dead'
  if not is_final and as_of >= tonumber(known_as_of) and (outcome ~= known or outcome ~= '')
    and redis.call('HEXISTS', workflow, '#' .. number) == 1 then
    redis.call('HSET', workflow, '@' .. number, outcome .. '\t' .. ARGV[i + 2] .. '\t' .. ARGV[i + 3])
    if outcome ~= known then
      changed = changed + 1
      local before, after = counters[known], counters[outcome]
      if before then changes[before] = changes[before] - 1 end
      if after then changes[after] = changes[after] + 1 end
    end
  end
end
for counter, change in pairs(changes) do
  if change ~= 0 then redis.call('HINCRBY', workflow, counter, change) end
end
if changed > 0 then redis.call('HSET', workflow, 'changed', now) end
return {'ok', changed, refresh()}
