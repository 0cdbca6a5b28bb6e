-- stage: records that are written ahead of their jobs (lua/stage.lua), and what becomes of those that are not published.
local STAGED_MAX_MS = 60000
