-- Declares the transactions of read-only workloads. In: the workload's name; the stock script's globals con and
-- stmt, when sysbench calls it. Out: the stock script's prepare_begin replaced. Must never touch other workloads.

local read_only = {}

local WORKLOADS = { oltp_read_only = true } -- of the stock scripts that open transactions, the one that only reads

function read_only.only_reads(workload) return WORKLOADS[workload] == true end

-- MySQL cannot prepare this statement (error 1295); sysbench then sends it as text on every execution, as it does
-- with the stock script's BEGIN.
local function prepare_begin() stmt.begin = con:prepare("START TRANSACTION READ ONLY") end

function read_only.declare(workload)
   if read_only.only_reads(workload) then _G.prepare_begin = prepare_begin end
end

return read_only
