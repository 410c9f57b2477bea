-- Progress lines, summary and JSON report. In: sysbench's statistics tables (times in seconds, counts since the run's
-- start or since the last line). Out: text. Files are touched by start and finish only. Must never print options.

local json = require("json")

local report = {}

local function rate(count, seconds) return seconds > 0 and count / seconds or 0 end

function report.progress_line(stat, percentile)
   local seconds = stat.time_interval
   return (
      "%4.0f s  %u threads  %8.1f transactions/s  %9.1f queries/s (%.1f reads, %.1f writes)  p%u %.2f ms  "
      .. "%.1f errors/s  %.1f reconnects/s"
   ):format(
      stat.time_total,
      stat.threads_running,
      rate(stat.events, seconds),
      rate(stat.reads + stat.writes + stat.other, seconds),
      rate(stat.reads, seconds),
      rate(stat.writes, seconds),
      percentile,
      stat.latency_pct * 1000,
      rate(stat.errors, seconds),
      rate(stat.reconnects, seconds)
   )
end

-- quantiles: {p50, p95, p99} in milliseconds, each may be missing; p95 then comes from sysbench if it was asked.
function report.result(stat, workload, opt, quantiles)
   local seconds = stat.time_interval
   local queries = stat.reads + stat.writes + stat.other
   return {
      workload = workload,
      threads = opt.threads,
      seconds = seconds,
      transactions = stat.events,
      transactions_per_second = rate(stat.events, seconds),
      queries = queries,
      queries_per_second = rate(queries, seconds),
      reads = stat.reads,
      writes = stat.writes,
      other = stat.other,
      errors = stat.errors,
      reconnects = stat.reconnects,
      latency_ms = {
         min = stat.latency_min * 1000,
         avg = stat.latency_avg * 1000,
         p50 = quantiles.p50,
         p95 = quantiles.p95 or (opt.percentile == 95 and stat.latency_pct * 1000 or nil),
         p99 = quantiles.p99,
         max = stat.latency_max * 1000,
      },
   }
end

local function milliseconds(value) return value and ("%.2f"):format(value) or "-" end

function report.summary(result)
   local latency = result.latency_ms
   return (
      "%s: %.1f s, %u threads\n"
      .. "  transactions %u (%.1f/s), queries %u (%.1f/s): %u reads, %u writes, %u other\n"
      .. "  latency ms: min %s, avg %s, p50 %s, p95 %s, p99 %s, max %s\n"
      .. "  restarted after errors %u, reconnects %u"
   ):format(
      result.workload,
      result.seconds,
      result.threads,
      result.transactions,
      result.transactions_per_second,
      result.queries,
      result.queries_per_second,
      result.reads,
      result.writes,
      result.other,
      milliseconds(latency.min),
      milliseconds(latency.avg),
      milliseconds(latency.p50),
      milliseconds(latency.p95),
      milliseconds(latency.p99),
      milliseconds(latency.max),
      result.errors,
      result.reconnects
   )
end

-- Before the run: the file must be writable, and no older report may be taken for this run's.
function report.start(path)
   if path == "" then return end
   local file = assert(io.open(path, "w"))
   file:close()
   assert(os.remove(path))
end

-- sysbench ignores errors of the hook that calls this, so the process must end here if the report cannot be written.
function report.finish(path, result)
   if path == "" then return end
   local file, reason = io.open(path, "w")
   if file and file:write(json.encode(result), "\n") and file:close() then return end
   io.stderr:write("FATAL: report not written: ", reason or path, "\n")
   os.exit(1)
end

return report
