-- JSON text: sorted keys, escapes, no numbers that JSON cannot express.
local check, json = require("check"), require("json")

-- Reads back a JSON string of the kinds that the encoder writes.
local function decoded(text)
   local plain = { ['"'] = '"', ["\\"] = "\\", n = "\n", r = "\r", t = "\t" }
   return (
      text
         :sub(2, -2)
         :gsub("\\u00(%x%x)", function(code) return "\0" .. code end)
         :gsub("\\(.)", plain)
         :gsub("%z(%x%x)", function(code) return string.char(tonumber(code, 16)) end)
   )
end

check.test("objects have sorted keys", function()
   check.equal(json.encode({ b = 1, a = { d = true, c = "x" } }), '{"a": {"c": "x", "d": true}, "b": 1}')
   check.equal(json.encode({}), "{}")
end)

check.test("numbers are whole where they are whole, and null where JSON has none", function()
   check.equal(json.encode(12345678901), "12345678901")
   check.equal(json.encode(0.25), "0.25")
   check.equal(json.encode(-3), "-3")
   check.equal(json.encode(0 / 0), "null")
   check.equal(json.encode(math.huge), "null")
   check.equal(json.encode(-math.huge), "null")
end)

check.test("any text survives, quotes and control characters included (seeded)", function()
   math.randomseed(20110411)
   for _ = 1, 2000 do
      local characters = {}
      for n = 1, math.random(0, 20) do
         characters[n] = string.char(math.random(1, 127))
      end
      local text = table.concat(characters)
      local encoded = json.encode(text)
      check.equal(encoded:find("[%c]"), nil)
      check.equal(decoded(encoded), text)
   end
end)

check.test("what has no JSON is an error", function() check.fails("no JSON for a function", json.encode, print) end)

check.done()
