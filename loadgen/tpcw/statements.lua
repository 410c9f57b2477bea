-- Every statement of the interactions: name = {SQL, types of its parameters: i an integer, s a text}. Pure data, and how a statement
-- looks as text. Must never: contain a question mark or a quote that is no parameter's.

local statements = {}

local CUSTOMER_PAGE = "c_id, c_fname, c_lname, c_phone, c_email, c_data, c_birthdate, c_discount, addr_street1, addr_street2, "
   .. "addr_city, addr_state, addr_zip, co_name FROM customer JOIN address ON addr_id = c_addr_id JOIN country ON co_id = addr_co_id"
local FOUND = "SELECT i_id, i_title, a_fname, a_lname FROM item JOIN author ON a_id = i_a_id "
local LATEST = "(SELECT MAX(o_id) - %d FROM orders)"
local BEST_SELLERS_OF, BOUGHT_TOGETHER_OF = LATEST:format(3333), LATEST:format(10000) -- orders

statements.ALL = {
   customer_name = { "SELECT c_fname, c_lname FROM customer WHERE c_id = ?", "i" },
   user_name = { "SELECT c_uname FROM customer WHERE c_id = ?", "i" },
   promotions = {
      "SELECT other.i_id, other.i_thumbnail FROM item one JOIN item other ON other.i_id IN "
         .. "(one.i_related1, one.i_related2, one.i_related3, one.i_related4, one.i_related5) WHERE one.i_id = ?",
      "i",
   },

   new_products = { FOUND .. "WHERE i_subject = ? ORDER BY i_pub_date DESC, i_title LIMIT 50", "s" },
   best_sellers = {
      "SELECT i_id, i_title, a_fname, a_lname, SUM(ol_qty) AS sold FROM order_line JOIN item ON i_id = ol_i_id "
         .. "JOIN author ON a_id = i_a_id WHERE ol_o_id > "
         .. BEST_SELLERS_OF
         .. " AND i_subject = ? "
         .. "GROUP BY i_id, i_title, a_fname, a_lname ORDER BY sold DESC, i_id LIMIT 50",
      "s",
   },
   item_page = {
      "SELECT i_title, a_fname, a_lname, i_pub_date, i_publisher, i_subject, i_desc, i_image, i_thumbnail, i_srp, "
         .. "i_cost, i_avail, i_stock, i_isbn, i_page, i_backing, i_dimensions FROM item JOIN author ON a_id = i_a_id "
         .. "WHERE i_id = ?",
      "i",
   },
   search_author = { FOUND .. "WHERE a_lname LIKE ? ORDER BY i_title LIMIT 50", "s" },
   search_title = { FOUND .. "WHERE i_title LIKE ? ORDER BY i_title LIMIT 50", "s" },
   search_subject = { FOUND .. "WHERE i_subject = ? ORDER BY i_title LIMIT 50", "s" },

   -- Also the lock that one cart's changes take turns by.
   cart_open = { "INSERT INTO shopping_cart (sc_id, sc_time) VALUES (?, NOW()) ON DUPLICATE KEY UPDATE sc_time = NOW()", "i" },
   cart_lines = {
      "SELECT scl_i_id, scl_qty, CAST(i_cost * 100 AS SIGNED) FROM shopping_cart_line JOIN item ON i_id = scl_i_id "
         .. "WHERE scl_sc_id = ? ORDER BY scl_i_id",
      "i",
   },
   cart_set = {
      "INSERT INTO shopping_cart_line (scl_sc_id, scl_i_id, scl_qty) VALUES (?, ?, ?) " .. "ON DUPLICATE KEY UPDATE scl_qty = ?",
      "iiii",
   },
   cart_remove = { "DELETE FROM shopping_cart_line WHERE scl_sc_id = ? AND scl_i_id = ?", "ii" },
   cart_clear = { "DELETE FROM shopping_cart_line WHERE scl_sc_id = ?", "i" },
   -- Whose cart it is: who last asked to buy what is in it.
   cart_own = {
      "INSERT INTO shopping_cart (sc_id, sc_time, sc_c_id) VALUES (?, NOW(), ?) ON DUPLICATE KEY UPDATE sc_time = NOW(), " .. "sc_c_id = ?",
      "iii",
   },
   cart_owner = { "SELECT sc_c_id FROM shopping_cart WHERE sc_id = ?", "i" },
   cart_page = {
      "SELECT i_id, i_title, i_cost, i_srp, i_backing, scl_qty FROM shopping_cart_line JOIN item ON i_id = scl_i_id "
         .. "WHERE scl_sc_id = ? ORDER BY i_id",
      "i",
   },

   customer_login = { "SELECT " .. CUSTOMER_PAGE .. " WHERE c_uname = ? AND c_passwd = ?", "ss" },
   customer_session = { "UPDATE customer SET c_login = NOW(), c_expiration = NOW() + INTERVAL 2 HOUR WHERE c_id = ?", "i" },
   customer_add = {
      "INSERT INTO customer (c_passwd, c_fname, c_lname, c_addr_id, c_phone, c_email, c_since, c_last_login, "
         .. "c_login, c_expiration, c_discount, c_balance, c_ytd_pmt, c_birthdate, c_data) VALUES ('', ?, ?, ?, ?, '', CURDATE(), "
         .. "CURDATE(), NOW(), NOW() + INTERVAL 2 HOUR, ?, 0, 0, ?, ?)",
      "ssissss",
   },
   customer_call = { "UPDATE customer SET c_uname = ?, c_passwd = ?, c_email = ? WHERE c_id = ?", "sssi" },
   country_id = { "SELECT co_id FROM country WHERE co_name = ?", "s" },
   address_find = {
      "SELECT addr_id FROM address WHERE addr_street1 = ? AND addr_street2 = ? AND addr_city = ? "
         .. "AND addr_state = ? AND addr_zip = ? AND addr_co_id = ?",
      "sssssi",
   },
   address_add = {
      "INSERT INTO address (addr_street1, addr_street2, addr_city, addr_state, addr_zip, addr_co_id) " .. "VALUES (?, ?, ?, ?, ?, ?)",
      "sssssi",
   },
   last_id = { "SELECT LAST_INSERT_ID()", "" },

   order_customer = {
      "SELECT CAST(c_discount * 100 AS SIGNED), c_fname, c_lname, c_addr_id, addr_co_id FROM customer "
         .. "JOIN address ON addr_id = c_addr_id WHERE c_id = ?",
      "i",
   },
   order_add = {
      "INSERT INTO orders (o_c_id, o_date, o_sub_total, o_tax, o_total, o_ship_type, o_ship_date, o_bill_addr_id, "
         .. "o_ship_addr_id, o_status) VALUES (?, NOW(), ?, ?, ?, ?, CURDATE() + INTERVAL ? DAY, ?, ?, 'PENDING')",
      "issssiii",
   },
   order_line_add = {
      "INSERT INTO order_line (ol_o_id, ol_id, ol_i_id, ol_qty, ol_discount, ol_comments, ol_cost) " .. "VALUES (?, ?, ?, ?, ?, ?, ?)",
      "iiiisss",
   },
   -- What would leave fewer than 10 in stock brings 21 more. Assigned from left to right, both from the old stock.
   stock_take = {
      "UPDATE item SET i_received = i_received + IF(i_stock - ? < 10, 21, 0), "
         .. "i_stock = i_stock - ? + IF(i_stock - ? < 10, 21, 0) WHERE i_id = ?",
      "iiii",
   },
   payment_add = {
      "INSERT INTO cc_xacts (cx_o_id, cx_type, cx_num, cx_name, cx_expire, cx_auth_id, cx_xact_amt, cx_xact_date, "
         .. "cx_co_id) VALUES (?, ?, ?, ?, CURDATE() + INTERVAL ? DAY, ?, ?, NOW(), ?)",
      "isssissi",
   },

   customer_check = { "SELECT c_id FROM customer WHERE c_uname = ? AND c_passwd = ?", "ss" },
   order_page = {
      "SELECT o_id, c_fname, c_lname, c_phone, c_email, o_date, o_sub_total, o_tax, o_total, o_ship_type, "
         .. "o_ship_date, o_status, bill.addr_street1, bill.addr_street2, bill.addr_city, bill.addr_state, bill.addr_zip, "
         .. "ship.addr_street1, ship.addr_street2, ship.addr_city, ship.addr_state, ship.addr_zip, billed.co_name, shipped.co_name, "
         .. "cx_type FROM orders JOIN customer ON c_id = o_c_id JOIN cc_xacts ON cx_o_id = o_id "
         .. "JOIN address bill ON bill.addr_id = o_bill_addr_id JOIN address ship ON ship.addr_id = o_ship_addr_id "
         .. "JOIN country billed ON billed.co_id = bill.addr_co_id JOIN country shipped ON shipped.co_id = ship.addr_co_id "
         .. "WHERE o_c_id = ? ORDER BY o_date DESC, o_id DESC LIMIT 1",
      "i",
   },
   order_lines = {
      "SELECT ol_i_id, i_title, i_publisher, ol_cost, ol_qty, ol_discount, ol_comments FROM order_line "
         .. "JOIN item ON i_id = ol_i_id WHERE ol_o_id = ? ORDER BY ol_id",
      "i",
   },

   bought_together = {
      "SELECT ol_i_id FROM orders JOIN order_line ON ol_o_id = o_id WHERE o_id > "
         .. BOUGHT_TOGETHER_OF
         .. " AND ol_i_id <> ? AND o_c_id IN (SELECT buy.o_c_id FROM orders buy JOIN order_line bought ON bought.ol_o_id = buy.o_id "
         .. "WHERE buy.o_id > "
         .. BOUGHT_TOGETHER_OF
         .. " AND bought.ol_i_id = ?) "
         .. "GROUP BY ol_i_id ORDER BY SUM(ol_qty) DESC, ol_i_id LIMIT 5",
      "ii",
   },
   item_related = { "SELECT i_related1, i_related2, i_related3, i_related4, i_related5 FROM item WHERE i_id = ?", "i" },
   item_change = {
      "UPDATE item SET i_cost = ?, i_image = ?, i_thumbnail = ?, i_pub_date = CURDATE(), i_related1 = ?, "
         .. "i_related2 = ?, i_related3 = ?, i_related4 = ?, i_related5 = ? WHERE i_id = ?",
      "sssiiiiii",
   },
}

local function quoted(text) return "'" .. text:gsub("[\\']", "\\%0") .. "'" end

-- The statement with its parameters in it.
function statements.text(name, ...)
   local definition, values, at = statements.ALL[name], { ... }, 0
   return (
      definition[1]:gsub("%?", function()
         at = at + 1
         return definition[2]:sub(at, at) == "i" and ("%d"):format(values[at]) or quoted(values[at])
      end)
   )
end

return statements
