#!/usr/bin/env sysbench
-- Statements at a fixed rate, each of them told: when it was due, and how long after that it was answered.
--
--   sysbench changes.lua --tables=4 --table-size=10000 --rate-of-all=400 --kind=read [options of sysbench] run
--
-- In:  tables as sysbench's OLTP scripts made them. --rate is sysbench's own and does something else.
-- Out: lines on stdout, by the machine's monotonic clock:
--        s DUE MILLISECONDS   a statement that was answered
--        e TIME MESSAGE       one that failed, or a connection that could not be made
--        t THREAD DUE         this thread has told all that was due until then
-- Must never: leave out what had to wait because the statement before it did not end: time counts from when it was due.
-- No globals but sysbench's callbacks.

local folder = sysbench.cmdline.script_path:match("^(.*)/[^/]*$") or "."
package.path = folder .. "/../lib/?.lua;" .. package.path

local ffi = require("ffi")
ffi.cdef [[
   int clock_gettime(int clock, void *time);
   int usleep(unsigned microseconds);
]]

local session = require("session")

local CLOCK_MONOTONIC = 1
local TELL_SECONDS = 0.5
local RANGE_ROWS = 100

sysbench.cmdline.options = {
   tables = { "tables", 4 },
   table_size = { "rows of each", 10000 },
   kind = { "read or write", "read" },
   rate_of_all = { "statements a second of all threads", 400 },
   ranges = { "percent of the reads that sum up 100 rows", 20 },
   session_sql = { "statement that each connection begins with", "" },
}

local POINT = "SELECT c FROM sbtest%d WHERE id = %d"
local RANGE = "SELECT SUM(LENGTH(c)) FROM sbtest%d WHERE id BETWEEN %d AND %d"
local UPDATE = "UPDATE sbtest%d SET c = '%s' WHERE id = %d"

local time = ffi.new("int64_t[2]")
local connection, due, period, told
local lines = {}

local function now()
   ffi.C.clock_gettime(CLOCK_MONOTONIC, time)
   return tonumber(time[0]) + tonumber(time[1]) / 1e9
end

local function statement()
   local opt = sysbench.opt
   local at, id = sysbench.rand.uniform(1, opt.tables), sysbench.rand.uniform(1, opt.table_size)
   if opt.kind == "write" then return UPDATE:format(at, sysbench.rand.string(("#"):rep(119)), id) end
   local range = sysbench.rand.uniform(1, 100) <= opt.ranges
   return range and RANGE:format(at, id, id + RANGE_ROWS - 1) or POINT:format(at, id)
end

local function connect()
   connection = sysbench.sql.driver():connect()
   session.begin(connection, sysbench.opt.session_sql)
end

local function run(text)
   if not connection then connect() end
   connection:query(text)
end

local function message(problem)
   local text = type(problem) == "table" and (problem.sql_errmsg or problem.errcode) or problem
   return tostring(text):gsub("%s+", " ")
end

local function add(form, ...) lines[#lines + 1] = form:format(...) end

local function tell(finished)
   add("t %d %.6f\n", sysbench.tid, due)
   io.write(table.concat(lines))
   io.flush()
   lines, told = {}, finished
end

function thread_init()
   connect()
   period = sysbench.opt.threads / sysbench.opt.rate_of_all
   told = now()
   due = told + period * sysbench.tid / sysbench.opt.threads
end

function event()
   local text, early = statement(), due - now()
   if early > 0 then ffi.C.usleep(early * 1e6) end
   local good, problem = pcall(run, text)
   local finished = now()
   if good then
      add("s %.6f %.3f\n", due, (finished - due) * 1000)
   else
      add("e %.6f %s\n", finished, message(problem))
      if connection then pcall(connection.disconnect, connection) end
      connection = nil
   end
   if finished - told > TELL_SECONDS then tell(finished) end
   due = due + period
end

function thread_done()
   if connection then connection:disconnect() end
end
