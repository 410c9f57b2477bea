-- The wrapper's options: the workload's name from the command line, our options beside the stock ones.
local check, options = require("check"), require("options")

check.test("the workload comes from the command line, the last one wins", function()
   check.equal(options.workload_of({ "oltp.lua", "--threads=4", "--workload=oltp_read_only", "run" }), "oltp_read_only")
   check.equal(options.workload_of({ "--workload=a", "--workload=b" }), "b")
   check.equal(options.workload_of({ "run" }), "oltp_read_write")
end)

check.test("a path or nothing is no workload", function()
   for _, name in ipairs({ "", "../oltp_read_only", "/etc/passwd", "a;b", "a.b" }) do
      check.fails("--workload=" .. name, options.workload_of, { "--workload=" .. name })
   end
end)

check.test(
   "a workload that sysbench does not have is named",
   function() check.fails("--workload=no_such_script", options.load, "no_such_script") end
)

check.test("stock options stay, ours are added, the stock table is not changed", function()
   local stock = { tables = { "Number of tables", 1 } }
   local all = options.added_to(stock)
   check.equal(all.tables, stock.tables)
   check.equal(all.declare_read_only[2], true)
   check.equal(all.report[2], "")
   check.equal(all.session_sql[2], "")
   check.equal(stock.report, nil)
   check.equal(type(options.added_to(nil).workload), "table")
end)

check.test("ignoring every SQL error is refused, listed codes are not", function()
   check.fails("hide every SQL error", options.check, { mysql_ignore_errors = { "1213", "all" } })
   options.check({ mysql_ignore_errors = { "1213", "1205" } })
   options.check({})
end)

check.done()
