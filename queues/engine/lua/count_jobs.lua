-- count_jobs: jobs of one queue by state. Exact, O(1).
-- KEYS
--   ready        list     ready jobs
--   front        list     goes before `ready`
--   prio         zset     ready jobs of other priorities
--   delayed      zset     delayed jobs
--   retry        zset     jobs waiting for their next try
--   working      zset     working jobs
--   dead         zset     dead jobs
--   completed    zset     completed jobs
--   flags        hash     tombstones
--   blocked      zset     jobs that wait for others
--   lines        zset     ready jobs with limit keys
-- ARGV
--   queue        namespace/queue
-- REPLIES
--   ok           ready delayed retry working dead completed blocked
-- INCLUDES ready
return {'ok', ready_size(), redis.call('ZCARD', delayed), redis.call('ZCARD', retry), redis.call('ZCARD', working),
  redis.call('ZCARD', dead), redis.call('ZCARD', completed), redis.call('ZCARD', blocked)}
