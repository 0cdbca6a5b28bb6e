-- ids: ULIDs. The first 10 characters are the publish time in ms, Crockford base32.
local ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'

local function base32(value, length)
  local out = ''
  for _ = 1, length do
    local digit = value % 32
    out = string.sub(ALPHABET, digit + 1, digit + 1) .. out
    value = (value - digit) / 32
  end
  return out
end

-- The publish time that an id carries. Ids come from this product only, so the characters are known good.
local function id_time(id)
  local value = 0
  for i = 1, 10 do
    local c = string.byte(id, i)
    local digit
    if c < 58 then digit = c - 48
    elseif c < 73 then digit = c - 55
    elseif c < 76 then digit = c - 56
    elseif c < 79 then digit = c - 57
    elseif c < 85 then digit = c - 58
    else digit = c - 59 end
    value = value * 32 + digit
  end
  return value
end
