--{"name": "find_key", "purpose": "the job that an idempotency key was given to. O(1). A key that is held as long as its job is in certain states", "keys": ["jobs", "keys"], "args": ["key"], "rest": false, "replies": ["ok"]}
local value = redis.call('HGET', KEYS[2], ARGV[1])
local id = value and string.sub(value, 7, 32) or ''
if id ~= '' and redis.call('HEXISTS', KEYS[1], id) == 0 then
 id = ''
end
return {
 'ok',
 id,
}
