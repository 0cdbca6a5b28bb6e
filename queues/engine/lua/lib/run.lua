-- run: the part of a job that changes, from its first delivery or rescheduling on. From then on its tries and expiry are
-- read here, not in the record. A job whose record is long (lib/record.lua) has a run from the start, so that no script has
-- to read the record but for the body.
--   u32 attempt (deliveries, never counted back: it fences; 0 = there was none yet) · u16 used (tries burned) · u16 tries
--   · u8 marks (1: the newest delivery burned no try; 2: its attempt is to end for good, lua/cancel.lua; 4: other jobs
--   depend on it, lua/subscribe.lua; 8 more: it is a node of a workflow, whose dependencies are kept once they are acked) · u48 expires ms · u48 due ms (when it last became due) · u48 taken ms (newest delivery)
--   · u16 n, n bytes options (copied from the record) · u8 n, consumer · history (newest ten attempts that did not end in an ack)
-- one attempt in the history:
--   u32 attempt · u48 taken ms · u48 ended ms · u8 outcome (1 failed, 2 lease lost) · u8 n, consumer · u16 n, error
local RUN = '>I4HHBI6I6I6Hc0Bc0'
local RUN_EXPIRES = 10 -- where that is in it
local RUN_DUE = 16
local CANCELLED = 2 -- in the marks
local DEPENDED = 4
local NODE = 8
local RUN_MARKS = 9 -- where they are
local PAST = '>I4I6I6BBc0Hc0'
local HISTORY_MAX = 10
local U16_MAX = 65535

local function pack_run(run)
  return struct.pack(RUN, run.attempt, run.used, math.min(run.tries, U16_MAX), run.marks + run.depended, run.expires, run.due,
    run.taken, #run.options, run.options, #run.consumer, run.consumer) .. run.history
end

local function run_expiry(raw) return (struct.unpack('>I6', raw, RUN_EXPIRES)) end

local function is_depended_on(raw) return string.byte(raw, RUN_MARKS) >= DEPENDED end

local function run_due(raw) return (struct.unpack('>I6', raw, RUN_DUE)) end

local function with_due(raw, ms) return string.sub(raw, 1, RUN_DUE - 1) .. struct.pack('>I6', ms) .. string.sub(raw, RUN_DUE + 6) end

local function run_options(raw) return (struct.unpack('>Hc0', raw, 28)) end

local function run_attempt(raw) return (struct.unpack('>I4', raw)) end

local function unpack_run(raw)
  local attempt, used, tries, marks, expires, due_ms, taken, options, consumer, at = struct.unpack(RUN, raw)
  return {
    attempt = attempt, used = used, tries = tries, marks = marks % DEPENDED, depended = marks - marks % DEPENDED,
    expires = expires, due = due_ms, taken = taken,
    options = options, consumer = consumer, history = string.sub(raw, at),
  }
end

local function remember_attempt(run, outcome, error)
  local history = run.history
  local kept, at = 0, 1
  while at <= #history do
    local _, _, _, _, _, _, after = struct.unpack(PAST, history, at)
    at = after
    kept = kept + 1
  end
  if kept >= HISTORY_MAX then
    local _, _, _, _, _, _, after = struct.unpack(PAST, history, 1)
    history = string.sub(history, after)
  end
  run.history = history .. struct.pack(PAST, run.attempt, run.taken, now, outcome, #run.consumer, run.consumer,
    #error, error)
end
