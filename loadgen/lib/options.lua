-- The wrapper's own options. In: sysbench's argument vector and option table. Out: the workload's name, the table
-- with our options added, or an error that says what to write instead. Pure but for load.

local options = {}

local DEFAULT_WORKLOAD = "oltp_read_write"

-- sysbench parses options only after the script has said which it knows; which script that is, is one of them.
function options.workload_of(argv)
   local name = DEFAULT_WORKLOAD
   for _, argument in ipairs(argv) do
      name = argument:match("^%-%-workload=(.*)$") or name
   end
   if not name:match("^[%w_]+$") then
      error("--workload=" .. name .. ": the name of a script that comes with sysbench is needed, for example " .. DEFAULT_WORKLOAD, 0)
   end
   return name
end

-- Runs the stock script; its errors are its own, but that it is not there is said plainly.
function options.load(name)
   if not options.found(name) then error("--workload=" .. name .. ": sysbench has no such script", 0) end
   require(name)
end

function options.found(name)
   for template in package.path:gmatch("[^;]+") do
      local file = io.open((template:gsub("%?", name)))
      if file then return file:close() end
   end
   return false
end

function options.added_to(stock)
   local all = {}
   for name, definition in pairs(stock or {}) do
      all[name] = definition
   end
   all.workload = {
      "Script of sysbench to run: oltp_read_write, oltp_read_only, oltp_point_select, " .. "oltp_write_only, ...",
      DEFAULT_WORKLOAD,
   }
   all.declare_read_only = {
      "Open the transactions of read-only workloads with START TRANSACTION READ ONLY, so " .. "that any splitting proxy can route them",
      true,
   }
   all.report = { "Write the result of a run to this file, as JSON", "" }
   all.session_sql = { "Statement that each connection of a run begins with, for example SET @multimed_consistency = " .. "'eventual'", "" }
   return all
end

-- With "all" sysbench would restart a failing transaction for ever and call the run a success.
function options.check(opt)
   for _, code in ipairs(opt.mysql_ignore_errors or {}) do
      if code == "all" then
         error("--mysql-ignore-errors=all would hide every SQL error: list the codes that may restart a transaction", 0)
      end
   end
end

return options
