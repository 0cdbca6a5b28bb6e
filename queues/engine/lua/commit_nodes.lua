-- commit_nodes: makes a workflow with its first nodes, or adds nodes to one, all or nothing. Their jobs are published after it.
-- A repetition changes nothing. The first write needs memory, so on a full Redis nothing at all is written.
-- KEYS
--   workflow     hash     the record (lib/workflow.lua)
--   pending      hash     has the bodies (lua/stage_nodes.lua)
--   unpublished  zset     gets the nodes
--   workflows    zset     workflows with something to do
--   index        zset     workflows of the namespace, by age
-- ARGV
--   now_ms       ms or ""
--   name         namespace/workflow
--   base         number of the workflow's nodes, which numbers of these follow; "" = it is to be made
--   digest       of the request
--   title        of a workflow that is made
--   retention    ms        for which it is kept once it has ended
--   most         nodes that it may have
--   needed       number of nodes that there are and that these depend on
--   ...          their numbers; then for each node: name; node; job id; 1 = it depends on none of these, else 0
-- REPLIES
--   ok           number    of all nodes
--   repeated               it has these nodes already
--   exists                 there is another workflow of this id
--   missing                there is none
--   changed      number    it has so many nodes now
--   ended        state     done, or cancelled
--   lost         number    a node that these depend on was deleted, or has expired
--   too_many     number    of nodes that it has
--   unstaged               the bodies are not there any more
-- INCLUDES workflow
local found = redis.call('HMGET', workflow, 'created', 'nodes', 'state', ':' .. digest, 'retention')
if found[4] then return {'repeated'} end
if base == '' then
  if found[1] then return {'exists'} end
else
  if not found[1] then return {'missing'} end
  if found[3] == 'done' or found[3] == 'cancelled' then return {'ended', found[3]} end
  if found[2] ~= base then return {'changed', tonumber(found[2])} end
end
local count, first = tonumber(base ~= '' and base or 0), REST + tonumber(needed)
for i = REST, first - 1 do
  local became = redis.call('HGET', workflow, '@' .. ARGV[i]) or ''
  if string.find(became, '^deleted\t') or string.find(became, '^expired\t') then return {'lost', tonumber(ARGV[i])} end
end
if count + (#ARGV - first + 1) / 4 > tonumber(most) then return {'too_many', count} end
local fields, places = {}, {}
-- As text: Redis turns a number into one for each node.
local ranks = {['0'] = string.format('%d', count * 2), ['1'] = string.format('%d', count * 2 + 1)}
local field_size, place_size = 0, 0
for i = first, #ARGV, 4 do
  local its_name, node, id, its_rank = ARGV[i], ARGV[i + 1], ARGV[i + 2], ARGV[i + 3]
  if redis.call('HEXISTS', pending, id) == 0 then return {'unstaged'} end
  local number = string.format('%d', count)
  fields[field_size + 1], fields[field_size + 2] = '=' .. its_name, number
  fields[field_size + 3], fields[field_size + 4] = '#' .. number, node
  places[place_size + 1], places[place_size + 2] = ranks[its_rank], number
  field_size, place_size, count = field_size + 4, place_size + 2, count + 1
end
redis.call('HSET', workflow, unpack(fields))
redis.call('ZADD', unpublished, unpack(places))
redis.call('HSET', workflow, 'nodes', count, 'changed', now, ':' .. digest, '1')
if base == '' then
  redis.call('HSET', workflow, 'name', title, 'created', now, 'retention', retention, 'done', 0, 'failed', 0)
  redis.call('ZADD', index, 0, string.format('%013.0f', now) .. string.match(name, '/.*$'))
end
refresh()
return {'ok', count}
