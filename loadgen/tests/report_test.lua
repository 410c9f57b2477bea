-- Progress lines, summary, and the report's figures from sysbench's statistics.
local check, report = require("check"), require("report")

local function statistics(changes)
   local stat = {
      time_interval = 2,
      time_total = 10,
      threads_running = 4,
      events = 100,
      reads = 1400,
      writes = 400,
      other = 200,
      errors = 3,
      reconnects = 1,
      latency_pct = 0.025,
      latency_min = 0.001,
      latency_avg = 0.01,
      latency_max = 0.2,
   }
   for name, value in pairs(changes or {}) do
      stat[name] = value
   end
   return stat
end

check.test("rates are per second, times in milliseconds", function()
   local result = report.result(statistics(), "oltp_read_write", { threads = 4, percentile = 95 }, { p50 = 9, p99 = 50 })
   check.equal(result.transactions_per_second, 50)
   check.equal(result.queries, 2000)
   check.equal(result.queries_per_second, 1000)
   check.equal(result.latency_ms.avg, 10)
   check.equal(result.latency_ms.max, 200)
   check.equal(result.latency_ms.p50, 9)
   check.equal(result.latency_ms.p95, 25)
   check.equal(result.errors, 3)
end)

check.test("sysbench's own percentile is p95 only if it was asked for 95", function()
   local result = report.result(statistics(), "w", { threads = 1, percentile = 99 }, {})
   check.equal(result.latency_ms.p95, nil)
   check.contains(report.summary(result), "p95 -, p99 -")
   check.equal(report.result(statistics(), "w", { threads = 1, percentile = 99 }, { p95 = 7 }).latency_ms.p95, 7)
end)

check.test("a run of no time has rates of zero, not of infinity", function()
   local result = report.result(statistics({ time_interval = 0 }), "w", { threads = 1, percentile = 95 }, {})
   check.equal(result.transactions_per_second, 0)
end)

check.test("the progress line says time, rates, latency, errors", function()
   local line = report.progress_line(statistics(), 95)
   for _, part in ipairs({
      "10 s",
      "4 threads",
      "50.0 transactions/s",
      "1000.0 queries/s",
      "(700.0 reads, 200.0 writes)",
      "p95 25.00 ms",
      "1.5 errors/s",
      "0.5 reconnects/s",
   }) do
      check.contains(line, part)
   end
end)

check.test("an older report is gone when a run starts, the new one is whole when it ends", function()
   local path = os.tmpname()
   report.start(path)
   check.equal(io.open(path), nil)
   report.finish(path, { workload = "w" })
   local file = assert(io.open(path))
   check.equal(file:read("*a"), '{"workload": "w"}\n')
   file:close()
   os.remove(path)
end)

check.test("a report that cannot be written is refused before the run", function()
   check.fails("/no/such/folder", report.start, "/no/such/folder/report.json")
   report.start("")
   report.finish("", {})
end)

check.done()
