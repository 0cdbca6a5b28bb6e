-- list_workflows: a page of the workflows of a namespace in one partition, the newest first.
-- KEYS
--   index        zset     workflows of the namespace, by age
-- ARGV
--   before       bound, as ZREVRANGEBYLEX takes it
--   limit        workflows
-- REPLIES
--   ok           member ...   created, 13 digits, a slash and the id
return {'ok', unpack(redis.call('ZREVRANGEBYLEX', index, before, '-', 'LIMIT', 0, limit))}
