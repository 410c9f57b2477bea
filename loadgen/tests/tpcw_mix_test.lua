-- The mixes: the specification's table to the hundredth, and the choice by it.
local check, mix, random = require("check"), require("tpcw.mix"), require("tpcw.random")

local SPECIFICATION = {
   browsing = { 29.00, 11.00, 11.00, 21.00, 12.00, 11.00, 2.00, 0.82, 0.75, 0.69, 0.30, 0.25, 0.10, 0.09 },
   shopping = { 16.00, 5.00, 5.00, 17.00, 20.00, 17.00, 11.60, 3.00, 2.60, 1.20, 0.75, 0.66, 0.10, 0.09 },
   ordering = { 9.12, 0.46, 0.46, 12.35, 14.53, 13.08, 13.53, 12.86, 12.73, 10.18, 0.25, 0.22, 0.12, 0.11 },
}

check.test("every number from 1 to 10 000 chooses, as often as the specification says", function()
   for name, wanted in pairs(SPECIFICATION) do
      local count = {}
      for drawn = 1, mix.WHOLE do
         local chosen = mix.choose(name, drawn)
         count[chosen] = (count[chosen] or 0) + 1
      end
      for number, interaction in ipairs(mix.NAMES) do
         check.equal(count[interaction], math.floor(wanted[number] * 100 + 0.5))
         check.equal(mix.weight(name, interaction), count[interaction])
      end
   end
end)

check.test("browsing to ordering: 95 to 5, 80 to 20, 50 to 50", function()
   for name, wanted in pairs({ browsing = 9500, shopping = 8000, ordering = 5000 }) do
      local sum = 0
      for number = 1, 6 do
         sum = sum + mix.weight(name, mix.NAMES[number])
      end
      check.equal(sum, wanted)
   end
end)

check.test("a seeded client comes close to it", function()
   local stream, homes = random.stream(3, 100, 0), 0
   for _ = 1, 50000 do
      if mix.choose("browsing", stream:uniform(1, mix.WHOLE)) == "home" then homes = homes + 1 end
   end
   check.equal(math.abs(homes / 50000 - 0.29) < 0.01, true)
end)

check.test("two mixes of reads alone: the short ones, and best sellers", function()
   local light, sum = { home = true, product_detail = true, search_request = true, customer_registration = true }, 0
   for _, name in ipairs(mix.NAMES) do
      sum = sum + mix.weight("light", name)
      check.equal(mix.weight("light", name) > 0, light[name] == true)
      check.equal(mix.weight("best_sellers", name), name == "best_sellers" and mix.WHOLE or 0)
   end
   check.equal(sum, mix.WHOLE)
end)

check.test("other mixes are unknown", function()
   check.equal(mix.known("shopping"), true)
   check.equal(mix.known("Shopping"), false)
end)

check.done()
