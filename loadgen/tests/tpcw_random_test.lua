-- Random streams: the same for the same numbers, even, within bounds; words and amounts made from them.
local check, random, words, amounts = require("check"), require("tpcw.random"), require("tpcw.words"), require("tpcw.amounts")

check.test("a stream depends on seed, purpose and number, and on nothing else", function()
   local function drawn(...) return random.stream(...):uniform(1, 1000000000) end
   check.equal(drawn(1, 2, 3), drawn(1, 2, 3))
   local seen = {}
   for _, place in ipairs({ { 1, 2, 3 }, { 2, 2, 3 }, { 1, 3, 3 }, { 1, 2, 4 }, { 0, 0, 0 }, { 2147483647, 2, 3 } }) do
      local value = drawn(unpack(place))
      check.equal(seen[value], nil)
      seen[value] = true
   end
end)

check.test("first draws of neighbouring numbers are even", function()
   local count = {}
   for number = 1, 20000 do
      local value = random.stream(1, 2, number):uniform(1, 10)
      count[value] = (count[value] or 0) + 1
   end
   for value = 1, 10 do
      check.equal(math.abs(count[value] - 2000) < 200, true)
   end
end)

check.test("uniform and non-uniform numbers keep their bounds, and reach them", function()
   local stream, least, most = random.stream(7, 1, 1), math.huge, -math.huge
   for _ = 1, 20000 do
      local value = stream:nurand(63, 1, 1000)
      check.equal(value >= 1 and value <= 1000 and value == math.floor(value), true)
      value = stream:uniform(-3, 3)
      least, most = math.min(least, value), math.max(most, value)
   end
   check.equal(least, -3)
   check.equal(most, 3)
end)

check.test("exponential numbers have their mean", function()
   local stream, sum = random.stream(7, 1, 2), 0
   for _ = 1, 20000 do
      sum = sum + stream:exponential(7)
   end
   check.equal(math.abs(sum / 20000 - 7) < 0.3, true)
end)

check.test("DIGSYL as in the specification", function()
   check.equal(words.digsyl(0, 0), "BA")
   check.equal(words.digsyl(1789, 0), "OGULINNG")
   check.equal(words.digsyl(23, 4), "BABAALRI")
   check.equal(#words.digsyl(1, 7), 14)
end)

check.test("24 subjects and 92 countries, each once", function()
   for _, list in ipairs({ { words.SUBJECTS, 24 }, { words.COUNTRIES, 92 } }) do
      local seen = {}
      for _, word in ipairs(list[1]) do
         check.equal(seen[word], nil)
         seen[word] = true
      end
      check.equal(#list[1], list[2])
   end
end)

check.test("text has its length, its word, and nothing to quote", function()
   local pool, stream = words.pool(1), random.stream(1, 1, 9)
   for _ = 1, 2000 do
      local text = words.text_around(pool, stream, "BAOGAL", 14, 60)
      check.equal(#text >= 14 and #text <= 60, true)
      check.contains(text, "BAOGAL")
      check.equal(text:find("[^%w ]"), nil)
      check.equal(words.digits(pool, stream, 16, 16):find("^%d+$"), 1)
   end
end)

check.test("dates before 1970 and money", function()
   check.equal(words.date(0), "1970-01-01")
   check.equal(words.date(-32872), "1880-01-01")
   check.equal(words.date(20454), "2026-01-01")
   check.equal(words.money(5), "0.05")
   check.equal(words.money(123456789012), "1234567890.12")
end)

check.test("an order costs what its lines say: rounded per line, half a cent up", function()
   check.equal(amounts.line({ quantity = 1, cents = 101, discount = 5000 }), 51)
   check.equal(amounts.line({ quantity = 300, cents = 999999, discount = 0 }), 299999700)
   local costs = amounts.order({ { quantity = 2, cents = 1000, discount = 0 }, { quantity = 1, cents = 101, discount = 5000 } })
   check.equal(costs.sub_total, 2051)
   check.equal(costs.tax, 169)
   check.equal(costs.total, 2051 + 169 + 300 + 3 * 100)
end)

check.done()
