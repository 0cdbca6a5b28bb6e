--{"name": "free_deleted", "purpose": "frees a small part of what a deleted queue held: at most `limit` jobs or idempotency keys.", "keys": ["deletions", "deleted_jobs", "deleted_runs", "deleted_results", "deleted_priorities", "deleted_front", "deleted_ready", "deleted_prio", "deleted_lines", "deleted_turns", "deleted_shares", "deleted_delayed", "deleted_retry", "deleted_expiring", "deleted_staged", "deleted_working", "deleted_dead", "deleted_completed", "deleted_blocked", "deleted_grouped", "deleted_joining", "deleted_gathered", "deleted_group_times", "deleted_group_sizes", "deleted_batches", "deleted_keys"], "args": ["id", "limit", "budget"], "rest": false, "replies": ["ok"]}
local function first_within(ids, budget, records, more_records)
 if #ids <= 1 then
  return ids
 end
 local left, has_more = budget, more_records and redis.call('EXISTS', more_records) == 1
 for i = 1, #ids do
  left = left - redis.call('HSTRLEN', records, ids[i])
  if has_more then
   left = left - redis.call('HSTRLEN', more_records, ids[i])
  end
  if left < 0 and i > 1 then
   return {
    unpack(ids, 1, i - 1),
   }
  end
 end
 return ids
end
ARGV[2], ARGV[3] = tonumber(ARGV[2]), tonumber(ARGV[3])
if redis.call('EXISTS', KEYS[15]) == 1 then
 local ids_2 = first_within(redis.call('ZRANGE', KEYS[15], 0, ARGV[2] - 1), ARGV[3], KEYS[2])
 redis.call('ZREM', KEYS[15], unpack(ids_2))
 do
  for _, hash in ipairs({
   KEYS[2],
   KEYS[3],
   KEYS[4],
   KEYS[5],
  }) do
   if redis.call('EXISTS', hash) == 1 then
    redis.call('HDEL', hash, unpack(ids_2))
   end
  end
 end
 return {
  'ok',
  #ids_2,
  1,
 }
end
for __2, set in ipairs({
 KEYS[16],
 KEYS[17],
 KEYS[18],
 KEYS[13],
 KEYS[12],
 KEYS[8],
 KEYS[19],
 KEYS[20],
 KEYS[14],
}) do
 local ids_3
 repeat
  local ids_4 = redis.call('ZRANGE', set, 0, ARGV[2] - 1)
  if ARGV[2] * 4096 <= ARGV[3] and redis.call('EXISTS', KEYS[3], KEYS[4]) == 0 then
   ids_3 = ids_4
   break
  end
  ids_3 = first_within(ids_4, ARGV[3], KEYS[2], KEYS[4])
 until true
 if #ids_3 > 0 then
  local ids_5 = ids_3
  redis.call('ZREM', set, unpack(ids_5))
  do
   for __3, hash_2 in ipairs({
    KEYS[2],
    KEYS[3],
    KEYS[4],
    KEYS[5],
   }) do
    if redis.call('EXISTS', hash_2) == 1 then
     redis.call('HDEL', hash_2, unpack(ids_5))
    end
   end
  end
  return {
   'ok',
   #ids_5,
   1,
  }
 end
end
local members = redis.call('ZRANGE', KEYS[9], 0, ARGV[2] - 1)
if #members > 0 then
 local ids_6 = {
 }
 for i_2, member in ipairs(members) do
  ids_6[i_2] = string.sub(member, -26)
 end
 do
  local result
  repeat
   local ids_7 = ids_6
   if ARGV[2] * 4096 <= ARGV[3] and redis.call('EXISTS', KEYS[3], KEYS[4]) == 0 then
    result = ids_7
    break
   end
   result = first_within(ids_7, ARGV[3], KEYS[2], KEYS[4])
  until true
  ids_6 = result
 end
 redis.call('ZREM', KEYS[9], unpack(members, 1, #ids_6))
 do
  local ids_8 = ids_6
  for __4, hash_3 in ipairs({
   KEYS[2],
   KEYS[3],
   KEYS[4],
   KEYS[5],
  }) do
   if redis.call('EXISTS', hash_3) == 1 then
    redis.call('HDEL', hash_3, unpack(ids_8))
   end
  end
 end
 return {
  'ok',
  #ids_6,
  1,
 }
end
for __5, list in ipairs({
 KEYS[6],
 KEYS[7],
}) do
 local ids_9
 repeat
  local ids_10 = redis.call('LRANGE', list, 0, ARGV[2] - 1)
  if ARGV[2] * 4096 <= ARGV[3] and redis.call('EXISTS', KEYS[3], KEYS[4]) == 0 then
   ids_9 = ids_10
   break
  end
  ids_9 = first_within(ids_10, ARGV[3], KEYS[2], KEYS[4])
 until true
 if #ids_9 > 0 then
  redis.call('LTRIM', list, #ids_9, -1)
  do
   local ids_11 = ids_9
   for __6, hash_4 in ipairs({
    KEYS[2],
    KEYS[3],
    KEYS[4],
    KEYS[5],
   }) do
    if redis.call('EXISTS', hash_4) == 1 then
     redis.call('HDEL', hash_4, unpack(ids_11))
    end
   end
  end
  return {
   'ok',
   #ids_9,
   1,
  }
 end
end
local limit_keys = redis.call('ZRANGE', KEYS[10], 0, ARGV[2] - 1)
if #limit_keys > 0 then
 redis.call('ZREM', KEYS[10], unpack(limit_keys))
 if redis.call('EXISTS', KEYS[11]) == 1 then
  redis.call('HDEL', KEYS[11], unpack(limit_keys))
 end
 return {
  'ok',
  #limit_keys,
  1,
 }
end
for __7, set_2 in ipairs({
 KEYS[21],
 KEYS[22],
 KEYS[23],
}) do
 local some = redis.call('ZRANGE', set_2, 0, ARGV[2] - 1)
 if #some > 0 then
  redis.call('ZREM', set_2, unpack(some))
  return {
   'ok',
   #some,
   1,
  }
 end
end
for __8, hash_5 in ipairs({
 KEYS[24],
 KEYS[25],
}) do
 local names, cursor = {
 }, '0'
 repeat
  local scan = redis.call('HSCAN', hash_5, cursor, 'COUNT', ARGV[2])
  cursor = scan[1]
  for i_3 = 1, #scan[2], 2 do
   names[#names + 1] = scan[2][i_3]
  end
 until cursor == '0' or #names > 0
 if #names > 0 then
  redis.call('HDEL', hash_5, unpack(names))
  return {
   'ok',
   #names,
   1,
  }
 end
end
if redis.call('EXISTS', KEYS[26]) == 1 then
 local scan_2 = redis.call('HSCAN', KEYS[26], redis.call('HGET', KEYS[1], ARGV[1]) or '0', 'COUNT', ARGV[2])
 local names_2 = {
 }
 for i_4 = 1, #scan_2[2], 2 do
  names_2[#names_2 + 1] = scan_2[2][i_4]
 end
 redis.call('HDEL', KEYS[1], ARGV[1])
 if #names_2 > 0 then
  redis.call('HDEL', KEYS[26], unpack(names_2))
 end
 redis.call('HSET', KEYS[1], ARGV[1], scan_2[1])
 return {
  'ok',
  #names_2,
  1,
 }
end
redis.call('HDEL', KEYS[1], ARGV[1])
redis.call('UNLINK', KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[11])
return {
 'ok',
 0,
 0,
}
