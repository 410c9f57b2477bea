#!/usr/bin/env sysbench
-- Learns when transactions of the master become visible on one server.
--
--   sysbench probe.lua [options of the MySQL driver] --uuid=U --first=N --step=N probe
--
-- In:  the master's server_uuid and which of its transactions to look at: first, first + step, first + 2 step, …
-- Out: `ready` on stdout, then a line `number seconds` for each, by the machine's monotonic clock. Runs until it is killed.
-- Must never: poll, which would take a core from what is measured. The server itself waits (WAIT_FOR_EXECUTED_GTID_SET) and
--      answers when it has the transaction; the question is asked before the transaction exists, so there is no round trip in it.
-- No globals but sysbench's.

local ffi = require("ffi")
ffi.cdef("int clock_gettime(int clock, void *time);")

local CLOCK_MONOTONIC = 1
-- So that a server that never gets there does not keep the question open for ever.
local WAIT_SECONDS = 5

sysbench.cmdline.options = {
   uuid = { "server_uuid of the master", "" },
   first = { "number of the first transaction", 1 },
   step = { "every which transaction", 1 },
}

local time = ffi.new("int64_t[2]")

local function now()
   ffi.C.clock_gettime(CLOCK_MONOTONIC, time)
   return tonumber(time[0]) + tonumber(time[1]) / 1e9
end

local function probe()
   local connection = sysbench.sql.driver():connect()
   local number = sysbench.opt.first
   local question = ("SELECT WAIT_FOR_EXECUTED_GTID_SET('%s:%%d', %d)"):format(sysbench.opt.uuid, WAIT_SECONDS)
   io.stdout:setvbuf("line")
   print("ready")
   while true do
      if connection:query_row(question:format(number)) == "0" then
         print(("%d %.6f"):format(number, now()))
         number = number + sysbench.opt.step
      end
   end
end

sysbench.cmdline.commands = { probe = { probe } }
