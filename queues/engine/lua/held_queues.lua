-- held_queues: names of this partition's queues that hold a job with an end (of a lease or a retention), the earliest first.
-- KEYS
--   ends         zset     index of lease and retention ends
-- ARGV
--   limit        queues
-- REPLIES
--   ok           name ...
return {'ok', unpack(redis.call('ZRANGE', ends, 0, limit - 1))}
