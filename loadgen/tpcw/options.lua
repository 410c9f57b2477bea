-- The options of the TPC-W workload: what --help says, their defaults, and what is wrong with them. In: sysbench.opt. Out: all mistakes at
-- once. Pure but for require_good, which ends the process with status 64.

local mix = require("tpcw.mix")

local options = {}

local MISTAKE_STATUS = 64
local SCALES = { [1000] = true, [10000] = true, [100000] = true, [1000000] = true, [10000000] = true }
local MOST_EBS, MOST_SEED, MOST_CARTS = 250000, 2147483647, 1000000

options.DEFINITIONS = {
   mix = { "Mix of web interactions (run): browsing, shopping, ordering; of reads alone: light, best_sellers", "shopping" },
   items = { "Items in the shop: 1000, 10000, 100000, 1000000 or 10000000; authors are a quarter", 10000 },
   ebs = { "Emulated browsers that the database is sized for: 2880 customers each, 5760 addresses, 2592 orders", 10 },
   carts = { "Most shopping carts at a time, so most --threads of a run (prepare)", 1000 },
   seed = { "What all random numbers depend on: the same seed gives the same database, and the same clients", 1 },
   split = {
      "How transactions begin: auto (START TRANSACTION READ ONLY or READ WRITE, for proxies that split them), single "
         .. "(BEGIN, for one server)",
      "auto",
   },
   think = { "Think before each interaction, negative exponential with a mean of 7 s and at most 70 s", false },
   retries = { "How often an interaction is tried again after an error of --mysql-ignore-errors; then it counts as an error", 100 },
   satellites = {
      "Whether check also proves that every satellite equals the master: on, off, or auto (if the stack of this folder is up)",
      "auto",
   },
   report = { "Write the result of a run to this file, as JSON", "" },
   session_sql = { "Statement that each connection of a run begins with, for example SET @multimed_consistency = 'eventual'", "" },
}

local function whole(value, least, most) return type(value) == "number" and value == math.floor(value) and value >= least and value <= most end

-- prepared.lua reads sysbench's own memory, which is known of this version only.
local function rows_unknown(opt, version) return opt.db_ps_mode ~= "disable" and not version:find("^1%.0%.") end

-- {is it wrong, what to say}, for each rule.
local function rules(opt, version)
   return {
      { not mix.known(opt.mix), "--mix: browsing, shopping, ordering, light or best_sellers" },
      { not SCALES[opt.items], "--items: 1000, 10000, 100000, 1000000 or 10000000" },
      { not whole(opt.ebs, 1, MOST_EBS), ("--ebs: a whole number from 1 to %d"):format(MOST_EBS) },
      { not whole(opt.carts, 1, MOST_CARTS), ("--carts: a whole number from 1 to %d"):format(MOST_CARTS) },
      { not whole(opt.seed, 0, MOST_SEED), ("--seed: a whole number from 0 to %d"):format(MOST_SEED) },
      { opt.split ~= "auto" and opt.split ~= "single", "--split: auto or single" },
      { opt.satellites ~= "auto" and opt.satellites ~= "on" and opt.satellites ~= "off", "--satellites: auto, on or off" },
      { not whole(opt.retries, 0, 1000000), "--retries: a whole number from 0 to 1000000" },
      { rows_unknown(opt, version), "--db-ps-mode: disable with sysbench " .. version .. ", prepared statements with 1.0 only" },
      { opt.db_driver ~= nil and opt.db_driver ~= "" and opt.db_driver ~= "mysql", "--db-driver: mysql only" },
   }
end

-- With "all" an interaction that can never succeed would be tried again and again instead of ending the run.
local function ignores_all(opt)
   for _, code in ipairs(opt.mysql_ignore_errors or {}) do
      if code == "all" then return true end
   end
   return false
end

-- version: sysbench's.
function options.mistakes(opt, version)
   local found = {}
   for _, rule in ipairs(rules(opt, version)) do
      if rule[1] then found[#found + 1] = rule[2] end
   end
   if ignores_all(opt) then
      found[#found + 1] = "--mysql-ignore-errors=all would hide every SQL error: list the codes that may be tried again"
   end
   return found
end

function options.require_good(mistakes)
   if #mistakes == 0 then return end
   for _, mistake in ipairs(mistakes) do
      io.stderr:write("FATAL: ", mistake, "\n")
   end
   os.exit(MISTAKE_STATUS)
end

-- parameters: what the database was prepared with, by name; {} if it was not.
function options.unprepared(parameters) return next(parameters) == nil and { "the database is not prepared, or not to its end" } or {} end

-- What keeps a run from using a prepared database. Each client has a cart of its own.
function options.unfit(opt, parameters)
   local found = {}
   for _, name in ipairs({ "items", "ebs" }) do
      if opt[name] ~= parameters[name] then
         found[#found + 1] = ("--%s=%d, but the database was prepared with %d"):format(name, opt[name], parameters[name])
      end
   end
   if opt.threads > parameters.carts then
      found[#found + 1] = ("--threads=%d, but the database was prepared for %d carts (--carts)"):format(opt.threads, parameters.carts)
   end
   return found
end

return options
