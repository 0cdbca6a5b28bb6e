-- write_survey: records what a survey found. What is there already is not written again, so a quiet pool costs Redis's
-- log next to nothing. The first write frees.
-- KEYS
--   survey       hash     namespace → its queues; an empty field name: about the survey as a whole
-- ARGV
--   head         "" or what is said about the survey as a whole
--   ...          namespace, its queues or "" for none; and so on
-- REPLIES
--   ok           fields   in the hash
if head ~= '' then
  redis.call('HDEL', survey, '')
  redis.call('HSET', survey, '', head)
end
for at = REST, #ARGV, 2 do
  local namespace, content = ARGV[at], ARGV[at + 1]
  if content == '' then
    redis.call('HDEL', survey, namespace)
  elseif redis.call('HGET', survey, namespace) ~= content then
    redis.call('HDEL', survey, namespace)
    redis.call('HSET', survey, namespace, content)
  end
end
return {'ok', redis.call('HLEN', survey)}
