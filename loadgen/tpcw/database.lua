-- One client's connection. In: names of statements with their parameters, modes of transactions. Out: rows, or sysbench's error:
-- a table if the interaction may be tried again (--mysql-ignore-errors), else a text that ends the run.
-- Must never: begin a transaction while another is open (that would commit it), or pass over an error.

local prepared = require("tpcw.prepared")
local session = require("session")
local statements = require("tpcw.statements")

local database = {}
database.__index = database

-- What opens a transaction: for splitting proxies (auto), or for one server (single). A single read needs none.
local BEGIN = {
   auto = { ["read only"] = "START TRANSACTION READ ONLY", ["read write"] = "START TRANSACTION READ WRITE" },
   single = { ["read only"] = "BEGIN", ["read write"] = "BEGIN" },
}
-- The client library's errors after which sysbench has connected anew: 2006, 2011, 2013, 2055.
local LOST = { [2006] = true, [2011] = true, [2013] = true, [2055] = true }

-- For Multimed's gate; MySQL takes it for a comment.
local function declared(tables) return tables and (" /* multimed: tables=%s */"):format(table.concat(tables, ",")) or "" end

-- settings: {split = "auto" or "single", prepared = boolean, session_sql = statement or ""}
function database.new(connection, settings)
   local self = setmetatable({
      connection = connection,
      begins = BEGIN[settings.split],
      declares = settings.split == "auto",
      prepared = settings.prepared,
      session_sql = settings.session_sql,
      ready = {},
   }, database)
   session.begin(connection, self.session_sql)
   return self
end

-- tables: all that a transaction reads; nil if that is not known.
function database:begin(mode, tables)
   local begin = self.begins[mode]
   if begin then self.connection:query(begin .. (self.declares and declared(tables) or "")) end
end

function database:commit(mode)
   if self.begins[mode] then self.connection:query("COMMIT") end
end

-- Prepared when it is first needed.
function database:statement(name)
   if not self.ready[name] then self.ready[name] = prepared.new(self.connection, statements.ALL[name]) end
   return self.ready[name]
end

-- Executes; what it returns is fetched and dropped.
function database:run(name, ...)
   if self.prepared then
      self:statement(name):execute(...)
   else
      self.connection:query(statements.text(name, ...))
   end
end

local function text_rows(connection, text)
   local result, found = connection:query(text), {}
   if result == nil then return found end
   for n = 1, result.nrows do
      found[n] = result:fetch_row()
   end
   return found
end

function database:rows(name, ...)
   if not self.prepared then return text_rows(self.connection, statements.text(name, ...)) end
   local statement = self:statement(name)
   statement:execute(...)
   return statement:rows()
end

function database.may_try_again(reason) return type(reason) == "table" and reason.errcode == sysbench.error.RESTART_EVENT end

-- Statements prepared on the old connection are gone with it.
function database:renew()
   for _, statement in pairs(self.ready) do
      statement:close()
   end
   self.ready = {}
   session.begin(self.connection, self.session_sql)
end

local function roll_back(self) self.connection:query("ROLLBACK") end

-- Behind an error: nothing of the transaction is left. (Error 1205 undoes one statement only; the next START TRANSACTION would
-- commit the others.)
function database:recover(reason)
   while true do
      local good, next_reason = pcall(LOST[reason.sql_errno] and database.renew or roll_back, self)
      if good then return end
      if not database.may_try_again(next_reason) then error(next_reason, 0) end
      reason = next_reason
   end
end

function database:close()
   for _, statement in pairs(self.ready) do
      statement:close()
   end
   self.connection:disconnect()
end

return database
