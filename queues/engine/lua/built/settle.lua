--{"name": "settle", "purpose": "what has become of dependencies of blocked jobs. A job with none left is ready, or delayed if it is not due yet", "keys": ["runs", "ready", "prio", "priorities", "blocked", "waits", "delayed", "dead", "expiring", "due", "waiting", "stats", "active", "events", "counters", "outgoing", "flags", "lines", "turns", "shares"], "args": ["now_ms", "queue", "channel", "cap"], "rest": true, "replies": ["ok"]}
local now = tonumber(ARGV[1])
local now_up = now
if not now then
 local time = redis.call('TIME')
 now = time[1] * 1000 + math.floor(time[2] / 1000)
 now_up = now + 1
end
local event_lines = {
}
local readied, ended, messages = 0, 0, 0
for i = 5, #ARGV, 3 do
 do
  local id, wait, outcome = ARGV[i], ARGV[i + 1], ARGV[i + 2]
  local head, policy = id .. '\t', string.sub(wait, 1, 1)
  local is_fatal = outcome ~= 'acked' and policy == 'f' or string.sub(outcome, 1, 6) == 'cycle '
  if outcome == 'waits' then
   if redis.call('ZREM', KEYS[6], head .. '?' .. wait) == 1 then
    redis.call('ZADD', KEYS[6], 0, head .. '+' .. wait)
   end
  elseif outcome ~= 'acked' and policy == 'w' and not is_fatal then
   if redis.call('ZREM', KEYS[6], head .. '?' .. wait, head .. '+' .. wait) > 0 then
    redis.call('ZADD', KEYS[6], 0, head .. '-' .. wait)
   end
  elseif redis.call('ZREM', KEYS[6], head .. '?' .. wait, head .. '+' .. wait, head .. '-' .. wait) > 0 then
   if redis.call('ZSCORE', KEYS[5], id) then
    if is_fatal then
     do
      local dependency = string.sub(wait, 2)
      local unpack_run
      do
       local raw = redis.call('HGET', KEYS[1], id)
       local attempt, used, tries, marks, expires, due_ms, taken, options, consumer, at = struct.unpack('>I4HHBI6I6I6Hc0Bc0', raw)
       unpack_run = {
        attempt = attempt,
        used = used,
        tries = tries,
        marks = marks % 4,
        depended = marks - marks % 4,
        expires = expires,
        due = due_ms,
        taken = taken,
        options = options,
        consumer = consumer,
        history = string.sub(raw, at),
       }
      end
      local run, text = unpack_run, 'dependency ' .. dependency .. ': ' .. outcome
      redis.call('ZREM', KEYS[5], id)
      redis.call('ZREM', KEYS[9], id)
      do
       local history = run.history
       local kept, at_2 = 0, 1
       while at_2 <= #history do
        local _, __2, __3, __4, __5, __6, after = struct.unpack('>I4I6I6BBc0Hc0', history, at_2)
        at_2 = after
        kept = kept + 1
       end
       if kept >= 10 then
        local __7, __8, __9, __10, __11, __12, after_2 = struct.unpack('>I4I6I6BBc0Hc0', history, 1)
        history = string.sub(history, after_2)
       end
       run.history = history .. struct.pack('>I4I6I6BBc0Hc0', run.attempt, run.taken, now, 1, #run.consumer, run.consumer, #text, text)
      end
      redis.call('HSET', KEYS[1], id, (struct.pack('>I4HHBI6I6I6Hc0Bc0', run.attempt, run.used, math.min(run.tries, 65535), run.marks + run.depended, run.expires, run.due, run.taken, #run.options, run.options, #run.consumer, run.consumer) .. run.history))
      redis.call('ZADD', KEYS[8], now, id)
      do
       local error = string.sub(text, 1, 200)
       do
        local line = 'dead' .. '\t' .. id .. '\t' .. '0' .. '\t\t' .. '' .. '\t\t' .. '' .. '\t' .. error
        event_lines[#event_lines + 1] = line
       end
      end
      do
       local minute = math.floor(now / 60000)
       local field = string.format('%d', minute) .. 'd'
       if redis.call('HINCRBY', KEYS[12], field, 1) == 1 then
        repeat
         if redis.call('HGET', KEYS[12], 'm') == tostring(minute) then
          break
         end
         for __13, field_2 in ipairs(redis.call('HKEYS', KEYS[12])) do
          local its = tonumber(string.match(field_2, '^%d+'))
          if its and its <= minute - 10 then
           redis.call('HDEL', KEYS[12], field_2)
          end
         end
         redis.call('HSET', KEYS[12], 'm', minute)
         redis.call('EXPIRE', KEYS[12], 10 * 60)
         redis.call('ZREMRANGEBYSCORE', KEYS[13], '-inf', minute - 10)
         redis.call('ZADD', KEYS[13], minute, ARGV[2])
         redis.call('EXPIRE', KEYS[13], 10 * 60)
        until true
       end
      end
      if run.depended > 0 then
       do
        local options_2 = run.options
        do
         local message
         do
          local key_of
          repeat
           if options_2 == '' then
            key_of = ''
            break
           end
           local __14, __15, __16, __17, its_key = struct.unpack('>I6BI6I6Hc0', options_2)
           key_of = its_key
          until true
          message = 'ended\t' .. ARGV[2] .. '\t' .. id .. '\t' .. 'dead' .. '\t' .. key_of
         end
         redis.call('ZADD', KEYS[16], now, message)
        end
       end
      end
      do
       do
        local message_2 = ('waits\t' .. ARGV[2] .. '\t' .. id)
        redis.call('ZADD', KEYS[16], now, message_2)
       end
      end
      messages = messages + 1
      ended = ended + 1
     end
    elseif not redis.call('ZRANGEBYLEX', KEYS[6], '[' .. id .. '\t' .. '', '' == '' and '(' .. id .. '\n' or '(' .. id .. '\t' .. '' .. '\255', 'LIMIT', 0, 1)[1] then
     do
      local run_2
      do
       local raw_2 = redis.call('HGET', KEYS[1], id)
       local attempt_2, used_2, tries_2, marks_2, expires_2, due_ms_2, taken_2, options_3, consumer_2, at_3 = struct.unpack('>I4HHBI6I6I6Hc0Bc0', raw_2)
       run_2 = {
        attempt = attempt_2,
        used = used_2,
        tries = tries_2,
        marks = marks_2 % 4,
        depended = marks_2 - marks_2 % 4,
        expires = expires_2,
        due = due_ms_2,
        taken = taken_2,
        options = options_3,
        consumer = consumer_2,
        history = string.sub(raw_2, at_3),
       }
      end
      redis.call('ZREM', KEYS[5], id)
      ended = ended + 1
      if run_2.due > now then
       redis.call('ZADD', KEYS[7], run_2.due, id)
       do
        local ms = run_2.due
        if (redis.call('ZADD', KEYS[10], 'LT', 'CH', ms, ARGV[2]) == 1) then
         do
          local is_waited_for
          do
           local mark = redis.call('ZSCORE', KEYS[11], ARGV[2])
           is_waited_for = mark and tonumber(mark) > now
          end
          if is_waited_for then
           redis.call('PUBLISH', ARGV[3], 'due\t' .. ARGV[2] .. '\t' .. ms)
          end
         end
        end
       end
      else
       run_2.due = now
       local pack_run
       do
        local run_3 = run_2
        pack_run = struct.pack('>I4HHBI6I6I6Hc0Bc0', run_3.attempt, run_3.used, math.min(run_3.tries, 65535), run_3.marks + run_3.depended, run_3.expires, run_3.due, run_3.taken, #run_3.options, run_3.options, #run_3.consumer, run_3.consumer) .. run_3.history
       end
       redis.call('HSET', KEYS[1], id, pack_run)
       do
        local place = redis.call('HGET', KEYS[4], id)
        if (place and string.find(place, '%z')) then
         do
          local place_2 = place
          local zero
          do
           local place_3 = place_2
           zero = place_3 and string.find(place_3, '%z')
          end
          local band, number = string.sub(place_2, 1, zero + 1), nil
          number = number or 140737488355328 + redis.call('HINCRBY', KEYS[17], 'l:' .. ARGV[2], 1)
          place_2 = band .. struct.pack('>I6', number)
          redis.call('HSET', KEYS[4], id, place_2)
          redis.call('ZADD', KEYS[18], 0, place_2 .. id)
          repeat
           local its_key_2 = string.sub(place_2, 1, zero - 1)
           local turn_of
           do
            local score = tonumber(redis.call('ZSCORE', KEYS[19], its_key_2) or nil)
            turn_of = score and score >= -4503599627370496 and score or nil
           end
           if turn_of then
            break
           end
           local virtual, __18, start
           do
            local raw_3 = redis.call('HMGET', KEYS[20], '', its_key_2)
            local virtual_2
            repeat
             local raw_4 = raw_3[1]
             if not raw_4 then
              virtual_2 = 0, 0, 0
              break
             end
             virtual_2 = struct.unpack('>ddd', raw_4)
            until true
            local in_work, start_2, tat
            repeat
             local raw_5 = raw_3[2]
             if not raw_5 then
              in_work, start_2, tat = 0, 0, 0
              break
             end
             in_work, start_2, tat = struct.unpack('>I4dd', raw_5)
            until true
            virtual, __18, start = virtual_2, in_work, start_2, tat
           end
           local format_turn
           do
            local score_2 = math.max(virtual, start)
            format_turn = string.format('%.0f', score_2)
           end
           redis.call('ZADD', KEYS[19], format_turn, its_key_2)
          until true
         end
        else
         do
          local priority = tonumber(place or 0)
          if priority == 0 then
           redis.call('RPUSH', KEYS[2], id)
          else
           local format_rank
           do
            local rank
            repeat
             local band_2 = (100 - priority) * 17592186044416
             local from, to = string.format('%.0f', band_2), '(' .. string.format('%.0f', (band_2 + 17592186044416))
             local last = redis.call('ZREVRANGEBYSCORE', KEYS[3], to, from, 'WITHSCORES', 'LIMIT', 0, 1)
             rank = math.max(band_2 + now, last[2] and tonumber(last[2]) + 1 or 0)
            until true
            format_rank = string.format('%.0f', rank)
           end
           redis.call('ZADD', KEYS[3], format_rank, id)
          end
         end
        end
       end
       do
        local line_2 = 'ready\t' .. id .. '\t\t0\t\t\t\t'
        event_lines[#event_lines + 1] = line_2
       end
       readied = readied + 1
      end
     end
    end
   end
  end
  do
   local all_are_known = redis.call('ZSCORE', KEYS[5], id) and not redis.call('ZRANGEBYLEX', KEYS[6], '[' .. id .. '\t' .. '?', '?' == '' and '(' .. id .. '\n' or '(' .. id .. '\t' .. '?' .. '\255', 'LIMIT', 0, 1)[1]
   if all_are_known or not redis.call('ZRANGEBYLEX', KEYS[6], '[' .. id .. '\t' .. '', '' == '' and '(' .. id .. '\n' or '(' .. id .. '\t' .. '' .. '\255', 'LIMIT', 0, 1)[1] then
    redis.call('ZREM', KEYS[16], 'waits\t' .. ARGV[2] .. '\t' .. id, 'added\t' .. ARGV[2] .. '\t' .. id)
   end
  end
 end
end
if readied > 0 then
 do
  local count = readied
  local is_waited_for_2
  do
   local mark_2 = redis.call('ZSCORE', KEYS[11], ARGV[2])
   is_waited_for_2 = mark_2 and tonumber(mark_2) > now
  end
  if is_waited_for_2 then
   redis.call('PUBLISH', ARGV[3], 'ready\t' .. ARGV[2] .. '\t' .. count)
  end
 end
end
repeat
 local total = #event_lines
 local most = tonumber(ARGV[4])
 if total == 0 or most == 0 then
  break
 end
 local added = 0
 for first = 1, total, 64 do
  local last_2 = math.min(first + 64 - 1, total)
  local lines = total == 1 and event_lines[1] or table.concat(event_lines, '\n', first, last_2)
  redis.call('XADD', KEYS[14], '*', 't', string.format('%d', now), 'q', ARGV[2], 'n', last_2 - first + 1, 'e', lines)
  added = added + (40 + math.floor(1.2 * (#ARGV[2] + #lines)))
 end
 local held = redis.call('HINCRBY', KEYS[15], 'events_bytes', added)
 local full = most < 4 * 1048576 and most / 4 or 1048576
 if held >= full and held - added < full then
  redis.pcall('PUBLISH', KEYS[14], held)
 end
 if held > most / 2 then
  most = tonumber(redis.call('HGET', KEYS[15], 'events_most') or most)
 end
 if held > most then
  do
   local most_2, added_2 = most - math.floor(most / 64), added
   local dropped, freed, entries, from_2 = 0, 0, 0, '-'
   repeat
    local found = redis.call('XRANGE', KEYS[14], from_2, '+', 'COUNT', 100)
    for __19, entry in ipairs(found) do
     if held - freed <= most_2 then
      break
     end
     local fields = entry[2]
     dropped = dropped + tonumber(fields[6])
     local event_bytes
     do
      local place_4, lines_2 = fields[4], fields[8]
      event_bytes = 40 + math.floor(1.2 * (#place_4 + #lines_2))
     end
     freed = freed + event_bytes
     entries = entries + 1
     from_2 = '(' .. entry[1]
    end
   until freed >= added_2 or held - freed <= most_2 or #found < 100
   redis.call('XTRIM', KEYS[14], 'MAXLEN', redis.call('XLEN', KEYS[14]) - entries)
   redis.call('HINCRBY', KEYS[15], 'events_bytes', -freed)
   redis.call('HINCRBY', KEYS[15], 'events_dropped', dropped)
   redis.call('HSET', KEYS[15], 'events_dropped_at', string.format('%d', now))
  end
 end
until true
return {
 'ok',
 ended,
 messages,
}
