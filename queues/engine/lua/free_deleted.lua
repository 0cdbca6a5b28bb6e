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
--   deleted_delayed      zset     jobs
--   deleted_retry        zset     jobs
--   deleted_expiring     zset     jobs of other keys
--   deleted_staged       zset     records without a job
--   deleted_working      zset     jobs
--   deleted_dead         zset     jobs
--   deleted_completed    zset     jobs
--   deleted_keys         hash     idempotency keys
-- ARGV
--   id           of the deletion
--   limit        jobs or idempotency keys
--   budget       bytes     of records and results
-- REPLIES
--   ok           freed more    more: 0 = nothing is left
-- INCLUDES bulk
limit, budget = tonumber(limit), tonumber(budget)

local function free_jobs(ids)
  redis.call('HDEL', deleted_jobs, unpack(ids))
  redis.call('HDEL', deleted_runs, unpack(ids))
  redis.call('HDEL', deleted_results, unpack(ids))
  redis.call('HDEL', deleted_priorities, unpack(ids))
end

for _, list in ipairs({deleted_front, deleted_ready}) do
  local ids = first_within(redis.call('LRANGE', list, 0, limit - 1), budget, deleted_jobs, deleted_results)
  if #ids > 0 then
    redis.call('LPOP', list, #ids)
    free_jobs(ids)
    return {'ok', #ids, 1}
  end
end
for _, set in ipairs({deleted_prio, deleted_delayed, deleted_retry, deleted_working, deleted_dead, deleted_completed,
  deleted_staged, deleted_expiring}) do
  local ids = first_within(redis.call('ZRANGE', set, 0, limit - 1), budget, deleted_jobs, deleted_results)
  if #ids > 0 then
    redis.call('ZREM', set, unpack(ids))
    free_jobs(ids)
    return {'ok', #ids, 1}
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
redis.call('UNLINK', deleted_jobs, deleted_runs, deleted_results, deleted_priorities)
return {'ok', 0, 0}
