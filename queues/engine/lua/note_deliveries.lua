-- note_deliveries: keeps the latest deliveries of a push endpoint, and counts them. Expires by itself.
-- KEYS
--   push_recent    list     records of deliveries, the newest first
--   push_failures  list     those of them that failed, the newest first
--   push_health    hash     `delivered`, `failed`, `returned` → how many; `ok_at`, `failed_at` → ms; `streak` → failures since the last success
-- ARGV
--   now_ms       ms or ""
--   keep         ms       until all is forgotten
--   most         records  of each list
--   delivered    number   that succeeded since the call before
--   failed       number   that failed
--   returned     number   of jobs given back without an outcome
--   streak       number   of failures after the last success among them
--   ...          1 = failed, record, 1 = failed, record, ... the oldest first
-- REPLIES
--   ok
for i = REST, #ARGV, 2 do
  redis.call('LPUSH', push_recent, ARGV[i + 1])
  if ARGV[i] == '1' then redis.call('LPUSH', push_failures, ARGV[i + 1]) end
end
redis.call('LTRIM', push_recent, 0, most - 1)
redis.call('LTRIM', push_failures, 0, most - 1)
if tonumber(delivered) > 0 then redis.call('HSET', push_health, 'ok_at', string.format('%.0f', now), 'streak', 0) end
if tonumber(failed) > 0 then redis.call('HSET', push_health, 'failed_at', string.format('%.0f', now)) end
redis.call('HINCRBY', push_health, 'delivered', delivered)
redis.call('HINCRBY', push_health, 'failed', failed)
redis.call('HINCRBY', push_health, 'returned', returned)
redis.call('HINCRBY', push_health, 'streak', streak)
for _, key in ipairs({push_recent, push_failures, push_health}) do redis.call('PEXPIRE', key, keep) end
return {'ok'}
