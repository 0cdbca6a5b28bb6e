-- destroy: drops a queue with all its jobs, in every state, and its idempotency keys. A pause stays: a person set it.
-- The queue is empty at once: its large keys are renamed, which takes no longer for a million jobs than for one. What they
-- hold is freed in small steps (free_deleted.lua), since freeing it at once, even in a thread of Redis's, can stop Redis.
-- The first write frees or renames, so this works on a full Redis.
-- KEYS
--   jobs         hash     renamed
--   runs         hash     renamed
--   results      hash     renamed
--   priorities   hash     renamed
--   front        list     renamed
--   ready        list     renamed
--   prio         zset     renamed
--   lines        zset     renamed
--   turns        zset     renamed
--   shares       hash     renamed
--   delayed      zset     renamed
--   retry        zset     renamed
--   expiring     zset     renamed
--   staged       zset     renamed
--   working      zset     renamed
--   dead         zset     renamed
--   completed    zset     renamed
--   blocked      zset     renamed
--   grouped      zset     renamed
--   joining      zset     renamed
--   gathered     zset     renamed
--   group_times  zset     renamed
--   group_sizes  hash     renamed
--   batches      hash     renamed
--   keys         hash     renamed
--   stats        hash     dropped
--   trend        hash     dropped
--   trimmed      hash     dropped
--   sweeps       zset     when the sweeper has work
--   active       zset     queues with counts in `stats`
--   flags        hash     tombstones
--   due          zset     index of due times
--   ends         zset     index of lease ends
--   flushes      zset     index of groups
--   queues       zset     the registry
--   events       stream   transitions
--   counters     hash     dropped events
--   deletions    hash     deletions to be freed
--   deleted_jobs         hash     what the keys above are renamed to
--   deleted_runs         hash     the same
--   deleted_results      hash     the same
--   deleted_priorities   hash     the same
--   deleted_front        list     the same
--   deleted_ready        list     the same
--   deleted_prio         zset     the same
--   deleted_lines        zset     the same
--   deleted_turns        zset     the same
--   deleted_shares       hash     the same
--   deleted_delayed      zset     the same
--   deleted_retry        zset     the same
--   deleted_expiring     zset     the same
--   deleted_staged       zset     the same
--   deleted_working      zset     the same
--   deleted_dead         zset     the same
--   deleted_completed    zset     the same
--   deleted_blocked      zset     the same
--   deleted_grouped      zset     the same
--   deleted_joining      zset     the same
--   deleted_gathered     zset     the same
--   deleted_group_times  zset     the same
--   deleted_group_sizes  hash     the same
--   deleted_batches      hash     the same
--   deleted_keys         hash     the same
--   waits        zset     what its jobs waited for, which is told later
--   dependants   zset     jobs that depend on its jobs: they are told later
--   outgoing     zset     gets that they are to be told
-- ARGV
--   now_ms       ms or ""
--   queue        namespace/queue
--   cap          bytes     the event stream's
--   id           of this deletion, never used before
-- REPLIES
--   ok           count     jobs that were dropped
-- INCLUDES events ids outgoing
local count = redis.call('HLEN', jobs) - redis.call('ZCARD', staged)
local alive = count - redis.call('ZCARD', dead) - redis.call('ZCARD', completed)
local new_names = {
  [jobs] = deleted_jobs, [runs] = deleted_runs, [results] = deleted_results, [priorities] = deleted_priorities,
  [front] = deleted_front, [ready] = deleted_ready, [prio] = deleted_prio, [delayed] = deleted_delayed,
  [retry] = deleted_retry, [working] = deleted_working, [dead] = deleted_dead, [completed] = deleted_completed,
  [staged] = deleted_staged, [expiring] = deleted_expiring, [lines] = deleted_lines, [turns] = deleted_turns, [shares] = deleted_shares,
  [keys] = deleted_keys, [blocked] = deleted_blocked, [grouped] = deleted_grouped, [joining] = deleted_joining,
  [gathered] = deleted_gathered, [group_times] = deleted_group_times, [group_sizes] = deleted_group_sizes,
  [batches] = deleted_batches,
}
local holds_anything = false
for key, new_name in pairs(new_names) do
  if redis.call('EXISTS', key) == 1 then
    redis.call('RENAME', key, new_name)
    holds_anything = true
  end
end
if holds_anything then redis.call('HSET', deletions, id, '0') end
redis.call('DEL', stats, trend, trimmed)
-- Ids of the jobs that were dropped are less than this.
now = now + 1
local bound = time_part()
now = now - 1
if redis.call('EXISTS', waits) == 1 then write_outgoing('left\t' .. queue .. '\t' .. bound) end
if redis.call('EXISTS', dependants) == 1 then write_outgoing('lost\t' .. queue .. '\t' .. bound) end
redis.call('HDEL', flags, 't:' .. queue, 'h:' .. queue, 's:' .. queue, 'k:' .. queue, 'l:' .. queue)
redis.call('ZREM', sweeps, queue)
redis.call('ZREM', due, queue)
redis.call('ZREM', ends, queue)
redis.call('ZREM', flushes, queue)
redis.call('ZREM', active, queue)
if redis.call('HEXISTS', flags, 'p:' .. queue) == 0 then redis.call('ZREM', queues, queue) end
if count > 0 then emit_line('destroyed\t\t' .. alive .. '\t\t\t' .. count .. '\t\t') end
flush_events()
return {'ok', count}
