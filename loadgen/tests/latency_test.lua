-- Quantiles handed from the workers to the reporter: the reading that began last counts.
local check, latency = require("check"), require("latency")

check.test("the newest reading wins, whatever the order (seeded)", function()
   math.randomseed(7)
   for _ = 1, 500 do
      local readings, newest, wanted = {}, -1, nil
      for n = 1, math.random(1, 8) do
         local time = math.random(1, 1e15)
         readings[n] = latency.encode(time, { n, n + 0.5, n + 1 })
         if time > newest then
            newest, wanted = time, n
         end
      end
      local found = latency.newest(readings)
      check.equal(found.p50, wanted)
      check.equal(found.p95, wanted + 0.5)
      check.equal(found.p99, wanted + 1)
   end
end)

check.test("no reading, or one that is not ours, gives no figures", function()
   check.equal(next(latency.newest({})), nil)
   check.equal(next(latency.newest({ "", "12", "a b c d", "1 2 3" })), nil)
end)

check.test("outside sysbench nothing is published and nothing fails", function()
   latency.publish(0)
   check.equal(next(latency.collect(1)), nil)
end)

check.done()
