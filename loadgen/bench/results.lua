#!/usr/bin/env sysbench
-- Results of a given size: rows that long, read by primary key.
--
--   sysbench results.lua --size=1024 --rows=64 [options of sysbench] prepare|run
--
-- In:  bytes of a result, rows of the table. Out: the table results_SIZE; a run's summary, and with --report=FILE the same as
--      JSON, as of loadgen/oltp.lua.
-- Must never: spend the machine's time on making rows: MySQL repeats one character.
-- No globals but sysbench's callbacks.

local folder = sysbench.cmdline.script_path:match("^(.*)/[^/]*$") or "."
package.path = folder .. "/../lib/?.lua;" .. package.path

local latency = require("latency")
local report = require("report")
local session = require("session")
local strict = require("strict")

sysbench.cmdline.options = {
   size = { "bytes of a result", 1024 },
   rows = { "rows of the table", 64 },
   text = { "bytes of a statement that is sent as text; 0: prepared, as db-ps-mode says", 0 },
   session_sql = { "statement that each connection begins with", "" },
   report = { "write the result of a run to this file, as JSON", "" },
}

-- What a long text is made of.
local CONDITION = " AND id <> 0"

local connection, statement, key, filling

local function table_name() return "results_" .. sysbench.opt.size end

local function prepare()
   local admin = sysbench.sql.driver():connect()
   admin:query("DROP TABLE IF EXISTS " .. table_name())
   admin:query(("CREATE TABLE %s (id INT PRIMARY KEY, c LONGBLOB NOT NULL)"):format(table_name()))
   for id = 1, sysbench.opt.rows do
      admin:query(("INSERT INTO %s VALUES (%d, REPEAT('%s', %d))"):format(table_name(), id, string.char(97 + id % 26), sysbench.opt.size))
   end
end

function init() report.start(sysbench.opt.report) end

function thread_init()
   connection = sysbench.sql.driver():connect()
   session.begin(connection, sysbench.opt.session_sql)
   statement = connection:prepare(("SELECT c FROM %s WHERE id=?"):format(table_name()))
   key = statement:bind_create(sysbench.sql.type.INT)
   statement:bind_param(key)
   filling = CONDITION:rep(math.floor(sysbench.opt.text / #CONDITION))
end

function event()
   local id = sysbench.rand.uniform(1, sysbench.opt.rows)
   if sysbench.opt.text > 0 then
      local short = ("SELECT c FROM %s WHERE id=%d"):format(table_name(), id)
      local conditions = math.floor((sysbench.opt.text - #short) / #CONDITION)
      connection:query(short .. filling:sub(1, conditions * #CONDITION))
      return
   end
   key:set(id)
   statement:execute()
end

function thread_done()
   latency.publish(sysbench.tid)
   statement:close()
   connection:disconnect()
end

function sysbench.hooks.report_cumulative(stat)
   local result = report.result(stat, table_name(), sysbench.opt, latency.collect(sysbench.opt.threads))
   print(report.summary(result))
   io.stdout:flush()
   report.finish(sysbench.opt.report, result)
end

sysbench.cmdline.commands = { prepare = { strict.guard(prepare, function() os.exit(1) end) } }
