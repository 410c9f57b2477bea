#!/usr/bin/env sysbench
-- The database side of TPC-W 1.8: a bookshop's 14 web interactions, as in the evaluation of the Multimed paper (section 4.2).
--
--   sysbench loadgen/tpcw.lua --mix=shopping --items=N --ebs=N [options of sysbench and of the MySQL driver] prepare|run|check|cleanup
--
-- In:  a MySQL server, or any proxy that splits reads from writes, and the options of tpcw/options.lua.
-- Out: prepare: the tables, the same for the same --seed. run: one progress line per --report-interval (every second), figures per
--      interaction, and with --report=FILE the same as JSON, written only if the run succeeded (of each of --report-checkpoints in FILE.1,
--      FILE.2, …). check: a line per condition, and what verify says of the stack's satellites; status 1 if anything does not hold.
-- Must never: hide an SQL error (those of --mysql-ignore-errors try the interaction again, and are counted), or print a password.
-- No globals but sysbench's callbacks.

local folder = sysbench.cmdline.script_path:match("^(.*)/[^/]*$") or "."
package.path = folder .. "/?.lua;" .. folder .. "/lib/?.lua;" .. package.path

local ffi = require("ffi")
local check = require("tpcw.check")
local client = require("tpcw.client")
local clock = require("tpcw.clock")
local database = require("tpcw.database")
local load = require("tpcw.load")
local options = require("tpcw.options")
local phases = require("tpcw.phases")
local progress = require("tpcw.progress")
local random = require("tpcw.random")
local report = require("tpcw.report")
local report_file = require("report")
local rows = require("tpcw.rows")
local scale = require("tpcw.scale")
local schema = require("tpcw.schema")
local statistics = require("tpcw.statistics")
local strict = require("strict")
local words = require("tpcw.words")

-- Of random streams: rows have smaller ones.
local CLIENT_PURPOSE = 100

sysbench.cmdline.options = options.DEFINITIONS
if sysbench.cmdline.command == "prepare" then phases.open() end

local driver, me, the_end -- of this thread; a driver that nobody refers to would be taken down
local reporting = 0 -- in the main thread, which has run init: the end; in that of --report-checkpoints: how many were reported

local function connect()
   driver = driver or sysbench.sql.driver()
   return driver:connect()
end

local function say(text)
   print(text)
   io.stdout:flush()
end

-- What the database was prepared with, by name.
local function parameters_of(connection)
   local found, result = {}, connection:query("SELECT name, value FROM " .. schema.PARAMETERS)
   for _ = 1, result.nrows do
      local row = result:fetch_row()
      found[row[1]] = tonumber(row[2])
   end
   options.require_good(options.unprepared(found))
   return found
end

-- prepare, check, cleanup ------------------------------------------------------------------------------------------------------------

local function prepare()
   local opt = sysbench.opt
   if sysbench.tid == 0 then options.require_good(options.mistakes(opt, sysbench.version)) end
   phases.wait(1, sysbench.tid, opt.threads)
   local connection = connect()
   load.run({
      send = function(text) connection:query(text) end,
      thread = sysbench.tid,
      threads = opt.threads,
      say = say,
      generator = rows.generator(opt.seed, scale.of(opt.items, opt.ebs)),
      carts = opt.carts,
   })
   connection:disconnect()
end

-- command: of the repository, run in its root.
local function succeeds(command)
   local quoted = folder:gsub("'", "'\\''")
   local status = os.execute(("cd '%s/..' && %s"):format(quoted, command))
   return status == 0 or status == true
end

local function stack_is_up() return succeeds("docker compose ps --services 2> /dev/null | grep -q '^satellite-'") end

-- By the stack's own proof, row by row at one GTID set: through a proxy nobody can say which server answers. True also if not asked.
local function satellites_hold()
   local asked = sysbench.opt.satellites
   if asked == "off" then return true end
   if asked == "auto" and not stack_is_up() then
      say("unasked satellites: the stack of this folder is not up")
      return true
   end
   local held = succeeds("mysql-satellite/verify")
   say(held and "holds   satellites: each equals the master" or "FAILED  satellites: not every one is proven to equal the master")
   return held
end

-- In one snapshot, so that it may run beside a load.
local function check_all()
   options.require_good(options.mistakes(sysbench.opt, sysbench.version))
   local connection = connect()
   local function first_row(query)
      local result = connection:query(query)
      return result.nrows > 0 and (result:fetch_row()[1] or "NULL") or nil
   end
   connection:query("START TRANSACTION READ ONLY")
   local broken = check.run(parameters_of(connection), first_row, say)
   connection:query("COMMIT")
   connection:disconnect()
   return satellites_hold() and broken == 0
end

local function cleanup()
   local connection = connect()
   for _, one in ipairs(schema.TABLES) do
      connection:query(schema.drop(one))
   end
   connection:disconnect()
end

sysbench.cmdline.commands = strict.guarded({
   prepare = { prepare, sysbench.cmdline.PARALLEL_COMMAND },
   check = { check_all },
   cleanup = { cleanup },
})

-- run --------------------------------------------------------------------------------------------------------------------------------

-- Those of an earlier run.
local function forget_checkpoints(path)
   local n = 1
   while path ~= "" and os.remove(path .. "." .. n) do
      n = n + 1
   end
end

function init()
   local opt = sysbench.opt
   options.require_good(options.mistakes(opt, sysbench.version))
   local connection = connect()
   options.require_good(options.unfit(opt, parameters_of(connection)))
   connection:disconnect()
   report_file.start(opt.report)
   forget_checkpoints(opt.report)
   statistics.create(opt.threads)
   progress.by_default(opt)
   reporting = "the end"
end

function thread_init(thread)
   local opt, all = sysbench.opt, statistics.find(sysbench.opt.threads)
   local settings = { split = opt.split, prepared = opt.db_ps_mode ~= "disable", session_sql = opt.session_sql }
   me = {
      db = database.new(connect(), settings),
      random = random.stream(opt.seed, CLIENT_PURPOSE, thread),
      scale = scale.of(opt.items, opt.ebs),
      pool = words.pool(opt.seed),
      cart = thread + 1,
      mix = opt.mix,
      retries = opt.retries,
      observe = function(what, number, milliseconds) statistics[what](all, thread, number, milliseconds) end,
   }
end

-- False if the run's end came first. Afterwards sysbench's clock of the event begins anew: thinking is no response time.
local function think(thread)
   the_end = the_end or clock.now() + (sysbench.opt.time > 0 and sysbench.opt.time or math.huge)
   local awake = clock.sleep(clock.think_seconds(me.random), the_end)
   ffi.C.sb_event_start(thread)
   return awake
end

function event(thread)
   if sysbench.opt.think and not think(thread) then return end
   client.step(me)
end

function thread_done() me.db:close() end

function sysbench.hooks.report_intermediate(stat)
   local fresh = statistics.progress(statistics.find(sysbench.opt.threads))
   say(report.progress_line(stat, fresh, sysbench.opt.percentile))
end

-- Where a report goes: what a checkpoint tells must not be taken for the run's, nor be replaced by it.
local function report_path()
   local path = sysbench.opt.report
   if reporting == "the end" or path == "" then return path end
   reporting = reporting + 1
   return path .. "." .. reporting
end

function sysbench.hooks.report_cumulative(stat)
   local result = report.result(stat, statistics.summary(statistics.find(sysbench.opt.threads)), sysbench.opt)
   say(report.text(result))
   report_file.finish(report_path(), result)
end
