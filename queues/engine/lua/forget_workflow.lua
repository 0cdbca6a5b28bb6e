-- forget_workflow: drops the record of a workflow, some at a time. From the first call on there is no such workflow.
-- KEYS
--   workflow     hash     the record (lib/workflow.lua)
--   pending      hash     bodies
--   unpublished  zset     nodes that are to be published
--   workflows    zset     workflows with something to do
--   index        zset     workflows of the namespace, by age
-- ARGV
--   name         namespace/workflow
--   limit        fields, about
-- REPLIES
--   ok           left      fields
local created = redis.call('HGET', workflow, 'created')
if created then
  redis.call('HDEL', workflow, 'created')
  redis.call('ZREM', index, string.format('%013.0f', created) .. string.match(name, '/.*$'))
  redis.call('DEL', unpublished)
end
local found = redis.call('HSCAN', workflow, '0', 'COUNT', limit)[2]
local fields = {}
for i = 1, #found, 2 do fields[#fields + 1] = found[i] end
for i = 1, #fields, 1000 do redis.call('HDEL', workflow, unpack(fields, i, math.min(i + 999, #fields))) end
local left = redis.call('HLEN', workflow)
if left == 0 and redis.call('EXISTS', pending) == 0 then redis.call('ZREM', workflows, name) end
return {'ok', left}
