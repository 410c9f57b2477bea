-- Prepared rows: as many values as the table has columns, the same from their number alone, and what the searches look for.
local check, rows, scale = require("check"), require("tpcw.rows"), require("tpcw.scale")
local schema, words, load, batch = require("tpcw.schema"), require("tpcw.words"), require("tpcw.load"), require("tpcw.batch")

local sizes = scale.of(1000, 1)
local g = rows.generator(1, sizes)

-- Values of a tuple; texts have neither quotes nor commas in them.
local function values(tuple)
   local found = {}
   for value in tuple:sub(2, -2):gmatch("[^,]+") do
      found[#found + 1] = value:match("^'(.*)'$") or value
   end
   return found
end

local function columns(name)
   for _, one in ipairs(schema.TABLES) do
      if one.name == name then
         local flat = one.columns:gsub("%b()", ""):gsub("'[^']*'", ""):gsub("PRIMARY KEY%s*,?%s*$", "")
         local _, commas = flat:gsub(",", "")
         return flat:find(",%s*$") and commas or commas + 1
      end
   end
end

check.test("cardinalities of the specification", function()
   local large = scale.of(10000, 100)
   check.equal(large.customers, 288000)
   check.equal(large.addresses, 576000)
   check.equal(large.orders, 259200)
   check.equal(large.authors, 2500)
   check.equal(large.countries, 92)
   check.equal(large.customer_a, 65535)
   check.equal(large.item_a, 511)
end)

check.test("a tuple has a value for each column", function()
   for name, tuple in pairs({
      country = rows.country(g, 9),
      author = rows.author(g, 9),
      item = rows.item(g, 9),
      address = rows.address(g, 9),
      customer = rows.customer(g, 9),
      orders = rows.order(g, 9).order,
      order_line = rows.order(g, 9).lines[1],
      cc_xacts = rows.order(g, 9).payment,
   }) do
      check.equal(name .. #values(tuple), name .. columns(name))
   end
end)

check.test("a row depends on seed and number alone, not on what was made before", function()
   local other = rows.generator(1, sizes)
   for number = 20, 1, -1 do
      rows.item(other, number)
   end
   check.equal(rows.item(other, 7), rows.item(g, 7))
   check.equal(rows.order(other, 7).payment, rows.order(g, 7).payment)
   check.equal(rows.item(rows.generator(2, sizes), 7) ~= rows.item(g, 7), true)
end)

check.test("titles and authors have words that searches find, every author an item", function()
   local titles, authors = {}, {}
   for id = 1, sizes.items do
      local item = values(rows.item(g, id))
      check.contains(item[2], words.of_title(id, sizes.items))
      titles[words.of_title(id, sizes.items)] = true
      authors[tonumber(item[3])] = true
      local srp, cost = tonumber(item[15]), tonumber(item[16])
      check.equal(cost <= srp and cost * 2 >= srp - 0.02, true)
      check.equal(tonumber(item[18]) >= 10 and tonumber(item[18]) <= 30, true)
      check.equal(item[18], item[19])
   end
   for number = 1, sizes.items / 5 do
      check.equal(titles[words.digsyl(number, 7)], true)
   end
   for author = 1, sizes.authors do
      check.equal(authors[author], true)
      check.contains(values(rows.author(g, author))[3], words.of_author(author, sizes.items))
   end
end)

check.test("related items are five others", function()
   for id = 1, 200 do
      local item, seen = values(rows.item(g, id)), { [id] = true }
      for column = 8, 12 do
         local other = tonumber(item[column])
         check.equal(seen[other], nil)
         check.equal(other >= 1 and other <= sizes.items, true)
         seen[other] = true
      end
   end
end)

check.test("an order has one to five lines, about three, and its payment is its total", function()
   local count = 0
   for id = 1, 1000 do
      local made = rows.order(g, id)
      check.equal(#made.lines >= 1 and #made.lines <= 5, true)
      check.equal(values(made.order)[6], values(made.payment)[7])
      count = count + #made.lines
   end
   check.equal(math.abs(count / 1000 - 3) < 0.2, true)
end)

check.test("customers are found by name and password made from their number", function()
   local customer = values(rows.customer(g, 1789))
   check.equal(customer[2], "OGULINNG")
   check.equal(customer[3], "ogulinng")
end)

check.test("threads share the rows: each row once, whatever their number", function()
   for _, threads in ipairs({ 1, 2, 3, 7 }) do
      local seen, count = {}, 0
      for thread = 0, threads - 1 do
         load.each(2592, thread, threads, function(number)
            check.equal(seen[number], nil)
            seen[number] = true
            count = count + 1
         end)
      end
      check.equal(count, 2592)
   end
end)

check.test("statements are of bounded size, no row is lost", function()
   local sent, row = {}, "(" .. ("x"):rep(999) .. ")"
   local insert = batch.new("item", function(text) sent[#sent + 1] = text end)
   for _ = 1, 1000 do
      insert:add(row)
   end
   insert:finish()
   insert:finish()
   local found = 0
   for _, text in ipairs(sent) do
      check.equal(#text <= batch.MAX_BYTES, true)
      found = found + select(2, text:gsub("%(x+%)", ""))
   end
   check.equal(found, 1000)
   check.equal(#sent, 4)
end)

check.done()
