-- A very small test harness. In: named tests of one file. Out: one line per failure on stderr, and at the end
-- "passed failed" on stdout, which tests/run adds up.

local check = { passed = 0, failed = 0 }

function check.test(name, body)
   local good, reason = xpcall(body, debug.traceback)
   if good then
      check.passed = check.passed + 1
   else
      check.failed = check.failed + 1
      io.stderr:write("FAILED: ", name, ": ", tostring(reason), "\n")
   end
end

function check.equal(found, wanted)
   if found ~= wanted then error(("found %s, wanted %s"):format(tostring(found), tostring(wanted)), 2) end
end

function check.contains(text, part)
   if not text:find(part, 1, true) then error(("%q does not contain %q"):format(text, part), 2) end
end

function check.fails(part, body, ...)
   local good, reason = pcall(body, ...)
   if good then error("no error, wanted one with: " .. part, 2) end
   check.contains(tostring(reason), part)
end

function check.done() print(check.passed, check.failed) end

return check
