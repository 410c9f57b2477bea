-- Time on the machine's monotonic clock, and think times. In: seconds. Out: seconds. Must never: sleep beyond the run's end.

local ffi = require("ffi")
ffi.cdef [[
   int clock_gettime(int clock, void *time);
   int usleep(unsigned int microseconds);
]]

local clock = {}

local CLOCK_MONOTONIC = 1
local SLICE_SECONDS = 0.5
local THINK_MEAN, THINK_MOST = 7, 70 -- seconds

function clock.now()
   local time = ffi.new("int64_t[2]")
   ffi.C.clock_gettime(CLOCK_MONOTONIC, time)
   return tonumber(time[0]) + tonumber(time[1]) / 1e9
end

function clock.think_seconds(stream) return math.min(stream:exponential(THINK_MEAN), THINK_MOST) end

-- Sleeps; false if the end came first. (usleep takes less than a second at a time.)
function clock.sleep(seconds, the_end)
   local wake = math.min(clock.now() + seconds, the_end)
   local left = wake - clock.now()
   while left > 0 do
      ffi.C.usleep(math.floor(math.min(left, SLICE_SECONDS) * 1e6))
      left = wake - clock.now()
   end
   return wake < the_end
end

return clock
