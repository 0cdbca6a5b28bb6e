-- tell_waiting: stores a web process's report on the consumers that wait there, and drops reports that are too old.
-- KEYS
--   tellers      zset     process → time of its latest report
--   told         hash     process → its report
-- ARGV
--   now_ms       ms or ""
--   process      id of the process
--   record       bytes    its report; "" = no consumer waits there any more
--   forget       ms       after which a silent process is forgotten
--   most         processes
-- REPLIES
--   ok           kept     number of processes that are known
-- INCLUDES process_reports
hear(tellers, told, process, record)
return {'ok', redis.call('ZCARD', tellers)}
