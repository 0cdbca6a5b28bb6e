-- annotate: stores a worker's notes on a job that it runs: fields, and lines of a log. They expire.
-- KEYS
--   jobs         hash     whether the job exists
--   note         hash     field → text; `log`: the lines
-- ARGV
--   id           job
--   keep         ms       until it is forgotten, unless that is later already
--   most         bytes    of log; its oldest lines go
--   fields       number   a note that has so many takes no others
--   lines        text     lines that are added to the log, each with its line end, or ""
--   ...          field, text, field, text, ...
-- REPLIES
--   ok
--   missing      nothing was written: there is no such job
--   full         nothing was written: the note has too many fields
if redis.call('HEXISTS', jobs, id) == 0 then return {'missing'} end
if #ARGV >= REST and redis.call('HLEN', note) + (#ARGV - REST + 1) / 2 > tonumber(fields) then return {'full'} end
if lines ~= '' then
  local log = (redis.call('HGET', note, 'log') or '') .. lines
  if #log > tonumber(most) then
    log = string.sub(log, -tonumber(most))
    local line_end = string.find(log, '\n', 1, true)
    log = string.sub(log, (line_end or 0) + 1)
  end
  redis.call('HSET', note, 'log', log)
end
if #ARGV >= REST then redis.call('HSET', note, unpack(ARGV, REST)) end
if redis.call('PTTL', note) < tonumber(keep) then redis.call('PEXPIRE', note, keep) end
return {'ok'}
