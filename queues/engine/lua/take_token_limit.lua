-- take_token_limit: counts one request against a token's allowance for the running interval, before it is carried out.
-- For stores on which a limited script (queues/engine/scripts.py) cannot count it: see give_back_token_limit.
-- KEYS
--   limit        string   requests left over, and the interval's ticket
-- ARGV
--   allowance    requests per interval
--   interval     ms
-- REPLIES
--   taken        ticket
--   refused      retry_after_ms
-- INCLUDES token_limit
local left, its_ticket, left_ms = current_interval()
if left and left <= 0 then return {'refused', left_ms} end
return {'taken', count_requests(1, left, its_ticket)}
