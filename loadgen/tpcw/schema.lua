-- The tables of TPC-W 1.8, with what the database level needs beyond them. Out: the statements that create them, in
-- the order of their references, and the secondary indexes, which are added after the load. Pure.
--
-- Beyond the specification: shopping carts, which its web server would keep; order_line.ol_cost, the price when it was ordered,
-- and item.i_received, all pieces that ever came in, so that check can tell totals and stock exactly; tpcw, what was prepared.
-- References are not declared as foreign keys: no interaction needs them, and check looks at them.

local schema = {}

schema.PARAMETERS = "tpcw" -- filled last: without its rows the database is not prepared

schema.TABLES = {
   {
      name = "country",
      columns = [[
      co_id INT NOT NULL AUTO_INCREMENT PRIMARY KEY, co_name VARCHAR(50) NOT NULL, co_exchange DECIMAL(12,6) NOT NULL,
      co_currency VARCHAR(18) NOT NULL]],
      indexes = "ADD KEY (co_name)",
   },
   {
      name = "author",
      columns = [[
      a_id INT NOT NULL AUTO_INCREMENT PRIMARY KEY, a_fname VARCHAR(20) NOT NULL, a_lname VARCHAR(20) NOT NULL,
      a_mname VARCHAR(20) NOT NULL, a_dob DATE NOT NULL, a_bio VARCHAR(500) NOT NULL]],
      indexes = "ADD KEY (a_lname)",
   },
   {
      name = "item",
      columns = [[
      i_id INT NOT NULL AUTO_INCREMENT PRIMARY KEY, i_title VARCHAR(60) NOT NULL, i_a_id INT NOT NULL, i_pub_date DATE NOT NULL,
      i_publisher VARCHAR(60) NOT NULL, i_subject VARCHAR(60) NOT NULL, i_desc VARCHAR(500) NOT NULL,
      i_related1 INT NOT NULL, i_related2 INT NOT NULL, i_related3 INT NOT NULL, i_related4 INT NOT NULL, i_related5 INT NOT NULL,
      i_thumbnail VARCHAR(40) NOT NULL, i_image VARCHAR(40) NOT NULL, i_srp DECIMAL(15,2) NOT NULL, i_cost DECIMAL(15,2) NOT NULL,
      i_avail DATE NOT NULL, i_stock INT NOT NULL, i_received INT NOT NULL, i_isbn CHAR(13) NOT NULL, i_page INT NOT NULL,
      i_backing VARCHAR(15) NOT NULL, i_dimensions VARCHAR(25) NOT NULL]],
      indexes = "ADD KEY (i_title), ADD KEY (i_a_id), ADD KEY (i_subject, i_pub_date)",
   },
   {
      name = "address",
      columns = [[
      addr_id INT NOT NULL AUTO_INCREMENT PRIMARY KEY, addr_street1 VARCHAR(40) NOT NULL, addr_street2 VARCHAR(40) NOT NULL,
      addr_city VARCHAR(30) NOT NULL, addr_state VARCHAR(20) NOT NULL, addr_zip VARCHAR(10) NOT NULL, addr_co_id INT NOT NULL]],
      indexes = "ADD KEY (addr_zip, addr_street1)",
   },
   {
      name = "customer",
      columns = [[
      c_id INT NOT NULL AUTO_INCREMENT PRIMARY KEY, c_uname VARCHAR(20) NULL COMMENT 'NULL only until its id is known',
      c_passwd VARCHAR(20) NOT NULL, c_fname VARCHAR(15) NOT NULL, c_lname VARCHAR(15) NOT NULL, c_addr_id INT NOT NULL,
      c_phone VARCHAR(16) NOT NULL, c_email VARCHAR(50) NOT NULL, c_since DATE NOT NULL, c_last_login DATE NOT NULL,
      c_login DATETIME NOT NULL, c_expiration DATETIME NOT NULL, c_discount DECIMAL(5,2) NOT NULL COMMENT 'percent',
      c_balance DECIMAL(15,2) NOT NULL, c_ytd_pmt DECIMAL(15,2) NOT NULL, c_birthdate DATE NOT NULL, c_data VARCHAR(500) NOT NULL]],
      indexes = "ADD UNIQUE KEY (c_uname), ADD KEY (c_addr_id)",
   },
   {
      name = "orders",
      columns = [[
      o_id INT NOT NULL AUTO_INCREMENT PRIMARY KEY, o_c_id INT NOT NULL, o_date DATETIME NOT NULL,
      o_sub_total DECIMAL(15,2) NOT NULL, o_tax DECIMAL(15,2) NOT NULL, o_total DECIMAL(15,2) NOT NULL,
      o_ship_type VARCHAR(10) NOT NULL, o_ship_date DATE NOT NULL, o_bill_addr_id INT NOT NULL, o_ship_addr_id INT NOT NULL,
      o_status VARCHAR(16) NOT NULL]],
      indexes = "ADD KEY (o_c_id, o_date)",
   },
   {
      name = "order_line",
      columns = [[
      ol_o_id INT NOT NULL, ol_id TINYINT UNSIGNED NOT NULL, ol_i_id INT NOT NULL, ol_qty INT NOT NULL,
      ol_discount DECIMAL(5,2) NOT NULL COMMENT 'percent', ol_comments VARCHAR(110) NOT NULL, ol_cost DECIMAL(15,2) NOT NULL,
      PRIMARY KEY (ol_o_id, ol_id)]],
      indexes = "ADD KEY (ol_i_id)",
   },
   {
      name = "cc_xacts",
      columns = [[
      cx_o_id INT NOT NULL PRIMARY KEY, cx_type VARCHAR(10) NOT NULL, cx_num VARCHAR(20) NOT NULL, cx_name VARCHAR(30) NOT NULL,
      cx_expire DATE NOT NULL, cx_auth_id CHAR(15) NOT NULL, cx_xact_amt DECIMAL(15,2) NOT NULL, cx_xact_date DATETIME NOT NULL,
      cx_co_id INT NOT NULL]],
   },
   { name = "shopping_cart", columns = "sc_id INT NOT NULL PRIMARY KEY, sc_time DATETIME NOT NULL, sc_c_id INT" },
   {
      name = "shopping_cart_line",
      columns = [[
      scl_sc_id INT NOT NULL, scl_i_id INT NOT NULL, scl_qty INT NOT NULL, PRIMARY KEY (scl_sc_id, scl_i_id)]],
   },
   { name = schema.PARAMETERS, columns = "name VARCHAR(20) NOT NULL PRIMARY KEY, value BIGINT NOT NULL" },
}

function schema.create(one)
   return ("CREATE TABLE %s (%s) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin"):format(one.name, one.columns)
end

function schema.index(one) return one.indexes and ("ALTER TABLE %s %s"):format(one.name, one.indexes) end

function schema.analyze(one) return "ANALYZE TABLE " .. one.name end

function schema.drop(one) return "DROP TABLE IF EXISTS " .. one.name end

return schema
