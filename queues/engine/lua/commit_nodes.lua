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
--   added        number of these
--   ...          the numbers of the former; then as Redis takes it, so that nothing has to be made of it here: of each node
--                `=NAME` number `#NUMBER` node; of each its rank (2 * base, 1 more if it depends on none of these) and number;
--                of each its job's id
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
local places = first + 4 * added
local ids = places + 2 * added
for i = REST, first - 1 do
  local became = redis.call('HGET', workflow, '@' .. ARGV[i]) or ''
  if string.find(became, '^deleted\t') or string.find(became, '^expired\t') then return {'lost', tonumber(ARGV[i])} end
end
if count + added > tonumber(most) then return {'too_many', count} end
for i = ids, #ARGV do
  if redis.call('HEXISTS', pending, ARGV[i]) == 0 then return {'unstaged'} end
end
count = count + added
redis.call('HSET', workflow, unpack(ARGV, first, places - 1))
redis.call('ZADD', unpublished, unpack(ARGV, places, ids - 1))
redis.call('HSET', workflow, 'nodes', count, 'changed', now, ':' .. digest, '1')
if base == '' then
  redis.call('HSET', workflow, 'name', title, 'created', now, 'retention', retention, 'done', 0, 'failed', 0)
  redis.call('ZADD', index, 0, string.format('%013.0f', now) .. string.match(name, '/.*$'))
end
refresh()
return {'ok', count}
