#!/usr/bin/env sysbench
-- One connection changes a row, reads it again, and goes on with another row: how long does reading one's own write take?
--
--   sysbench own.lua [options of the MySQL driver] --rows=N prepare
--   sysbench own.lua [options of the MySQL driver] --rows=N --warm-up=SECONDS --seconds=SECONDS [--session-sql=…] measure
--
-- In:  the table own_rows, which nobody else uses. Out: one line of JSON on stdout: {"reads", "stale" (reads that did not show the
--      write before them), "p50_ms", "p99_ms" (of the SELECT alone, exact)}.
-- Must never: count the UPDATE, or a read of the warm-up.
-- No globals but sysbench's.

local folder = sysbench.cmdline.script_path:match("^(.*)/[^/]*$") or "."
package.path = folder .. "/../lib/?.lua;" .. package.path

local ffi = require("ffi")
ffi.cdef("int clock_gettime(int clock, void *time);")

local json = require("json")
local session = require("session")
local strict = require("strict")

local CLOCK_MONOTONIC = 1
local ROWS_OF_AN_INSERT = 500

sysbench.cmdline.options = {
   rows = { "rows of the table", 10000 },
   warm_up = { "seconds that do not count", 1 },
   seconds = { "seconds that do", 3 },
   session_sql = { "statement that the connection begins with", "" },
}

local time = ffi.new("int64_t[2]")

local function now()
   ffi.C.clock_gettime(CLOCK_MONOTONIC, time)
   return tonumber(time[0]) + tonumber(time[1]) / 1e9
end

local function prepare()
   local admin = sysbench.sql.driver():connect()
   admin:query("DROP TABLE IF EXISTS own_rows")
   admin:query("CREATE TABLE own_rows (id INT PRIMARY KEY, v INT NOT NULL, pad CHAR(100) NOT NULL DEFAULT '')")
   for first = 1, sysbench.opt.rows, ROWS_OF_AN_INSERT do
      local values = {}
      for id = first, math.min(first + ROWS_OF_AN_INSERT - 1, sysbench.opt.rows) do
         values[#values + 1] = ("(%d,0)"):format(id)
      end
      admin:query("INSERT INTO own_rows (id, v) VALUES " .. table.concat(values, ","))
   end
end

-- Seconds that the read took, and what it found.
local function change_and_read(connection, id, value)
   connection:query(("UPDATE own_rows SET v = %d WHERE id = %d"):format(value, id))
   local started = now()
   local found = connection:query_row(("SELECT v FROM own_rows WHERE id = %d"):format(id))
   return now() - started, tonumber(found)
end

-- Nearest rank, in milliseconds. sorted: seconds.
local function percentile(sorted, share)
   local rank = math.max(1, math.ceil(share * #sorted))
   return sorted[rank] and sorted[rank] * 1000
end

local function measure()
   local connection = sysbench.sql.driver():connect()
   session.begin(connection, sysbench.opt.session_sql)
   local begin, value, stale, times = now() + sysbench.opt.warm_up, 0, 0, {}
   -- A value that no row has yet: runs follow each other on the same rows.
   local first = os.time() % 1000000 * 1000
   while now() < begin + sysbench.opt.seconds do
      value = value + 1
      local counts = now() >= begin
      local took, found = change_and_read(connection, sysbench.rand.uniform(1, sysbench.opt.rows), first + value)
      if counts then
         times[#times + 1] = took
         stale = stale + (found == first + value and 0 or 1)
      end
   end
   table.sort(times)
   print(json.encode({ reads = #times, stale = stale, p50_ms = percentile(times, 0.5), p99_ms = percentile(times, 0.99) }))
end

local function guarded(command)
   return strict.guard(command, function() os.exit(1) end)
end

sysbench.cmdline.commands = { prepare = { guarded(prepare) }, measure = { guarded(measure) } }
