-- The rows that prepare loads, each from its number alone (specification, clause 4.7). In: a generator (seed and scale) and a row's
-- number, from 1. Out: SQL tuples in the order of schema's columns. Pure.
-- Must never: draw anything of one row from the stream of another, or depend on the day on which it runs.

local amounts = require("tpcw.amounts")
local random = require("tpcw.random")
local words = require("tpcw.words")

local rows = {}

-- One stream for each purpose and number; 1 is the pool's.
local PURPOSE = { country = 2, author = 3, price = 4, item = 5, address = 6, customer = 7, order = 8 }

local TODAY = 20454 -- 2026-01-01, in days since 1970-01-01: when the shop was stocked
local EARLIEST_BOOK = -14610 -- 1930-01-01
local EARLIEST_BIRTH = -32872 -- 1880-01-01
local BACKINGS = { "HARDBACK", "PAPERBACK", "USED", "AUDIO", "LIMITED-EDITION" }
local SHIPPING = { "AIR", "UPS", "FEDEX", "SHIP", "COURIER", "MAIL" }
local STATES = { "PROCESSING", "SHIPPED", "PENDING", "DENIED" }
local CARDS = { "VISA", "MASTERCARD", "DISCOVER", "AMEX", "DINERS" }
local MAX_LINES, MAX_PIECES = 5, 300
local MAX_CUSTOMER_DISCOUNT, MAX_LINE_DISCOUNT = 5000, 300 -- hundredths of a percent
local RELATED = 5

rows.CARDS, rows.SHIPPING = CARDS, SHIPPING

function rows.generator(seed, scale) return { seed = seed, scale = scale, pool = words.pool(seed) } end

local function stream_of(g, purpose, number) return random.stream(g.seed, PURPOSE[purpose], number) end

local function tuple(format, ...) return ("(" .. format .. ")"):format(...) end

function rows.country(g, id)
   local s = stream_of(g, "country", id)
   return tuple("%d,'%s',%d.%06d,'%s'", id, words.COUNTRIES[id], s:uniform(0, 999), s:uniform(1, 999999), words.text(g.pool, s, 3, 18))
end

function rows.author(g, id)
   local s, pool = stream_of(g, "author", id), g.pool
   return tuple(
      "%d,'%s','%s','%s','%s','%s'",
      id,
      words.text(pool, s, 3, 20),
      words.text_around(pool, s, words.of_author(id, g.scale.items), 14, 20),
      words.text(pool, s, 1, 20),
      words.date(s:uniform(-62091, 7304)),
      words.text(pool, s, 125, 500)
   ) -- 1800-01-01 to 1990-01-01
end

-- Of an item, in cents: suggested retail price, and cost, up to half cheaper. Apart from the item's other values, because order
-- lines need it too.
function rows.price(g, item)
   local s = stream_of(g, "price", item)
   local srp = s:uniform(100, 999999)
   return srp, math.floor(srp * s:uniform(5000, 10000) / 10000)
end

-- Five different items, none of them the item itself.
local function related(s, item, items)
   local found, taken = {}, { [item] = true }
   while #found < RELATED do
      local other = s:uniform(1, items)
      if not taken[other] then
         taken[other] = true
         found[#found + 1] = other
      end
   end
   return unpack(found)
end

local function dimensions(s)
   local function side() return s:uniform(1, 99), s:uniform(0, 99) end
   local a, b = side()
   local c, d = side()
   local e, f = side()
   return ("%d.%02dx%d.%02dx%d.%02d"):format(a, b, c, d, e, f)
end

-- Every author has an item: the first items have one author each, in turn.
local function author_of(s, item, authors)
   local drawn = s:uniform(1, authors)
   return item <= authors and item or drawn
end

function rows.item(g, id)
   local s, pool, scale = stream_of(g, "item", id), g.pool, g.scale
   local srp, cost = rows.price(g, id)
   local published = s:uniform(EARLIEST_BOOK, TODAY)
   local stock = s:uniform(10, 30)
   local first = tuple(
      "%d,'%s',%d,'%s','%s','%s','%s',%d,%d,%d,%d,%d",
      id,
      words.text_around(pool, s, words.of_title(id, scale.items), 14, 60),
      author_of(s, id, scale.authors),
      words.date(published),
      words.text(pool, s, 14, 60),
      s:one_of(words.SUBJECTS),
      words.text(pool, s, 100, 500),
      related(s, id, scale.items)
   )
   local second = ("'thumb_%d.gif','image_%d.gif',%s,%s,'%s',%d,%d,'%s',%d,'%s','%s')"):format(
      id,
      id,
      words.money(srp),
      words.money(cost),
      words.date(published + s:uniform(1, 30)),
      stock,
      stock,
      words.text(pool, s, 13, 13),
      s:uniform(20, 9999),
      s:one_of(BACKINGS),
      dimensions(s)
   )
   return first:sub(1, -2) .. "," .. second
end

-- The parts of an address, as values; customers who register bring one too.
function rows.address_parts(pool, s, countries)
   return {
      street1 = words.text(pool, s, 15, 40),
      street2 = words.text(pool, s, 15, 40),
      city = words.text(pool, s, 4, 30),
      state = words.text(pool, s, 2, 20),
      zip = words.text(pool, s, 5, 10),
      country = s:uniform(1, countries),
   }
end

function rows.address(g, id)
   local a = rows.address_parts(g.pool, stream_of(g, "address", id), g.scale.countries)
   return tuple("%d,'%s','%s','%s','%s','%s',%d", id, a.street1, a.street2, a.city, a.state, a.zip, a.country)
end

function rows.user_name(customer) return words.digsyl(customer, 0) end

function rows.password(customer) return rows.user_name(customer):lower() end

-- The parts of a customer that do not depend on when or where he registers.
function rows.customer_parts(pool, s)
   return {
      first = words.text(pool, s, 8, 15),
      last = words.text(pool, s, 8, 15),
      phone = words.digits(pool, s, 9, 16),
      domain = words.digits(pool, s, 2, 9),
      discount = s:uniform(0, MAX_CUSTOMER_DISCOUNT),
      birth = words.date(s:uniform(EARLIEST_BIRTH, TODAY)),
      data = words.text(pool, s, 100, 500),
   }
end

function rows.customer(g, id)
   local s = stream_of(g, "customer", id)
   local c = rows.customer_parts(g.pool, s)
   local since = TODAY - s:uniform(1, 730)
   local last_login = math.min(since + s:uniform(0, 60), TODAY)
   local name, today = rows.user_name(id), words.date(TODAY)
   return tuple(
      "%d,'%s','%s','%s','%s',%d,'%s','%s@%s.com','%s','%s','%s 00:00:00','%s 02:00:00',%s,0.00,%s,'%s','%s'",
      id,
      name,
      rows.password(id),
      c.first,
      c.last,
      s:uniform(1, g.scale.addresses),
      c.phone,
      name,
      c.domain,
      words.date(since),
      words.date(last_login),
      today,
      today,
      words.money(c.discount),
      words.money(s:uniform(0, 99999)),
      c.birth,
      c.data
   )
end

-- Lines of an order, about three, each with the price of its item when it was prepared.
local function lines_of(g, s)
   local lines = {}
   for n = 1, s:uniform(1, MAX_LINES) do
      local item = s:uniform(1, g.scale.items)
      local _, cost = rows.price(g, item)
      lines[n] = {
         item = item,
         quantity = s:uniform(1, MAX_PIECES),
         discount = s:uniform(0, MAX_LINE_DISCOUNT),
         cents = cost,
         comments = words.text(g.pool, s, 20, 100),
      }
   end
   return lines
end

local function line_tuples(id, lines)
   local tuples = {}
   for n, line in ipairs(lines) do
      tuples[n] = tuple(
         "%d,%d,%d,%d,%s,'%s',%s",
         id,
         n,
         line.item,
         line.quantity,
         words.money(line.discount),
         line.comments,
         words.money(line.cents)
      )
   end
   return tuples
end

-- An order, its lines and its credit card transaction: {order = tuple, lines = {tuple, …}, payment = tuple}.
function rows.order(g, id)
   local s, pool, scale = stream_of(g, "order", id), g.pool, g.scale
   local lines = lines_of(g, s)
   local costs = amounts.order(lines)
   local ordered = TODAY - s:uniform(1, 60)
   local at = ("%s %02d:%02d:%02d"):format(words.date(ordered), s:uniform(0, 23), s:uniform(0, 59), s:uniform(0, 59))
   return {
      order = tuple(
         "%d,%d,'%s',%s,%s,%s,'%s','%s',%d,%d,'%s'",
         id,
         s:uniform(1, scale.customers),
         at,
         words.money(costs.sub_total),
         words.money(costs.tax),
         words.money(costs.total),
         s:one_of(SHIPPING),
         words.date(ordered + s:uniform(0, 7)),
         s:uniform(1, scale.addresses),
         s:uniform(1, scale.addresses),
         s:one_of(STATES)
      ),
      lines = line_tuples(id, lines),
      payment = tuple(
         "%d,'%s','%s','%s','%s','%s',%s,'%s',%d",
         id,
         s:one_of(CARDS),
         words.digits(pool, s, 16, 16),
         words.text(pool, s, 14, 30),
         words.date(ordered + s:uniform(10, 730)),
         words.text(pool, s, 15, 15),
         words.money(costs.total),
         at,
         s:uniform(1, scale.countries)
      ),
   }
end

return rows
