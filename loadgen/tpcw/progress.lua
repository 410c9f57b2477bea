-- A progress line every second unless another interval was asked for: sysbench's own default is none, and scripts cannot set it.
-- In: sysbench.opt, in init, before sysbench reads its setting. Must never: write to memory that does not look like sysbench's settings, or
-- outdo a --report-interval=0 of the command line.

local ffi = require("ffi")
-- sb_globals_t of sysbench 1.0.x (src/sysbench.h), as numbers of 32 bits.
ffi.cdef("extern unsigned int sb_globals[];")

local progress = {}

local THREADS, REPORT_INTERVAL = 32, 34 -- where they are in sb_globals
local EVERY_SECOND = 1

local function asked()
   local file = io.open("/proc/self/cmdline")
   local words = file and file:read("*a") or ""
   if file then file:close() end
   return words:find("%z%-%-report[-_]interval") ~= nil
end

function progress.by_default(opt)
   if not sysbench.version:find("^1%.0%.") or asked() then return end
   local settings = ffi.C.sb_globals
   if settings[THREADS] == opt.threads and settings[REPORT_INTERVAL] == 0 and opt.report_interval == 0 then
      settings[REPORT_INTERVAL] = EVERY_SECOND
   end
end

return progress
