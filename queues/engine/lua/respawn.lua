-- respawn: makes dead letters ready again with one more try and a new ttl (edge L): the oldest `limit`, or those named.
-- KEYS
--   runs         hash     attempts
--   ready        list     where they go
--   prio         zset     the same, other priorities
--   priorities   hash     of these jobs
--   expiring     zset     which waiting jobs expire soon
--   dead         zset     where they come from
--   flags        hash     the horizon of expiry
--   sweeps       zset     when the sweeper has work
--   waiting      zset     queues on which consumers wait
--   events       stream   transitions
--   counters     hash     dropped events
--   lines        zset     ready jobs with limit keys
--   turns        zset     limit keys with ready jobs
--   shares       hash     what each limit key has had
--   outgoing     zset     gets what a workflow has to learn
-- ARGV
--   now_ms       ms or ""
--   queue        namespace/queue
--   channel      of the partition's wake-ups
--   cap          bytes    the event stream's
--   ttl          ms        0 = never expires
--   limit        jobs      0 = those named
--   ...          job ids
-- REPLIES
--   ok           count left   left: dead letters that remain
-- INCLUDES run ready_places wake expiry_horizon events outgoing
local ttl_ms, most = tonumber(ttl), tonumber(limit)
local ids = {}
if most > 0 then
  ids = redis.call('ZRANGE', dead, 0, most - 1)
else
  for i = REST, #ARGV do ids[#ids + 1] = ARGV[i] end
end
local count = 0
for _, id in ipairs(ids) do
  if redis.call('ZREM', dead, id) == 1 then
    count = count + 1
    local run = unpack_run(redis.call('HGET', runs, id))
    run.tries, run.due, run.expires = run.used + 1, now, ttl_ms > 0 and now + ttl_ms or 0
    redis.call('HSET', runs, id, pack_run(run))
    put_ready(id, place_of(id))
    if ttl_ms > 0 then expect_expiry(run.expires, now, {id}, 1) end
    if run.depended > 0 then note_ended(id, 'respawned', run.options) end
    emit('respawned', id, run.attempt, '', '', '')
  end
end
if count > 0 then wake_ready(count) end
flush_events()
return {'ok', count, redis.call('ZCARD', dead)}
