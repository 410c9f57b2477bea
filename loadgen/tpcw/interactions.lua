-- The 14 web interactions of TPC-W, the database side of each. In: a client {db, random, scale, pool, cart}.
-- Out: statements. mode says what they run in: "one read" (a statement by itself), "read only" or "read write" (a transaction).
-- tables: those that a "read only" transaction reads, so that a proxy can know it beforehand.
-- Must never: write in another mode than "read write", or lock items in another order than that of their numbers (deadlocks).

local amounts = require("tpcw.amounts")
local cart = require("tpcw.cart")
local rows = require("tpcw.rows")
local words = require("tpcw.words")

local interactions = {}

local RETURNING_PERCENT = 80 -- of those who buy, known to the shop
local OTHER_ADDRESS_PERCENT = 5 -- of the orders, shipped to an address that is entered for it

-- What a client draws ----------------------------------------------------------------------------------------------------------------

local function any_customer(client) return client.random:nurand(client.scale.customer_a, 1, client.scale.customers) end

local function any_item(client) return client.random:uniform(1, client.scale.items) end

local function any_subject(client) return client.random:one_of(words.SUBJECTS) end

-- One of so many words that are searched for.
local function any_word(client, count) return client.random:nurand(client.scale.item_a, 1, count) end

local function chance(client, percent) return client.random:uniform(1, 100) <= percent end

-- Parts that interactions share -------------------------------------------------------------------------------------------------------

local function only_value(found) return tonumber(found[1][1]) end

local function show_promotions(client) client.db:run("promotions", any_item(client)) end

-- The cart's lines with today's prices, locked against its other changes.
local function open_cart(client)
   client.db:run("cart_open", client.cart)
   local lines = {}
   for n, row in ipairs(client.db:rows("cart_lines", client.cart)) do
      lines[n] = { item = tonumber(row[1]), quantity = tonumber(row[2]), cents = tonumber(row[3]) }
   end
   return lines
end

local function change_cart(client, changes)
   for _, change in ipairs(changes) do
      if change.quantity == 0 then
         client.db:run("cart_remove", client.cart, change.item)
      else
         client.db:run("cart_set", client.cart, change.item, change.quantity, change.quantity)
      end
   end
end

-- An address as a customer types it: the country by name, and no second row for an address that is there. Its id and country.
local function enter_address(client)
   local a = rows.address_parts(client.pool, client.random, client.scale.countries)
   local country = only_value(client.db:rows("country_id", words.COUNTRIES[a.country]))
   local found = client.db:rows("address_find", a.street1, a.street2, a.city, a.state, a.zip, country)
   if #found > 0 then return only_value(found), country end
   client.db:run("address_add", a.street1, a.street2, a.city, a.state, a.zip, country)
   return only_value(client.db:rows("last_id")), country
end

-- The name follows from the number, as with the customers that prepare loaded.
local function register(client)
   local address = enter_address(client)
   local c = rows.customer_parts(client.pool, client.random)
   client.db:run("customer_add", c.first, c.last, address, c.phone, words.money(c.discount), c.birth, c.data)
   local id = only_value(client.db:rows("last_id"))
   local name = rows.user_name(id)
   client.db:run("customer_call", name, rows.password(id), ("%s@%s.com"):format(name, c.domain), id)
   return id
end

local function log_in(client)
   local id = any_customer(client)
   client.db:run("customer_session", id)
   return id
end

-- The interactions --------------------------------------------------------------------------------------------------------------------

interactions.home = {
   mode = "read only",
   tables = { "customer", "item" },
   run = function(client)
      client.db:run("customer_name", any_customer(client))
      show_promotions(client)
   end,
}

interactions.new_products = { mode = "one read", run = function(client) client.db:run("new_products", any_subject(client)) end }

interactions.best_sellers = { mode = "one read", run = function(client) client.db:run("best_sellers", any_subject(client)) end }

interactions.product_detail = { mode = "one read", run = function(client) client.db:run("item_page", any_item(client)) end }

interactions.search_request = { mode = "one read", run = show_promotions }

-- By author, title or subject, a third each; what is searched for is there.
local SEARCHES = {
   function(client) return "search_author", "%" .. words.of_author(any_word(client, client.scale.items / 10), client.scale.items) .. "%" end,
   function(client) return "search_title", "%" .. words.of_title(any_word(client, client.scale.items / 5), client.scale.items) .. "%" end,
   function(client) return "search_subject", any_subject(client) end,
}

interactions.search_results = { mode = "one read", run = function(client) client.db:run(client.random:one_of(SEARCHES)(client)) end }

interactions.shopping_cart = {
   mode = "read write",
   run = function(client)
      change_cart(client, cart.changes(open_cart(client), any_item(client), client.random))
      client.db:run("cart_page", client.cart)
      show_promotions(client)
   end,
}

interactions.customer_registration = { mode = "one read", run = function(client) client.db:run("user_name", any_customer(client)) end }

interactions.buy_request = {
   mode = "read write",
   run = function(client)
      local customer = chance(client, RETURNING_PERCENT) and log_in(client) or register(client)
      client.db:run("cart_own", client.cart, customer, customer)
      client.db:run("customer_login", rows.user_name(customer), rows.password(customer))
      client.db:run("cart_page", client.cart)
   end,
}

-- The lines of the order; whoever buys nothing buys one random item.
local function lines_to_buy(client)
   local lines = open_cart(client)
   if #lines > 0 then return lines end
   change_cart(client, cart.added(lines, any_item(client)))
   return open_cart(client)
end

local function discount_all(lines, discount)
   for _, line in ipairs(lines) do
      line.discount = discount
   end
end

local function add_lines(client, order, lines)
   for n, line in ipairs(lines) do
      client.db:run(
         "order_line_add",
         order,
         n,
         line.item,
         line.quantity,
         words.money(line.discount),
         words.text(client.pool, client.random, 20, 100),
         words.money(line.cents)
      )
      client.db:run("stock_take", line.quantity, line.quantity, line.quantity, line.item)
   end
end

local function add_payment(client, order, name, total, country)
   local s, pool = client.random, client.pool
   client.db:run(
      "payment_add",
      order,
      s:one_of(rows.CARDS),
      words.digits(pool, s, 16, 16),
      name,
      s:uniform(10, 730),
      words.text(pool, s, 15, 15),
      words.money(total),
      country
   )
end

-- The cart comes first: the snapshot of the first read must not be older than the cart's lock.
interactions.buy_confirm = {
   mode = "read write",
   run = function(client)
      local lines = lines_to_buy(client)
      local customer = tonumber(client.db:rows("cart_owner", client.cart)[1][1]) or any_customer(client)
      local row = client.db:rows("order_customer", customer)[1]
      local address, country = tonumber(row[4]), tonumber(row[5])
      local ship_address = address
      if chance(client, OTHER_ADDRESS_PERCENT) then
         ship_address, country = enter_address(client)
      end
      discount_all(lines, tonumber(row[1]))
      local costs = amounts.order(lines)
      client.db:run(
         "order_add",
         customer,
         words.money(costs.sub_total),
         words.money(costs.tax),
         words.money(costs.total),
         client.random:one_of(rows.SHIPPING),
         client.random:uniform(1, 7),
         address,
         ship_address
      )
      local order = only_value(client.db:rows("last_id"))
      add_lines(client, order, lines)
      add_payment(client, order, ("%s %s"):format(row[2], row[3]):sub(1, 30), costs.total, country)
      client.db:run("cart_clear", client.cart)
   end,
}

interactions.order_inquiry = { mode = "one read", run = function(client) client.db:run("user_name", any_customer(client)) end }

-- The customer's last order, if there is one.
interactions.order_display = {
   mode = "read only",
   tables = { "address", "cc_xacts", "country", "customer", "item", "order_line", "orders" },
   run = function(client)
      local customer = any_customer(client)
      local known = client.db:rows("customer_check", rows.user_name(customer), rows.password(customer))
      local last = client.db:rows("order_page", only_value(known))
      if #last > 0 then client.db:run("order_lines", only_value(last)) end
   end,
}

interactions.admin_request = { mode = "one read", run = function(client) client.db:run("item_page", any_item(client)) end }

-- Five items that were bought by those who bought this one, filled up with those it has. Pure.
function interactions.related(together, present)
   local related, taken = {}, {}
   local function take(row, column)
      local item = tonumber(row[column])
      if #related < 5 and item and not taken[item] then
         taken[item] = true
         related[#related + 1] = item
      end
   end
   for _, row in ipairs(together) do
      take(row, 1)
   end
   for column = 1, 5 do
      take(present, column)
   end
   return related
end

-- The price, the pictures, and what is bought together. Read first, so that the item is locked only briefly.
interactions.admin_confirm = {
   mode = "read write",
   run = function(client)
      local item, picture = any_item(client), client.random:uniform(1, client.scale.items)
      local related = interactions.related(client.db:rows("bought_together", item, item), client.db:rows("item_related", item)[1])
      client.db:run(
         "item_change",
         words.money(client.random:uniform(100, 999999)),
         ("image_%d.gif"):format(picture),
         ("thumb_%d.gif"):format(picture),
         related[1],
         related[2],
         related[3],
         related[4],
         related[5],
         item
      )
   end,
}

return interactions
