-- Lets the threads of a parallel command wait for each other, which sysbench has no means for. In: how many they are. Out: wait(n)
-- returns in each thread once all have come to phase n. Each thread writes a place of its own only.
-- Must never: be opened while threads run. A thread that fails ends the process (lib/strict.lua), so nobody waits for it.

local ffi = require("ffi")
local shared = require("tpcw.shared")
ffi.cdef("int usleep(unsigned int microseconds);")

local phases = {}

local NAME = "PHASES"
local PLACES = 65536 -- more than the threads a process can have; memory that is never written is never taken
local POLL_MICROSECONDS = 20000

-- The script is loaded once before there are threads, and once in each of them.
function phases.open()
   if not shared.find(NAME) then shared.create(NAME, PLACES * ffi.sizeof("int64_t")) end
end

local function all_came(places, threads, phase)
   for thread = 0, threads - 1 do
      if places[thread] < phase then return false end
   end
   return true
end

function phases.wait(phase, thread, threads)
   local places = ffi.cast("volatile int64_t *", shared.find(NAME))
   places[thread] = phase
   while not all_came(places, threads, phase) do
      ffi.C.usleep(POLL_MICROSECONDS)
   end
end

return phases
