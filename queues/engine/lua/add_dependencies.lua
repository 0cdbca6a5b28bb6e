-- add_dependencies: has an open job (lib/waits.lua) wait for more jobs. All or nothing; repeating it changes nothing.
-- The first write needs memory, so on a full Redis nothing is written.
-- KEYS
--   jobs         hash     whether there is such a job
--   blocked      zset     whether it is blocked
--   waits        zset     what it waits for
--   outgoing     zset     messages to other partitions
-- ARGV
--   now_ms       ms or ""
--   queue        namespace/queue
--   id           job
--   most         dependencies of one job
--   ...          dependencies, QUEUE/JOB_ID or QUEUE:KEY
-- REPLIES
--   ok           added total   new ones among these; all that the job waits for now
--   closed                 the job is not open any more, or never was
--   missing                there is no such job
--   full                   it would wait for more than `most`, and some of these are new
-- INCLUDES waits
local mark = redis.call('ZSCORE', blocked, id) and open_mark(id)
if not mark then return {redis.call('HEXISTS', jobs, id) == 1 and 'closed' or 'missing'} end
local head, wait, known = id .. '\t', string.sub(mark, -1), {}
for i = REST, #ARGV do
  local text = wait .. ARGV[i]
  known[#known + 1] = head .. '?' .. text
  known[#known + 1] = head .. '+' .. text
  known[#known + 1] = head .. '-' .. text
end
local scores, fresh = redis.call('ZMSCORE', waits, unpack(known)), {}
for i = 1, #known, 3 do
  if not (scores[i] or scores[i + 1] or scores[i + 2]) then
    fresh[#fresh + 1] = 0
    fresh[#fresh + 1] = known[i]
  end
end
local added, total = #fresh / 2, redis.call('ZLEXCOUNT', waits, '[' .. head, '(' .. id .. '\n') - 1
if added > 0 and total + added > tonumber(most) then return {'full'} end
if added > 0 then
  redis.call('ZADD', waits, unpack(fresh))
  write_outgoing(added_message(id))
end
return {'ok', added, total + added}
