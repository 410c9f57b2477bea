-- Statistics shared by threads, the report made of them, the options, and check's conditions.
local check, mix, statistics = require("check"), require("tpcw.mix"), require("tpcw.statistics")
local report, options, conditions, json = require("tpcw.report"), require("tpcw.options"), require("tpcw.check"), require("json")
local shared, clock, random = require("tpcw.shared"), require("tpcw.clock"), require("tpcw.random")

local HOME, CONFIRM = mix.NUMBER.home, mix.NUMBER.buy_confirm

local function statistics_of(threads)
   statistics.create(threads)
   return statistics.find(threads)
end

local function filled()
   local all = statistics_of(2)
   for n = 1, 100 do
      statistics.completed(all, n % 2, HOME, n)
   end
   statistics.completed(all, 1, CONFIRM, 1000)
   statistics.retried(all, 1, CONFIRM)
   statistics.failed(all, 0, CONFIRM)
   return all
end

check.test("quantiles of all threads together, within two per cent", function()
   local home = statistics.summary(filled()).each.home
   check.equal(home.count, 100)
   check.equal(home.avg, 50.5)
   for name, wanted in pairs({ p50 = 50, p90 = 90, p99 = 99 }) do
      check.equal(math.abs(home[name] / wanted - 1) < 0.02, true)
   end
end)

check.test("counts per interaction and overall; what nobody did has no latency", function()
   local figures = statistics.summary(filled())
   check.equal(figures.overall.count, 101)
   check.equal(figures.each.buy_confirm.retries, 1)
   check.equal(figures.each.buy_confirm.errors, 1)
   check.equal(figures.each.best_sellers.count, 0)
   check.equal(figures.each.best_sellers.p50, nil)
end)

check.test("COMMITs are counted apart from interactions", function()
   local all = filled()
   statistics.committed(all, 0, CONFIRM, 4)
   statistics.committed(all, 1, HOME, 4)
   local figures = statistics.summary(all)
   check.equal(figures.commits.count, 2)
   check.equal(math.abs(figures.commits.p99 / 4 - 1) < 0.02, true)
   check.equal(figures.overall.count, 101)
   check.equal(statistics.summary(all).commits.count, 0)
end)

check.test("a report counts from the last one of its kind; progress and summary do not disturb each other", function()
   local all = filled()
   check.equal(statistics.progress(all).count, 101)
   check.equal(statistics.progress(all).count, 0)
   check.equal(statistics.summary(all).overall.count, 101)
   statistics.completed(all, 0, HOME, 5)
   check.equal(statistics.progress(all).count, 1)
   check.equal(statistics.summary(all).overall.count, 1)
end)

check.test("times out of the histogram's bounds are held at them", function()
   local all = statistics_of(1)
   statistics.completed(all, 0, HOME, 0)
   statistics.completed(all, 0, HOME, 1e9)
   check.equal(statistics.summary(all).overall.count, 2)
end)

check.test("memory of another process is not taken for ours", function()
   check.equal(shared.find("NOTHING"), nil)
   statistics_of(1)
   local ffi = require("ffi")
   ffi.C.setenv("LOADGEN_TPCW_STATISTICS", "1 4096", 1)
   check.equal(shared.find("STATISTICS"), nil)
end)

local STAT = {
   time_interval = 2,
   time_total = 10,
   threads_running = 2,
   reads = 300,
   writes = 80,
   other = 20,
   reconnects = 0,
   latency_pct = 0.025,
}
local OPT = {
   mix = "shopping",
   items = 1000,
   ebs = 1,
   seed = 1,
   split = "auto",
   think = false,
   threads = 2,
   db_ps_mode = "auto",
   carts = 10,
   retries = 3,
   satellites = "auto",
}

check.test("the result has rates, latencies and all interactions, and is JSON", function()
   local result = report.result(STAT, statistics.summary(filled()), OPT)
   check.equal(result.wips, 50.5)
   check.equal(result.queries_per_second, 200)
   check.equal(result.interactions.buy_confirm.wips, 0.5)
   check.equal(result.interactions.best_sellers.latency_ms.p50, nil)
   check.equal(result.prepared_statements, true)
   check.contains(json.encode(result), '"buy_confirm": {"count": 1, "errors": 1, "latency_ms": {"avg": 1000')
end)

check.test("as text every interaction has a line, in the specification's order", function()
   local text = report.text(report.result(STAT, statistics.summary(filled()), OPT))
   local at = 0
   for _, name in ipairs(mix.NAMES) do
      local found = text:find("  " .. name, at + 1, true)
      check.equal(found ~= nil and found > at, true)
      at = found
   end
   check.contains(text, "50.50")
end)

check.test("the progress line says WIPS, queries, latency, retries and errors", function()
   local line = report.progress_line(STAT, { count = 50, retries = 3, errors = 1 }, 95)
   for _, part in ipairs({ "10 s", "2 threads", "25.0 WIPS", "200.0 queries/s", "p95 25.00 ms", "1.5 retries/s", "0.5 errors/s" }) do
      check.contains(line, part)
   end
end)

local function with(changes)
   local opt = {}
   for name, value in pairs(OPT) do
      opt[name] = value
   end
   for name, value in pairs(changes) do
      opt[name] = value
   end
   return opt
end

check.test("good options have no mistakes, bad ones are all named", function()
   check.equal(#options.mistakes(OPT, "1.0.20"), 0)
   local all = table.concat(
      options.mistakes(
         with({
            mix = "x",
            items = 5,
            ebs = 1.5,
            carts = 0,
            seed = -1,
            split = "both",
            retries = -1,
            satellites = true,
            mysql_ignore_errors = { "1213", "all" },
         }),
         "1.1.0"
      ),
      "\n"
   )
   for _, name in ipairs({
      "mix",
      "items",
      "ebs",
      "carts",
      "seed",
      "split",
      "satellites",
      "retries",
      "mysql-ignore-errors=all",
      "db-ps-mode",
   }) do
      check.contains(all, "--" .. name)
   end
end)

check.test(
   "text statements need no particular sysbench",
   function() check.equal(#options.mistakes(with({ db_ps_mode = "disable" }), "1.1.0"), 0) end
)

check.test("defaults are good, and every option is documented", function()
   local opt = { threads = 1 }
   for name, definition in pairs(options.DEFINITIONS) do
      opt[name] = definition[2]
      check.equal(#definition[1] > 10, true)
   end
   check.equal(#options.mistakes(opt, "1.0.20"), 0)
end)

check.test("a run needs the database that was prepared", function()
   check.equal(#options.unprepared({}), 1)
   check.equal(#options.unprepared({ items = 1000 }), 0)
   check.equal(#options.unfit(OPT, { items = 1000, ebs = 1, carts = 2 }), 0)
   check.equal(#options.unfit(OPT, { items = 10000, ebs = 2, carts = 1 }), 3)
end)

check.test("a condition that does not hold is named with its example, all are asked", function()
   local parameters = { items = 1000, ebs = 1, customers = 2880, addresses = 5760, orders = 2592, carts = 10 }
   local said, asked = {}, 0
   local broken = conditions.run(parameters, function(query)
      asked = asked + 1
      check.equal(query:find("^SELECT") ~= nil and query:find(";", 1, true) == nil, true)
      return query:find("i_received", 1, true) and "i_id=5" or nil
   end, function(line) said[#said + 1] = line end)
   check.equal(broken, 1)
   check.equal(asked, #conditions.conditions(parameters))
   check.equal(#said, asked)
   check.contains(table.concat(said, "\n"), "FAILED  item: stock is what came in, less what was sold since: i_id=5")
end)

check.test("think times have their mean and their bound, and end with the run", function()
   local stream, sum = random.stream(1, 1, 1), 0
   for _ = 1, 20000 do
      local seconds = clock.think_seconds(stream)
      check.equal(seconds >= 0 and seconds <= 70, true)
      sum = sum + seconds
   end
   check.equal(math.abs(sum / 20000 - 7) < 0.3, true)
   check.equal(clock.sleep(60, clock.now()), false)
   check.equal(clock.sleep(0.001, math.huge), true)
end)

check.done()
