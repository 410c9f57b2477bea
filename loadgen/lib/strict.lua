-- Makes failures of parallel commands visible. In: a script's commands. Out: the same, ending the process with
-- status 1 on the first error. sysbench 1.0.20 runs `prepare --threads=2` in threads whose errors it prints, and
-- then exits with 0: a half-loaded table would look like success.

local strict = {}

local function leave()
   local ffi = require("ffi")
   ffi.cdef("void _exit(int)") -- exit() would wait for, or tear down, what other threads are using
   ffi.C._exit(1)
end

function strict.guard(command, fail)
   return function(...)
      local results = { pcall(command, ...) }
      if not results[1] then
         io.stdout:flush()
         local reason = type(results[2]) == "table" and results[2].sql_errmsg or results[2]
         io.stderr:write("FATAL: " .. tostring(reason) .. "\n")
         fail()
      end
      return unpack(results, 2)
   end
end

function strict.guarded(commands)
   if not commands then return nil end
   local all = {}
   for name, definition in pairs(commands) do
      all[name] = { strict.guard(definition[1], leave), definition[2] }
   end
   return all
end

return strict
