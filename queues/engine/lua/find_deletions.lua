-- find_deletions: ids of deletions whose memory is to be freed, some at random: so several pumps rarely choose the same.
-- KEYS
--   deletions    hash     deletions to be freed
-- ARGV
--   limit        ids
-- REPLIES
--   ok id ...
return {'ok', unpack(redis.call('HRANDFIELD', deletions, limit))}
