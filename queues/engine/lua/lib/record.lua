-- record: a job as published, written once and never rewritten (a body may be 1 MiB).
--   u8 flags (1 has options, 2 has due) · u16 tries · u48 expires ms (0 never) · [u48 due ms] · [u16 n, n bytes options] · body
-- A record of more than LONG_RECORD bytes is read only for its body: such a job has a run from the start (lib/run.lua).
-- options (written by queues/engine/record.py, opaque here but for its numbers):
--   u48 retention ms · u8 backoff kind (+ 128: for failures only, + 64: a limit key is at the end, + 32: a group is) · u48 base
--   ms · u48 cap ms · u16 n, key · u16 n, attributes as JSON · [limit key, u8 n, or group, u8 n · u16 members, 0 of a job that
--   is one itself · u16 most members · u48 longest delay, ms · u48 grace period, ms]
local LONG_RECORD = 4096

local function pack_head(tries, expires, due_ms, options)
  local bits = 0
  local tail = ''
  if due_ms then
    bits = 2
    tail = struct.pack('>I6', due_ms)
  end
  if options ~= '' then
    bits = bits + 1
    tail = tail .. struct.pack('>Hc0', #options, options)
  end
  return struct.pack('>BHI6', bits, tries, expires) .. tail
end

-- → tries, expires, due ms (nil unless it was delayed), options ('' if none), position of the body
local function unpack_record(raw)
  local bits, tries, expires, at = struct.unpack('>BHI6', raw)
  local due_ms, options = nil, ''
  if bits >= 2 then
    due_ms, at = struct.unpack('>I6', raw, at)
    bits = bits - 2
  end
  if bits == 1 then
    options, at = struct.unpack('>Hc0', raw, at)
  end
  return tries, expires, due_ms, options, at
end

local function record_expiry(raw) return (struct.unpack('>I6', raw, 4)) end

-- The idempotency key that a job was published with, or ''.
local function key_of(options)
  if options == '' then return '' end
  local _, _, _, _, its_key = struct.unpack('>I6BI6I6Hc0', options)
  return its_key
end

-- → retention ms, backoff kind with what is added to it, base ms, cap ms
local function unpack_options(options)
  if options == '' then return 0, 0, 0, 0 end
  return struct.unpack('>I6BI6I6', options)
end

local FAILURES_ONLY = 128 -- is added to the kind of a backoff that is not for leases that ran out
local HAS_LIMIT_KEY = 64 -- is added to it if there is one

-- The key by which a job is limited (lib/fair.lua), or nil.
local function limit_key_of(options)
  if options == '' or string.byte(options, 7) % FAILURES_ONLY < HAS_LIMIT_KEY then return nil end
  return string.sub(options, -1 - string.byte(options, -1), -2)
end

local HAS_GROUP = 32 -- is added to the kind of a backoff if there is a group; with a limit key there is none
local GROUP = '>BHHI6I6'
local GROUP_BYTES = 17

-- The group of a member or a batch: name, members (0: it is a member itself), most members, longest delay, grace period; or nil.
local function group_of(options)
  if options == '' or string.byte(options, 7) % HAS_LIMIT_KEY < HAS_GROUP then return nil end
  local size, count, most, delay_max, grace = struct.unpack(GROUP, options, #options - GROUP_BYTES + 1)
  return string.sub(options, -GROUP_BYTES - size, -GROUP_BYTES - 1), count, most, delay_max, grace
end

-- How many jobs a job counts for: the members of a batch, 1 of any other.
local function weight_in(options)
  if options == '' or string.byte(options, 7) % HAS_LIMIT_KEY < HAS_GROUP then return 1 end
  local count = struct.unpack('>H', options, #options - GROUP_BYTES + 2)
  return math.max(1, count)
end

-- The backoff of a job whose attempt failed, or (`failed` false) whose lease ran out. → its kind alone, base ms, cap ms
local function backoff_of(options, failed)
  local _, kind, base, most = unpack_options(options)
  if kind >= FAILURES_ONLY and not failed then return 0, 0, 0 end
  return kind % HAS_GROUP, base, most
end
