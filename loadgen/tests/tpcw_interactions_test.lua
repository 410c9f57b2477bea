-- The interactions against a database that only listens: their statements, their transactions, retries, carts.
local check, statements, interactions = require("check"), require("tpcw.statements"), require("tpcw.interactions")
local cart, client, mix, random = require("tpcw.cart"), require("tpcw.client"), require("tpcw.mix"), require("tpcw.random")
local database, scale, words = require("tpcw.database"), require("tpcw.scale"), require("tpcw.words")
local schema = require("tpcw.schema")

_G.sysbench = { error = { RESTART_EVENT = 1 } }

local ANSWERS = {
   cart_lines = { { "3", "2", "1000" }, { "8", "1", "250" } },
   last_id = { { "4711" } },
   country_id = { { "5" } },
   address_find = {},
   order_customer = { { "1050", "First", "Last", "17", "5" } },
   customer_check = { { "9" } },
   order_page = { { "12" } },
   cart_owner = { {} },
   bought_together = { { "5" }, { "6" } },
   item_related = { { "6", "7", "8", "9", "10" } },
}

-- Notes what is executed; every value must suit its type. fail(name): an error to raise.
local function listening(answers, fail)
   local log = {}
   local db = {}
   function db.begin(_, mode) log[#log + 1] = "begin " .. mode end
   function db.commit(_, mode) log[#log + 1] = "commit " .. mode end
   function db.recover(_) log[#log + 1] = "recover" end
   function db.run(_, name, ...)
      local types = statements.ALL[name][2]
      check.equal(select("#", ...), #types)
      for n = 1, #types do
         check.equal(type((select(n, ...))), types:sub(n, n) == "i" and "number" or "string")
      end
      log[#log + 1] = name
      local reason = fail and fail(name)
      if reason then error(reason, 0) end
   end
   function db.rows(self, name, ...)
      self:run(name, ...)
      return answers[name] or error("no answer for " .. name)
   end
   return db, log
end

local POOL = words.pool(1)

local function new_client(db, number)
   local counted = {}
   return {
      db = db,
      random = random.stream(1, 100, number or 0),
      scale = scale.of(1000, 1),
      pool = POOL,
      cart = 1,
      mix = "ordering",
      retries = 2,
      observe = function(what) counted[what] = (counted[what] or 0) + 1 end,
   },
      counted
end

check.test("a statement has as many parameters as types", function()
   for name, definition in pairs(statements.ALL) do
      local _, marks = definition[1]:gsub("%?", "")
      check.equal(name .. marks, name .. #definition[2])
   end
end)

check.test("as text, parameters are in their places, quoted", function()
   check.equal(statements.text("cart_remove", 3, 14), "DELETE FROM shopping_cart_line WHERE scl_sc_id = 3 AND scl_i_id = 14")
   check.contains(statements.text("search_title", "%O'Neil\\%"), [['%O\'Neil\\%']])
   check.contains(statements.text("country_id", "50% ?"), "'50% ?'")
end)

check.test("all 14 interactions exist, only writing ones write, and reads of several statements have a transaction", function()
   for _, name in ipairs(mix.NAMES) do
      for number = 1, 40 do
         local db, log = listening(ANSWERS)
         interactions[name].run(new_client(db, number))
         local writes = false
         for _, statement in ipairs(log) do
            writes = writes or statements.ALL[statement][1]:find("^SELECT") == nil
         end
         check.equal(name .. tostring(#log > 0), name .. "true")
         if writes then check.equal(name .. interactions[name].mode, name .. "read write") end
         if #log > 1 then check.equal(interactions[name].mode ~= "one read", true) end
      end
   end
end)

-- Names of the tables in the texts of these statements, sorted.
local function tables_of(names)
   local found = {}
   for _, one in ipairs(schema.TABLES) do
      for _, name in ipairs(names) do
         if statements.ALL[name][1]:find("%f[%w_]" .. one.name .. "%f[^%w_]") then
            found[#found + 1] = one.name
            break
         end
      end
   end
   table.sort(found)
   return table.concat(found, ",")
end

check.test("a read-only transaction declares exactly the tables of its statements, and nobody else declares any", function()
   for _, name in ipairs(mix.NAMES) do
      local interaction, executed = interactions[name], {}
      for number = 1, 40 do
         local db, log = listening(ANSWERS)
         interaction.run(new_client(db, number))
         for _, statement in ipairs(log) do
            executed[#executed + 1] = statement
         end
      end
      local wanted = interaction.mode == "read only" and tables_of(executed) or nil
      check.equal(interaction.tables and table.concat(interaction.tables, ","), wanted)
   end
end)

check.test("an order: its lines in the order of the items, stock taken, paid, cart empty", function()
   local db, log = listening(ANSWERS)
   interactions.buy_confirm.run(new_client(db, 1))
   check.contains(table.concat(log, " "), "order_add last_id order_line_add stock_take order_line_add stock_take payment_add cart_clear")
end)

check.test("whoever buys with an empty cart buys one item", function()
   local asked = 0
   local answers = setmetatable({}, {
      __index = function(_, name)
         if name ~= "cart_lines" then return ANSWERS[name] end
         asked = asked + 1
         return asked == 1 and {} or { { "3", "1", "1000" } }
      end,
   })
   local db, log = listening(answers)
   interactions.buy_confirm.run(new_client(db, 1))
   check.contains(table.concat(log, " "), "cart_open cart_lines cart_set cart_open cart_lines cart_owner order_customer")
end)

check.test("related items: bought together first, filled up, five different ones", function()
   check.equal(table.concat(interactions.related({ { "5" }, { "6" } }, { "6", "7", "8", "9", "10" }), " "), "5 6 7 8 9")
   check.equal(table.concat(interactions.related({}, { "1", "2", "3", "4", "5" }), " "), "1 2 3 4 5")
end)

check.test("carts stay within their bounds, and never become empty (seeded)", function()
   local stream, held = random.stream(5, 1, 1), {}
   for _ = 1, 5000 do
      local lines = {}
      for item, quantity in pairs(held) do
         lines[#lines + 1] = { item = item, quantity = quantity }
      end
      for _, change in ipairs(cart.changes(lines, stream:uniform(1, 300), stream)) do
         held[change.item] = change.quantity > 0 and change.quantity or nil
         check.equal(change.quantity <= cart.MAX_PIECES, true)
      end
      local count = 0
      for _ in pairs(held) do
         count = count + 1
      end
      check.equal(count >= 1 and count <= cart.MAX_LINES, true)
   end
   for _ = 1, 200 do
      local change = cart.refreshed({ { item = 3, quantity = 2 } }, stream)[1]
      check.equal(change.quantity >= 1 and change.quantity <= cart.MAX_PIECES, true)
   end
   local full = {}
   for item = 1, cart.MAX_LINES do
      full[item] = { item = item, quantity = 1 }
   end
   check.equal(#cart.added(full, 500), 0)
   check.equal(cart.added(full, 5)[1].quantity, 2)
end)

check.test("an interaction is begun and committed in its mode, and counted", function()
   local db, log = listening(ANSWERS)
   local me, counted = new_client(db)
   for _ = 1, 200 do
      client.step(me)
   end
   check.equal(counted.completed, 200)
   check.contains(table.concat(log, ","), "commit read write")
   local _, writing = table.concat(log, ","):gsub("commit read write", "")
   check.equal(counted.committed, writing)
   check.contains(table.concat(log, ","), "begin one read,item_page,commit one read")
end)

check.test("a deadlock tries the same interaction again, and is counted", function()
   local failures = 0
   local db, log = listening(ANSWERS, function(name)
      if name ~= "cart_open" or failures == 1 then return nil end
      failures = failures + 1
      return { errcode = 1, sql_errno = 1213 }
   end)
   local me, counted = new_client(db)
   for _ = 1, 30 do
      client.step(me)
   end
   check.equal(counted.retried, 1)
   check.equal(counted.completed, 30)
   check.contains(table.concat(log, ","), "cart_open,recover,begin read write,cart_open")
end)

check.test("what never succeeds counts as an error, once", function()
   local db = listening(ANSWERS, function() return { errcode = 1, sql_errno = 1205 } end)
   local me, counted = new_client(db)
   client.step(me)
   check.equal(counted.failed, 1)
   check.equal(counted.retried, 2)
   check.equal(counted.completed, nil)
end)

check.test("any other error ends the run", function()
   local db = listening(ANSWERS, function() return "SQL error, errno = 1146" end)
   check.fails("errno = 1146", client.step, (new_client(db)))
end)

-- A connection that notes its statements; fail(text): an error to raise.
local function connection(fail)
   local sent = {}
   return {
      query = function(_, text)
         sent[#sent + 1] = text
         local reason = fail and fail(text)
         if reason then error(reason, 0) end
      end,
   },
      sent
end

check.test("transactions are declared for splitting proxies, plain for one server, none for a single read", function()
   local con, sent = connection()
   local auto = database.new(con, { split = "auto", prepared = false, session_sql = "SET @a = 1" })
   local single = database.new(con, { split = "single", prepared = false, session_sql = "" })
   for _, mode in ipairs({ "read only", "read write", "one read" }) do
      auto:begin(mode)
      single:begin(mode)
      auto:commit(mode)
   end
   check.equal(table.concat(sent, ";"), "SET @a = 1;START TRANSACTION READ ONLY;BEGIN;COMMIT;START TRANSACTION READ WRITE;BEGIN;COMMIT")
end)

check.test("its tables are declared to a splitting proxy, in a comment, and to nobody else", function()
   local con, sent = connection()
   for _, split in ipairs({ "auto", "single" }) do
      database.new(con, { split = split, prepared = false, session_sql = "" }):begin("read only", { "item", "customer" })
   end
   check.equal(table.concat(sent, ";"), "START TRANSACTION READ ONLY /* multimed: tables=item,customer */;BEGIN")
end)

check.test("behind an error the transaction is rolled back; a new connection begins as the first one did", function()
   local lost = true
   local con, sent = connection(function(text)
      if text == "ROLLBACK" and lost then
         lost = false
         return { errcode = 1, sql_errno = 2013 }
      end
   end)
   local db = database.new(con, { split = "auto", prepared = false, session_sql = "SET @a = 1" })
   db:recover({ errcode = 1, sql_errno = 1205 })
   check.equal(table.concat(sent, ";"), "SET @a = 1;ROLLBACK;SET @a = 1")
end)

check.done()
