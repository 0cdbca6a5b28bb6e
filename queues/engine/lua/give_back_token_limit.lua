-- give_back_token_limit: uncounts one request that got no job, failed, or whose client has gone; only within its own interval.
-- KEYS
--   limit        string   requests left over, and the interval's ticket
-- ARGV
--   ticket       of the interval in which it was counted
-- REPLIES
--   ok
-- INCLUDES token_limit
local left, its_ticket = running_interval()
if its_ticket == ticket then write_interval(left + 1, ticket) end
return {'ok'}
