-- Latency quantiles beyond the one that sysbench reports. In: sysbench's own latency histogram, read by each worker
-- as it ends; out: {p50, p95, p99} in milliseconds, or {} where this sysbench does not export the histogram.
--
-- Why this way: sysbench empties the histogram just before it calls the cumulative hook, and that hook runs in
-- another Lua state than the workers. What they share is the process environment. The worker that reads last reads
-- after all others have finished their last event, so its figures cover everything.

local latency = {}

local QUANTILES = { { "p50", 50 }, { "p95", 95 }, { "p99", 99 } }
local VARIABLE = "LOADGEN_LATENCY_"
local CLOCK_MONOTONIC = 1

local function declarations()
   local ffi = require("ffi")
   ffi.cdef [[
      extern char sb_latency_histogram[];
      double sb_histogram_get_pct_cumulative(void *histogram, double percentile);
      int clock_gettime(int clock, void *time);
      int setenv(const char *name, const char *value, int overwrite);
   ]]
   return ffi
end

local function nanoseconds(ffi)
   local time = ffi.new("int64_t[2]")
   ffi.C.clock_gettime(CLOCK_MONOTONIC, time)
   return tonumber(time[0]) * 1e9 + tonumber(time[1])
end

function latency.encode(time, values)
   local words = { ("%.0f"):format(time) }
   for n, value in ipairs(values) do
      words[n + 1] = ("%.6f"):format(value)
   end
   return table.concat(words, " ")
end

-- The newest of the workers' readings, as {p50 = milliseconds, ...}; {} if there is none.
function latency.newest(readings)
   local newest, found = -1, {}
   for _, reading in ipairs(readings) do
      local numbers = {}
      for word in reading:gmatch("%S+") do
         numbers[#numbers + 1] = tonumber(word)
      end
      if #numbers == #QUANTILES + 1 and numbers[1] > newest then
         newest, found = numbers[1], {}
         for n, quantile in ipairs(QUANTILES) do
            found[quantile[1]] = numbers[n + 1]
         end
      end
   end
   return found
end

local function read_histogram()
   local ffi = declarations()
   local time, values = nanoseconds(ffi), {}
   for n, quantile in ipairs(QUANTILES) do
      values[n] = ffi.C.sb_histogram_get_pct_cumulative(ffi.C.sb_latency_histogram, quantile[2])
   end
   return ffi, latency.encode(time, values)
end

function latency.publish(thread)
   local known, ffi, reading = pcall(read_histogram)
   if known then ffi.C.setenv(VARIABLE .. thread, reading, 1) end
end

function latency.collect(threads)
   local readings = {}
   for thread = 0, threads - 1 do
      readings[#readings + 1] = os.getenv(VARIABLE .. thread)
   end
   return latency.newest(readings)
end

return latency
