#!/usr/bin/env sysbench
-- Point selects and range selects of sysbench's tables, one statement an event, so that latency is a statement's.
--
--   sysbench mix.lua --tables=4 --table-size=10000 --ranges=20 --range-size=100 [options of sysbench] run
--
-- In:  tables as sysbench's OLTP scripts made them, the share of the ranges and their rows. Out: with --report-interval a line a second,
--      as of loadgen/oltp.lua.
-- Must never: send large results, which would make the client and the gate work more than MySQL.
-- No globals but sysbench's callbacks.

local folder = sysbench.cmdline.script_path:match("^(.*)/[^/]*$") or "."
package.path = folder .. "/../lib/?.lua;" .. package.path

local report = require("report")
local session = require("session")

sysbench.cmdline.options = {
   tables = { "tables", 4 },
   table_size = { "rows of each", 10000 },
   ranges = { "percent of the statements that read a range", 20 },
   range_size = { "rows of a range", 100 },
   session_sql = { "statement that each connection begins with", "" },
}

local POINT = "SELECT c FROM sbtest%d WHERE id = %d"
local RANGE = "SELECT SUM(LENGTH(c)) FROM sbtest%d WHERE id BETWEEN %d AND %d"

local connection

function thread_init()
   connection = sysbench.sql.driver():connect()
   session.begin(connection, sysbench.opt.session_sql)
end

function event()
   local opt = sysbench.opt
   local at, id = sysbench.rand.uniform(1, opt.tables), sysbench.rand.uniform(1, opt.table_size)
   local range = sysbench.rand.uniform(1, 100) <= opt.ranges
   connection:query(range and RANGE:format(at, id, id + opt.range_size - 1) or POINT:format(at, id))
end

function thread_done() connection:disconnect() end

function sysbench.hooks.report_intermediate(stat)
   print(report.progress_line(stat, sysbench.opt.percentile))
   io.stdout:flush()
end
