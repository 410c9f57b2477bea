-- Memory that all threads of this process see. sysbench gives each thread a Lua of its own; what they share is the process, so the
-- memory's address goes through its environment. In: a name and a size. Out: zeroed memory, kept until the process ends.
-- Must never: be created while threads run (the environment has no lock).

local ffi = require("ffi")
ffi.cdef [[
   void *calloc(size_t count, size_t size);
   int setenv(const char *name, const char *value, int overwrite);
   int getpid(void);
]]

local shared = {}

local PREFIX = "LOADGEN_TPCW_"

function shared.create(name, bytes)
   local memory = ffi.C.calloc(1, bytes)
   assert(memory ~= nil, "no memory for " .. name)
   local address = tonumber(ffi.cast("uintptr_t", memory))
   ffi.C.setenv(PREFIX .. name, ("%d %.0f"):format(ffi.C.getpid(), address), 1)
   return memory
end

-- nil if this process has none of that name; a parent's is not ours.
function shared.find(name)
   local process, address = (os.getenv(PREFIX .. name) or ""):match("^(%d+) (%d+)$")
   if tonumber(process) ~= ffi.C.getpid() then return nil end
   return ffi.cast("void *", ffi.cast("uintptr_t", tonumber(address)))
end

return shared
