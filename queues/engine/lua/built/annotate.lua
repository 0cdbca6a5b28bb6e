--{"name": "annotate", "purpose": "stores a worker's notes on a job that it runs: fields, and lines of a log. They expire.", "keys": ["jobs", "note"], "args": ["id", "keep", "most", "fields", "lines"], "rest": true, "replies": ["ok", "missing", "full"]}
if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 then
 return {
  'missing',
 }
end
if #ARGV >= 6 and redis.call('HLEN', KEYS[2]) + (#ARGV - 6 + 1) / 2 > tonumber(ARGV[4]) then
 return {
  'full',
 }
end
if ARGV[5] ~= '' then
 local log = (redis.call('HGET', KEYS[2], 'log') or '') .. ARGV[5]
 if #log > tonumber(ARGV[3]) then
  log = string.sub(log, -tonumber(ARGV[3]))
  local line_end = string.find(log, '\n', 1, true)
  log = string.sub(log, (line_end or 0) + 1)
 end
 redis.call('HSET', KEYS[2], 'log', log)
end
if #ARGV >= 6 then
 redis.call('HSET', KEYS[2], unpack(ARGV, 6))
end
if redis.call('PTTL', KEYS[2]) < tonumber(ARGV[2]) then
 redis.call('PEXPIRE', KEYS[2], ARGV[2])
end
return {
 'ok',
}
