-- worker_beat: stores a worker's heartbeat, and replies with the commands that were given since its last one.
-- KEYS
--   spaces       zset     namespace → time of its workers' latest beat
--   workers      zset     of the namespace: namespace/worker → time of its latest beat
--   beats        hash     namespace/worker → its record
--   commands     zset     command of the worker's namespace → when it was given, ms
-- ARGV
--   now_ms       ms or ""
--   namespace
--   worker       namespace/id of the worker
--   record       bytes    its heartbeat (queues/engine/stats/heartbeats.py); "" = it ends
--   forget       ms       after which a silent worker is forgotten
--   most         workers
--   since        ms       commands given at that time or later are told; 0 = none, to a worker that has just begun
--   told         the most commands in a reply: the latest
-- REPLIES
--   ok           now command ...
-- INCLUDES process_reports
hear(workers, beats, worker, record)
if record ~= '' then redis.call('ZADD', spaces, now, namespace) end
redis.call('ZREMRANGEBYSCORE', spaces, '-inf', now - forget)
redis.call('PEXPIRE', spaces, forget)
local reply = {'ok', now}
if tonumber(since) > 0 then
  local latest = redis.call('ZREVRANGEBYSCORE', commands, '+inf', since, 'LIMIT', 0, told)
  for i = #latest, 1, -1 do reply[#reply + 1] = latest[i] end
end
return reply
