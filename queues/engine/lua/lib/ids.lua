-- ids: ULIDs. The first 10 characters are the publish time in ms, Crockford base32.
local ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'

local DIGITS = {string.byte(ALPHABET, 1, 32)}
local HALF = 33554432 -- 32^5

local function five_digits(value)
  local e = value % 32
  value = (value - e) / 32
  local d = value % 32
  value = (value - d) / 32
  local c = value % 32
  value = (value - c) / 32
  local b = value % 32
  return string.char(DIGITS[(value - b) / 32 + 1], DIGITS[b + 1], DIGITS[c + 1], DIGITS[d + 1], DIGITS[e + 1])
end

-- The time part of an id that is made now.
local function time_part()
  local low = now % HALF
  return five_digits((now - low) / HALF) .. five_digits(low)
end

-- The last three characters of an id: below 32^3.
local function counter_part(value)
  local c = value % 32
  value = (value - c) / 32
  local b = value % 32
  return string.char(DIGITS[(value - b) / 32 + 1], DIGITS[b + 1], DIGITS[c + 1])
end

local function value_of(c)
  if c < 58 then return c - 48 end
  if c < 73 then return c - 55 end
  if c < 76 then return c - 56 end
  if c < 79 then return c - 57 end
  if c < 85 then return c - 58 end
  return c - 59
end

-- The publish time that an id carries. Ids come from this product only, so the characters are known good. Jobs that are
-- delivered together were often published in the same ms.
local last_part = ''
local last_time = 0
local function id_time(id)
  local part = string.sub(id, 1, 10)
  if part == last_part then return last_time end
  local a, b, c, d, e, f, g, h, i, j = string.byte(part, 1, 10)
  local high = (((value_of(a) * 32 + value_of(b)) * 32 + value_of(c)) * 32 + value_of(d)) * 32 + value_of(e)
  last_part = part
  last_time = ((((high * 32 + value_of(f)) * 32 + value_of(g)) * 32 + value_of(h)) * 32 + value_of(i)) * 32 + value_of(j)
  return last_time
end
