-- sweep: one visit to a queue: deletes jobs that have expired (edge N), looks which ones expire next, takes tombstones
-- out of the ready list, and drops expired idempotency keys; some of one kind in each call.
-- `sweeps` then says when the queue has work again: a queue that nothing expires in is not visited.
-- KEYS
--   jobs         hash     the records
--   runs         hash     expiry after the first delivery
--   ready        list     where they may be; its tombstones
--   front        list     its first part, while tombstones are taken out
--   prio         zset     where they may be
--   priorities   hash     of the jobs
--   delayed      zset     where they may be
--   retry        zset     where they may be
--   expiring     zset     which jobs expire before the horizon
--   staged       zset     records whose publish has not come
--   keys         hash     idempotency keys
--   flags        hash     tombstones, the horizon, places
--   due          zset     index of due times
--   ends         zset     index of lease ends
--   sweeps       zset     set to the true next time
--   queues       zset     the registry
--   stats        hash     minutes
--   active       zset     queues with counts in `stats`
--   events       stream   transitions
--   counters     hash     events held and dropped
--   blocked      zset     where it may be
--   waits        zset     what jobs that were never published would have waited for
--   outgoing     zset     gets messages to the jobs that depend on it
--   lines        zset     ready jobs with limit keys
--   turns        zset     limit keys with ready jobs
--   shares       hash     what each limit key has had
-- ARGV
--   now_ms       ms or ""
--   queue        namespace/queue
--   cap          bytes     the event stream's
--   expire       jobs      that are deleted at the most
--   look         jobs      or entries that are looked at
-- REPLIES
--   ok           expired keys more    jobs and keys deleted; 1: there is more to do now
-- INCLUDES registry events minute_counts expiry_horizon delete_expired compact scan keys due staged_records fair
local TOMBSTONES_AGAIN_MS = 10000
local function next_scan() return tonumber(redis.call('HGET', flags, 'h:' .. queue) or nil) end
local function is_scanning() return redis.call('HEXISTS', flags, 's:' .. queue) == 1 end

local expired, is_more = expire_known(tonumber(expire))
if expired == 0 then
  local horizon = next_scan()
  -- One at a time: a scan would lose its place if tombstones were taken out.
  if is_scanning() or (horizon and scan_at(horizon, redis.call('HLEN', jobs)) <= now and redis.call('EXISTS', front) == 0) then
    scan(tonumber(look))
    expired, is_more = expire_known(tonumber(expire))
  elseif should_compact() then
    compact(tonumber(look))
  end
end
if expired > 0 then forget_if_empty() end
local dropped, next_at = sweep_keys()
if dropped > 0 then forget_if_empty() end

local function visit_at(ms) if ms then next_at = math.min(next_at or ms, ms) end end
visit_at((is_more or is_scanning() or should_compact()) and now or nil)
visit_at(head_score(expiring))
visit_at(unstage_stale())
visit_at(forget_shares(tonumber(look)))
local horizon = next_scan()
visit_at(horizon and scan_at(horizon, redis.call('HLEN', jobs)))
visit_at(count_tombstones_left() > TOMBSTONES_MAX and now + TOMBSTONES_AGAIN_MS or nil)
redis.call('ZREM', sweeps, queue) -- first, so that a full Redis lets the ZADD through
if next_at then schedule_sweep(next_at) end
flush_events()
return {'ok', expired, dropped, next_at and next_at <= now and 1 or 0}
