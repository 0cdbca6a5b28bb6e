-- stream_end: the newest event of a partition. O(1).
-- KEYS
--   events       stream   transitions
--   drain        hash     the plan
-- ARGV
--   now_ms       ms or ""
-- REPLIES
--   ok           now entry   id
-- INCLUDES last_entry
return {'ok', now, last_entry()}
