-- free_deleted: frees a small part of what a deleted queue held: at most `limit` jobs or idempotency keys.
-- Every job is in exactly one of the state keys, so the records are found by these, and not by a scan that reads bodies.
-- Repeating a step, or two pumps at once, only free the next part; after the last one nothing is left of the deletion.
-- KEYS
--   deletions    hash     this deletion, with the HSCAN cursor of its idempotency keys
--   deleted_jobs         hash     the records
--   deleted_runs         hash     attempts
--   deleted_results      hash     results
--   deleted_priorities   hash     priorities
--   deleted_front        list     jobs, and tombstones
--   deleted_ready        list     jobs, and tombstones
--   deleted_prio         zset     jobs
--   deleted_lines        zset     jobs, behind their places
--   deleted_turns        zset     limit keys
--   deleted_shares       hash     limit keys
--   deleted_delayed      zset     jobs
--   deleted_retry        zset     jobs
--   deleted_expiring     zset     jobs of other keys
--   deleted_staged       zset     records without a job
--   deleted_working      zset     jobs
--   deleted_dead         zset     jobs
--   deleted_completed    zset     jobs
--   deleted_blocked      zset     jobs
--   deleted_grouped      zset     jobs
--   deleted_joining      zset     jobs of another key, or gone
--   deleted_gathered     zset     the same
--   deleted_group_times  zset     groups
--   deleted_group_sizes  hash     groups
--   deleted_batches      hash     batches and their members
--   deleted_keys         hash     idempotency keys
-- ARGV
--   id           of the deletion
--   limit        jobs or idempotency keys
--   budget       bytes     of records and results
-- REPLIES
--   ok           freed more    more: 0 = nothing is left
-- INCLUDES bulk record
limit, budget = tonumber(limit), tonumber(budget)

-- Those of `ids` that this step frees. A long record has a run (lib/record.lua), so where there is neither a run nor a
-- result, lengths are not asked for, which would be a command for each job.
local function part_of(ids)
  if limit * LONG_RECORD <= budget and redis.call('EXISTS', deleted_runs, deleted_results) == 0 then return ids end
  return first_within(ids, budget, deleted_jobs, deleted_results)
end

local function free_jobs(ids)
  for _, hash in ipairs({deleted_jobs, deleted_runs, deleted_results, deleted_priorities}) do
    if redis.call('EXISTS', hash) == 1 then redis.call('HDEL', hash, unpack(ids)) end
  end
end

local function free_from_set(set, ids)
  redis.call('ZREM', set, unpack(ids))
  free_jobs(ids)
  return {'ok', #ids, 1}
end

-- First staged records, which may be long without a run, then states whose jobs have runs and results, last the lists.
if redis.call('EXISTS', deleted_staged) == 1 then
  return free_from_set(deleted_staged,
    first_within(redis.call('ZRANGE', deleted_staged, 0, limit - 1), budget, deleted_jobs))
end
for _, set in ipairs({deleted_working, deleted_dead, deleted_completed, deleted_retry, deleted_delayed, deleted_prio,
  deleted_blocked, deleted_grouped, deleted_expiring}) do
  local ids = part_of(redis.call('ZRANGE', set, 0, limit - 1))
  if #ids > 0 then return free_from_set(set, ids) end
end
local members = redis.call('ZRANGE', deleted_lines, 0, limit - 1)
if #members > 0 then
  local ids = {}
  for i, member in ipairs(members) do ids[i] = string.sub(member, -26) end
  ids = part_of(ids)
  redis.call('ZREM', deleted_lines, unpack(members, 1, #ids))
  free_jobs(ids)
  return {'ok', #ids, 1}
end
for _, list in ipairs({deleted_front, deleted_ready}) do
  local ids = part_of(redis.call('LRANGE', list, 0, limit - 1))
  if #ids > 0 then
    redis.call('LTRIM', list, #ids, -1) -- LPOP would answer with them
    free_jobs(ids)
    return {'ok', #ids, 1}
  end
end
local limit_keys = redis.call('ZRANGE', deleted_turns, 0, limit - 1)
if #limit_keys > 0 then
  redis.call('ZREM', deleted_turns, unpack(limit_keys))
  if redis.call('EXISTS', deleted_shares) == 1 then redis.call('HDEL', deleted_shares, unpack(limit_keys)) end
  return {'ok', #limit_keys, 1}
end
for _, set in ipairs({deleted_joining, deleted_gathered, deleted_group_times}) do
  local some = redis.call('ZRANGE', set, 0, limit - 1)
  if #some > 0 then
    redis.call('ZREM', set, unpack(some))
    return {'ok', #some, 1}
  end
end
for _, hash in ipairs({deleted_group_sizes, deleted_batches}) do
  local names, cursor = {}, '0'
  repeat
    local scan = redis.call('HSCAN', hash, cursor, 'COUNT', limit)
    cursor = scan[1]
    for i = 1, #scan[2], 2 do names[#names + 1] = scan[2][i] end
  until cursor == '0' or #names > 0
  if #names > 0 then
    redis.call('HDEL', hash, unpack(names))
    return {'ok', #names, 1}
  end
end
if redis.call('EXISTS', deleted_keys) == 1 then
  local scan = redis.call('HSCAN', deleted_keys, redis.call('HGET', deletions, id) or '0', 'COUNT', limit)
  local names = {}
  for i = 1, #scan[2], 2 do names[#names + 1] = scan[2][i] end
  redis.call('HDEL', deletions, id) -- first, so that a full Redis lets the HSET through
  if #names > 0 then redis.call('HDEL', deleted_keys, unpack(names)) end
  redis.call('HSET', deletions, id, scan[1])
  return {'ok', #names, 1}
end
redis.call('HDEL', deletions, id)
redis.call('UNLINK', deleted_jobs, deleted_runs, deleted_results, deleted_priorities, deleted_shares)
return {'ok', 0, 0}
