-- Which workloads get their transactions declared, and that the others are left alone.
local check, read_only, strict = require("check"), require("read_only"), require("strict")

local function declared(workload)
   local sent
   _G.prepare_begin = function() sent = "BEGIN" end
   _G.stmt = {}
   _G.con = {
      prepare = function(_, text)
         sent = text
         return text
      end,
   }
   read_only.declare(workload)
   _G.prepare_begin()
   return sent
end

check.test("only workloads that only read are declared read-only", function()
   check.equal(declared("oltp_read_only"), "START TRANSACTION READ ONLY")
   for _, workload in ipairs({ "oltp_read_write", "oltp_write_only", "oltp_point_select", "bulk_insert" }) do
      check.equal(declared(workload), "BEGIN")
   end
end)

check.test("errors of a parallel command end the process, results pass", function()
   local ended = 0
   local function fail() ended = ended + 1 end
   check.equal(strict.guard(function(a, b) return a + b end, fail)(1, 2), 3)
   check.equal(ended, 0)
   local stderr = io.stderr
   local said = {}
   io.stderr = { write = function(_, ...) said[#said + 1] = table.concat({ ... }) end }
   strict.guard(function() error("table exists", 0) end, fail)()
   strict.guard(function() error({ sql_errmsg = "deadlock" }) end, fail)()
   io.stderr = stderr
   check.equal(ended, 2)
   check.equal(table.concat(said), "FATAL: table exists\nFATAL: deadlock\n")
end)

check.test("a script without commands keeps none, parallel ones stay parallel", function()
   check.equal(strict.guarded(nil), nil)
   check.equal(strict.guarded({ prepare = { print, true } }).prepare[2], true)
end)

check.done()
