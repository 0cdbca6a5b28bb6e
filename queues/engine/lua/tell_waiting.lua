-- tell_waiting: notes which consumers wait at a web process, and drops what other processes said too long ago.
-- KEYS
--   tellers      zset     process → time of its latest word
--   told         hash     process → its record
-- ARGV
--   now_ms       ms or ""
--   process      id of the process
--   record       bytes    what it says; "" = nobody waits there any more
--   forget       ms       after which nothing is known of a process any more
--   most         processes
-- REPLIES
--   ok           kept     number of processes that are known
-- INCLUDES heard
hear(tellers, told, process, record)
return {'ok', redis.call('ZCARD', tellers)}
