-- Whether the database is consistent. In: what it was prepared with, and what answers a query with one text (the first row that is wrong)
-- or nil. Out: the conditions, each a query that finds rows that break it; how many do not hold. Pure but for what ask and say do.
-- Must never: write, or take a condition for held that was not asked.

local amounts = require("tpcw.amounts")
local cart = require("tpcw.cart")
local scale = require("tpcw.scale")

local check = {}

local COSTS = amounts.IN_SQL

local function counted(name, key, count)
   return {
      name .. ": as many rows as prepared, without gaps",
      ("SELECT CONCAT('%s: ', COUNT(*), ' of %d') FROM %s WHERE %s BETWEEN 1 AND %d HAVING COUNT(*) <> %d"):format(
         name,
         count,
         name,
         key,
         count,
         count
      ),
   }
end

-- Every row of a table that refers to another refers to one that is there.
local function refers(name, key, column, other, other_key)
   return {
      ("%s.%s: an existing %s"):format(name, column, other),
      ("SELECT CONCAT('%s=', %s, ' %s=', %s) FROM %s LEFT JOIN %s ON %s = %s WHERE %s IS NULL AND %s IS NOT NULL LIMIT 1"):format(
         key,
         key,
         column,
         column,
         name,
         other,
         other_key,
         column,
         other_key,
         column
      ),
   }
end

-- As amounts.lua computes them; all factors are decimals, so nothing is lost before ROUND.
local LINES = "(SELECT ol_o_id, SUM(ROUND(ol_qty * ol_cost * (100 - ol_discount) * 0.01, 2)) AS amount, SUM(ol_qty) AS pieces "
   .. "FROM order_line GROUP BY ol_o_id) sums"

local function totals()
   return {
      "orders: totals as their lines say",
      (
         "SELECT CONCAT('o_id=', o_id, ' o_sub_total=', o_sub_total, ' o_tax=', o_tax, ' o_total=', o_total, ' lines=', amount, "
         .. "' pieces=', pieces) FROM orders JOIN %s ON ol_o_id = o_id WHERE o_sub_total <> amount OR "
         .. "o_tax <> ROUND(o_sub_total * %s, 2) OR o_total <> o_sub_total + o_tax + %s + %s * pieces LIMIT 1"
      ):format(LINES, COSTS.tax, COSTS.shipping, COSTS.shipping_per_piece),
   }
end

local function lines()
   return {
      "order_line: numbered from 1, without gaps",
      "SELECT CONCAT('ol_o_id=', ol_o_id, ' lines=', COUNT(*), ' last=', MAX(ol_id)) FROM order_line GROUP BY ol_o_id "
         .. "HAVING MIN(ol_id) <> 1 OR MAX(ol_id) <> COUNT(*) LIMIT 1",
   }
end

local function without_lines()
   return {
      "orders: one line at least",
      "SELECT CONCAT('o_id=', o_id) FROM orders LEFT JOIN order_line ON ol_o_id = o_id WHERE ol_o_id IS NULL LIMIT 1",
   }
end

local function payments()
   return {
      "cc_xacts: each order's total",
      "SELECT CONCAT('o_id=', o_id, ' o_total=', o_total, ' cx_xact_amt=', COALESCE(cx_xact_amt, 'none')) FROM orders "
         .. "LEFT JOIN cc_xacts ON cx_o_id = o_id WHERE cx_o_id IS NULL OR cx_xact_amt <> o_total LIMIT 1",
   }
end

local function stock(prepared_orders)
   return {
      "item: stock is what came in, less what was sold since",
      (
         "SELECT CONCAT('i_id=', i_id, ' i_stock=', i_stock, ' i_received=', i_received, ' sold=', COALESCE(sold, 0)) FROM item "
         .. "LEFT JOIN (SELECT ol_i_id, SUM(ol_qty) AS sold FROM order_line WHERE ol_o_id > %d GROUP BY ol_i_id) sales "
         .. "ON ol_i_id = i_id WHERE i_stock <> i_received - COALESCE(sold, 0) LIMIT 1"
      ):format(prepared_orders),
   }
end

-- Items are numbered from 1 without gaps (the first condition).
local function related(items)
   local all = "i_related1, i_related2, i_related3, i_related4, i_related5"
   return {
      "item: five different related items",
      (
         "SELECT CONCAT_WS(' ', 'i_id, related:', i_id, %s) FROM item WHERE i_id IN (%s) OR LEAST(%s) < 1 OR GREATEST(%s) > %d OR "
         .. "i_related1 IN (i_related2, i_related3, i_related4, i_related5) OR i_related2 IN (i_related3, i_related4, i_related5) "
         .. "OR i_related3 IN (i_related4, i_related5) OR i_related4 = i_related5 LIMIT 1"
      ):format(all, all, all, all, items),
   }
end

local function carts(most)
   return {
      "shopping_cart: within its bound",
      ("SELECT CONCAT('sc_id=', sc_id) FROM shopping_cart WHERE sc_id NOT BETWEEN 1 AND %d LIMIT 1"):format(most),
   }
end

local function cart_pieces()
   return {
      "shopping_cart_line: quantities within bounds",
      (
         "SELECT CONCAT('scl_sc_id=', scl_sc_id, ' scl_i_id=', scl_i_id, ' scl_qty=', scl_qty) FROM shopping_cart_line "
         .. "WHERE scl_qty NOT BETWEEN 1 AND %d LIMIT 1"
      ):format(cart.MAX_PIECES),
   }
end

local function cart_lines()
   return {
      "shopping_cart_line: lines of a cart within bounds",
      (
         "SELECT CONCAT('scl_sc_id=', scl_sc_id, ' lines=', COUNT(*)) FROM shopping_cart_line GROUP BY scl_sc_id "
         .. "HAVING COUNT(*) > %d LIMIT 1"
      ):format(cart.MAX_LINES),
   }
end

local function names() return { "customer: called by a name", "SELECT CONCAT('c_id=', c_id) FROM customer WHERE c_uname IS NULL LIMIT 1" } end

-- {name, query}, in the order in which they are asked.
function check.conditions(parameters)
   local size = scale.of(parameters.items, parameters.ebs)
   return {
      counted("country", "co_id", size.countries),
      counted("author", "a_id", size.authors),
      counted("item", "i_id", parameters.items),
      counted("customer", "c_id", parameters.customers),
      counted("address", "addr_id", parameters.addresses),
      counted("orders", "o_id", parameters.orders),
      refers("address", "addr_id", "addr_co_id", "country", "co_id"),
      refers("item", "i_id", "i_a_id", "author", "a_id"),
      refers("customer", "c_id", "c_addr_id", "address", "addr_id"),
      refers("orders", "o_id", "o_c_id", "customer", "c_id"),
      refers("orders", "o_id", "o_bill_addr_id", "address", "addr_id"),
      refers("orders", "o_id", "o_ship_addr_id", "address", "addr_id"),
      refers("order_line", "ol_o_id", "ol_o_id", "orders", "o_id"),
      refers("order_line", "ol_o_id", "ol_i_id", "item", "i_id"),
      refers("cc_xacts", "cx_o_id", "cx_o_id", "orders", "o_id"),
      refers("cc_xacts", "cx_o_id", "cx_co_id", "country", "co_id"),
      refers("shopping_cart", "sc_id", "sc_c_id", "customer", "c_id"),
      refers("shopping_cart_line", "scl_sc_id", "scl_sc_id", "shopping_cart", "sc_id"),
      refers("shopping_cart_line", "scl_sc_id", "scl_i_id", "item", "i_id"),
      names(),
      without_lines(),
      lines(),
      totals(),
      payments(),
      stock(parameters.orders),
      related(parameters.items),
      carts(parameters.carts),
      cart_pieces(),
      cart_lines(),
   }
end

-- ask(query): the text of the first row, or nil. say(line). The number of conditions that do not hold.
function check.run(parameters, ask, say)
   local broken = 0
   for _, condition in ipairs(check.conditions(parameters)) do
      local example = ask(condition[2])
      if example then broken = broken + 1 end
      say(example and ("FAILED  %s: %s"):format(condition[1], example) or ("holds   %s"):format(condition[1]))
   end
   return broken
end

return check
