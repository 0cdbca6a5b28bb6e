-- find_batch: the batch that a job is a member of, or the members of a batch.
-- KEYS
--   batches      hash     batches and their members
-- ARGV
--   ...          job ids
-- REPLIES
--   ok           value ...   for each id: `m` and the id of its batch; `b` and the ids of its members; or nothing
local reply = {'ok'}
for i = REST, #ARGV do reply[#reply + 1] = redis.call('HGET', batches, ARGV[i]) or '' end
return reply
