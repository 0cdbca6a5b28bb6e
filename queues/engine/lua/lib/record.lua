-- record: a job as published, written once and never rewritten (a body may be 1 MiB).
--   u8 flags (1 has options, 2 has due) · u16 tries · u48 expires ms (0 never) · [u48 due ms] · [u16 n, n bytes options] · body
-- options (written by queues/engine/record.py, opaque here but for its numbers):
--   u48 retention ms · u8 backoff kind · u48 base ms · u48 cap ms · u16 n, key · u16 n, attributes as JSON
local function pack_head(tries, expires, due, options)
  local flags = 0
  local tail = ''
  if due then
    flags = 2
    tail = struct.pack('>I6', due)
  end
  if options ~= '' then
    flags = flags + 1
    tail = tail .. struct.pack('>Hc0', #options, options)
  end
  return struct.pack('>BHI6', flags, tries, expires) .. tail
end

-- → tries, expires, due (nil unless it was delayed), options ('' if none), position of the body
local function unpack_record(raw)
  local flags, tries, expires, at = struct.unpack('>BHI6', raw)
  local due, options = nil, ''
  if flags >= 2 then
    due, at = struct.unpack('>I6', raw, at)
    flags = flags - 2
  end
  if flags == 1 then
    options, at = struct.unpack('>Hc0', raw, at)
  end
  return tries, expires, due, options, at
end

-- → retention ms, backoff kind, base ms, cap ms
local function unpack_options(options)
  if options == '' then return 0, 0, 0, 0 end
  return struct.unpack('>I6BI6I6', options)
end
