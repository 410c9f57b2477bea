#!/usr/bin/env sysbench
-- sysbench's own OLTP scripts, behind any proxy that splits reads from writes.
--
--   sysbench loadgen/oltp.lua --workload=oltp_read_only [options of sysbench and of that script] prepare|run|cleanup
--
-- In:  the name of a script that comes with sysbench (--workload, on the command line, not in a --config-file) and
--      that script's own options.
-- Out: what the script does, unchanged, plus: read-only transactions declared as such, one progress line per
--      --report-interval, a summary, and with --report=FILE the same as JSON, written only if the run succeeded
--      (or came to a point of --report-checkpoints; what follows one counts anew).
-- Must never: change what a workload does beyond that, hide an SQL error, or print an option's value (the
--      password is one).
-- Only sysbench's callbacks and what the stock scripts define are global.

local folder = sysbench.cmdline.script_path:match("^(.*)/[^/]*$") or "."
package.path = folder .. "/lib/?.lua;" .. package.path

local options = require("options")
local workload = options.workload_of(sysbench.cmdline.argv)
options.load(workload)

local latency = require("latency")
local read_only = require("read_only")
local report = require("report")
local session = require("session")
local strict = require("strict")

sysbench.cmdline.options = options.added_to(sysbench.cmdline.options)
sysbench.cmdline.commands = strict.guarded(sysbench.cmdline.commands)

local stock = { init = init, thread_init = thread_init, thread_done = thread_done }

function init()
   options.check(sysbench.opt)
   report.start(sysbench.opt.report)
   if stock.init then stock.init() end
end

function thread_init(...)
   if sysbench.opt.declare_read_only then read_only.declare(workload) end
   if stock.thread_init then stock.thread_init(...) end
   session.begin(con, sysbench.opt.session_sql)
end

function thread_done(...)
   latency.publish(sysbench.tid)
   if stock.thread_done then return stock.thread_done(...) end
end

function sysbench.hooks.report_intermediate(stat)
   print(report.progress_line(stat, sysbench.opt.percentile))
   io.stdout:flush()
end

function sysbench.hooks.report_cumulative(stat)
   local result = report.result(stat, workload, sysbench.opt, latency.collect(sysbench.opt.threads))
   print(report.summary(result))
   io.stdout:flush()
   report.finish(sysbench.opt.report, result)
end
