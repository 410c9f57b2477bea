-- Counts and latencies per interaction, and of the COMMITs of those that write, in memory that all threads see. In: what each client's
-- thread counts in a place of its own, so without locks. Out: figures since the last report of the same kind: {count, errors, retries,
-- avg, p50, p90, p95, p99 (milliseconds)}.
-- Must never: be created while threads run, or be written by any thread but the place's own (the two places behind the clients'
-- belong to the threads that report).

local ffi = require("ffi")
local mix = require("tpcw.mix")
local shared = require("tpcw.shared")

ffi.cdef [[
   typedef struct { double milliseconds; uint32_t count, errors, retries; uint32_t bucket[1024]; } loadgen_tpcw_figures;
   typedef struct { loadgen_tpcw_figures of[15]; } loadgen_tpcw_place;
]]

local statistics = {}

local NAME = "STATISTICS"
local INTERACTIONS = #mix.NAMES
local COMMITS = INTERACTIONS + 1 -- their place behind the interactions
local BUCKETS = 1024
local SHORTEST, LONGEST = 0.001, 100000 -- milliseconds; sysbench's own histogram has the same bounds and steps of 1.8 %
local STEP = math.log(LONGEST / SHORTEST) / BUCKETS
local QUANTILES = { p50 = 0.50, p90 = 0.90, p95 = 0.95, p99 = 0.99 }

function statistics.create(threads) shared.create(NAME, (threads + 2) * ffi.sizeof("loadgen_tpcw_place")) end

function statistics.find(threads) return { places = ffi.cast("loadgen_tpcw_place *", shared.find(NAME)), threads = threads } end

local function bucket_of(milliseconds)
   local number = math.floor(math.log(math.max(milliseconds, SHORTEST) / SHORTEST) / STEP)
   return math.min(number, BUCKETS - 1)
end

-- number: the interaction's in mix.NUMBER.
function statistics.completed(all, thread, number, milliseconds)
   local figures = all.places[thread].of[number - 1]
   local bucket = bucket_of(milliseconds)
   figures.count = figures.count + 1
   figures.milliseconds = figures.milliseconds + milliseconds
   figures.bucket[bucket] = figures.bucket[bucket] + 1
end

-- Of whatever interaction.
function statistics.committed(all, thread, _, milliseconds) statistics.completed(all, thread, COMMITS, milliseconds) end

function statistics.retried(all, thread, number)
   local figures = all.places[thread].of[number - 1]
   figures.retries = figures.retries + 1
end

function statistics.failed(all, thread, number)
   local figures = all.places[thread].of[number - 1]
   figures.errors = figures.errors + 1
end

local function add_counts(sum, figures, sign)
   sum.count = sum.count + sign * figures.count
   sum.errors = sum.errors + sign * figures.errors
   sum.retries = sum.retries + sign * figures.retries
   sum.milliseconds = sum.milliseconds + sign * figures.milliseconds
end

local function add_all(sum, figures, sign)
   add_counts(sum, figures, sign)
   for bucket = 0, BUCKETS - 1 do
      sum.bucket[bucket] = sum.bucket[bucket] + sign * figures.bucket[bucket]
   end
end

-- What came since the last call with this place, which remembers the sums of then.
local function since(all, place, add)
   local last, fresh = all.places[place], ffi.new("loadgen_tpcw_place")
   for number = 0, COMMITS - 1 do
      local sum = fresh.of[number]
      for thread = 0, all.threads - 1 do
         add(sum, all.places[thread].of[number], 1)
      end
      add(sum, last.of[number], -1)
      add(last.of[number], sum, 1)
   end
   return fresh
end

-- By what the buckets hold: a thread may be between counting and filling one.
local function quantile(figures, share)
   local held, seen = 0, 0
   for bucket = 0, BUCKETS - 1 do
      held = held + figures.bucket[bucket]
   end
   local wanted = share * held
   for bucket = 0, BUCKETS - 1 do
      seen = seen + figures.bucket[bucket]
      if seen >= wanted then return SHORTEST * math.exp((bucket + 0.5) * STEP) end
   end
end

-- Latencies are missing where nothing was completed.
local function readable(figures)
   local found = { count = figures.count, errors = figures.errors, retries = figures.retries }
   if figures.count > 0 then
      found.avg = figures.milliseconds / figures.count
      for name, share in pairs(QUANTILES) do
         found[name] = quantile(figures, share)
      end
   end
   return found
end

-- Since the last progress line, of all interactions: {count, errors, retries}.
function statistics.progress(all)
   local fresh, sum = since(all, all.threads, add_counts), ffi.new("loadgen_tpcw_figures")
   for number = 0, INTERACTIONS - 1 do
      add_counts(sum, fresh.of[number], 1)
   end
   return { count = sum.count, errors = sum.errors, retries = sum.retries }
end

-- Since the run's start or the last summary: of all interactions, of each by its name, and of COMMITs.
function statistics.summary(all)
   local fresh, sum, each = since(all, all.threads + 1, add_all), ffi.new("loadgen_tpcw_figures"), {}
   for number, name in ipairs(mix.NAMES) do
      local figures = fresh.of[number - 1]
      add_all(sum, figures, 1)
      each[name] = readable(figures)
   end
   return { overall = readable(sum), each = each, commits = readable(fresh.of[COMMITS - 1]) }
end

return statistics
