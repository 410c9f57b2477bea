-- What a run tells. In: sysbench's statistics (seconds), statistics.summary's figures (milliseconds), the settings. Out: a progress line,
-- a result for the JSON report, the result as text. Pure. Must never: print options that are not named here (one is a password).

local mix = require("tpcw.mix")

local report = {}

local function rate(count, seconds) return seconds > 0 and count / seconds or 0 end

function report.progress_line(stat, fresh, percentile)
   local seconds = stat.time_interval
   return ("%4.0f s  %u threads  %8.1f WIPS  %9.1f queries/s  p%u %.2f ms  %.1f retries/s  %.1f errors/s"):format(
      stat.time_total,
      stat.threads_running,
      rate(fresh.count, seconds),
      rate(stat.reads + stat.writes + stat.other, seconds),
      percentile,
      stat.latency_pct * 1000,
      rate(fresh.retries, seconds),
      rate(fresh.errors, seconds)
   )
end

local function told(figures, seconds)
   return {
      count = figures.count,
      wips = rate(figures.count, seconds),
      errors = figures.errors,
      retries = figures.retries,
      latency_ms = { avg = figures.avg, p50 = figures.p50, p90 = figures.p90, p95 = figures.p95, p99 = figures.p99 },
   }
end

-- figures: {overall, each by name, commits}, of statistics.summary.
function report.result(stat, figures, opt)
   local seconds = stat.time_interval
   local result = told(figures.overall, seconds)
   result.workload, result.mix, result.items, result.ebs, result.seed = "tpcw", opt.mix, opt.items, opt.ebs, opt.seed
   result.split, result.think, result.prepared_statements = opt.split, opt.think, opt.db_ps_mode ~= "disable"
   result.threads, result.seconds, result.reconnects = opt.threads, seconds, stat.reconnects
   result.queries = stat.reads + stat.writes + stat.other
   result.queries_per_second = rate(result.queries, seconds)
   result.commits = { count = figures.commits.count, latency_ms = told(figures.commits, seconds).latency_ms }
   result.interactions = {}
   for name, one in pairs(figures.each) do
      result.interactions[name] = told(one, seconds)
   end
   return result
end

local function milliseconds(value) return value and ("%.2f"):format(value) or "-" end

local function line(name, one)
   local latency = one.latency_ms
   return ("  %-22s %10u %10.2f %10s %10s %10s %8u %8u"):format(
      name,
      one.count,
      one.wips,
      milliseconds(latency.p50),
      milliseconds(latency.p90),
      milliseconds(latency.p99),
      one.errors,
      one.retries
   )
end

function report.text(result)
   local lines = {
      ("TPC-W %s mix: %.1f s, %u threads, %u queries (%.1f/s), %u reconnects"):format(
         result.mix,
         result.seconds,
         result.threads,
         result.queries,
         result.queries_per_second,
         result.reconnects
      ),
      ("  %-22s %10s %10s %10s %10s %10s %8s %8s"):format(
         "interaction",
         "count",
         "WIPS",
         "p50, ms",
         "p90, ms",
         "p99, ms",
         "errors",
         "retries"
      ),
   }
   for _, name in ipairs(mix.NAMES) do
      lines[#lines + 1] = line(name, result.interactions[name])
   end
   lines[#lines + 1] = line("all", result)
   return table.concat(lines, "\n")
end

return report
