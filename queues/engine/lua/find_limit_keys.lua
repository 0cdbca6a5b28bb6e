-- find_limit_keys: the limit keys with ready jobs that begin with a text, in order of their bytes. A seek for each key, however
-- many jobs it has.
-- KEYS
--   lines        zset     ready jobs with limit keys
--   shares       hash     the share that each limit key has used
-- ARGV
--   now_ms       ms or ""
--   prefix       bytes    that the keys begin with
--   after        key      the last one of the page before, "" = from the start
--   number       keys     in the page
--   limits       of the queue and of its keys (lib/rates_and_weights.lua), "" = none
-- REPLIES
--   ok           now more queue_free_at key ...    more: 1 if there are further ones; the rest as list_limit_keys replies it
-- INCLUDES key_waits
local reply = {'ok', now, 0, queue_free_at()}
local from = after == '' and '[' .. prefix or '[' .. after .. string.char(1)
local to = '(' .. prefix .. string.char(255) -- no text in UTF-8 has this byte
for _ = 1, number + 1 do
  local line = redis.call('ZRANGEBYLEX', lines, from, to, 'LIMIT', 0, 1)[1]
  if not line then break end
  if #reply == number + 4 then
    reply[3] = 1
    break
  end
  local its_key = string.sub(line, 1, key_end(line) - 1)
  reply[#reply + 1] = describe_key(its_key, redis.call('HGET', shares, its_key))
  from = '[' .. its_key .. string.char(1) -- above all lines of this key: what follows a key is a zero byte
end
return reply
