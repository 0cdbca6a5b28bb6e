-- ids: ULIDs. The first 10 characters are the publish time in ms, Crockford base32.
local ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'

local function digit_of(value, step) return string.byte(ALPHABET, math.floor(value / step) % 32 + 1) end

-- The time part of an id that is made now. 35184372088832 is 32^9.
local function time_part()
  return string.char(digit_of(now, 35184372088832), digit_of(now, 1099511627776), digit_of(now, 34359738368),
    digit_of(now, 1073741824), digit_of(now, 33554432), digit_of(now, 1048576), digit_of(now, 32768),
    digit_of(now, 1024), digit_of(now, 32), digit_of(now, 1))
end

-- The last three characters of an id.
local function counter_part(value)
  return string.char(digit_of(value, 1024), digit_of(value, 32), digit_of(value, 1))
end

local function value_of(c)
  if c < 58 then return c - 48 end
  if c < 73 then return c - 55 end
  if c < 76 then return c - 56 end
  if c < 79 then return c - 57 end
  if c < 85 then return c - 58 end
  return c - 59
end

-- The publish time that an id carries. Ids come from this product only, so the characters are known good.
local function id_time(id)
  local a, b, c, d, e, f, g, h, i, j = string.byte(id, 1, 10)
  local high = (((value_of(a) * 32 + value_of(b)) * 32 + value_of(c)) * 32 + value_of(d)) * 32 + value_of(e)
  return ((((high * 32 + value_of(f)) * 32 + value_of(g)) * 32 + value_of(h)) * 32 + value_of(i)) * 32 + value_of(j)
end
