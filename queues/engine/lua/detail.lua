-- detail: all that is known of one job.
-- KEYS
--   jobs         hash     the records
--   runs         hash     attempts
--   results      hash     results
--   priorities   hash     priorities
--   delayed      zset     whether it is there
--   retry        zset     whether it is there
--   working      zset     whether it is there
--   dead         zset     whether it is there
--   completed    zset     whether it is there
-- ARGV
--   now_ms       ms or ""
--   id           job
-- REPLIES
--   job          now {id state score record run priority result_bytes body_bytes}
--   missing
-- INCLUDES look
local found = look(id, nil)
return found and {'job', now, found} or {'missing'}
