-- One prepared statement, with the rows of its result. sysbench 1.0 executes prepared statements and fetches all they return, but
-- hands no rows to Lua; so the rows are taken from the client library itself, which sysbench is linked with.
-- In: a connection, a statement of tpcw.statements. Out: execute(…), then rows(). Columns come as text, NULL as nil.
-- Must never: return a value that was cut off.

local ffi = require("ffi")
-- The beginning of sysbench's db_stmt_t (src/db_driver.h, 1.0.x), for the client library's own handle in it.
ffi.cdef [[
   typedef struct {
      void *connection; char *query; void *bound_param; unsigned int bound_param_len; void *bound_res; void *bound_res_len;
      char emulated; int counter; void *handle;
   } loadgen_statement;
   int mysql_stmt_fetch(void *handle);
   unsigned int mysql_stmt_field_count(void *handle);
]]

local prepared = {}
prepared.__index = prepared

local MAX_TEXT = 512 -- bytes of a parameter
local MAX_COLUMN = 512 -- bytes of a column
local FETCHED, NO_MORE = 0, 100

local function parameters_of(statement, types)
   local parameters = {}
   for n = 1, #types do
      parameters[n] = types:sub(n, n) == "i" and statement:bind_create(sysbench.sql.type.BIGINT)
         or statement:bind_create(sysbench.sql.type.VARCHAR, MAX_TEXT)
   end
   if #types > 0 then statement:bind_param(unpack(parameters)) end
   return parameters
end

function prepared.new(connection, definition)
   local statement = connection:prepare(definition[1])
   return setmetatable({ statement = statement, parameters = parameters_of(statement, definition[2]) }, prepared)
end

function prepared:execute(...)
   for n, parameter in ipairs(self.parameters) do
      parameter:set((select(n, ...)))
   end
   self.statement:execute()
end

-- Once per statement: where its columns go.
function prepared:bind_columns()
   self.handle = ffi.cast("loadgen_statement *", self.statement).handle
   self.width = ffi.C.mysql_stmt_field_count(self.handle)
   self.columns = {}
   local binds = ffi.new("sql_bind[?]", self.width)
   for n = 1, self.width do
      local column = { text = ffi.new("char[?]", MAX_COLUMN), length = ffi.new("unsigned long[1]"), null = ffi.new("char[1]") }
      local bind = binds[n - 1]
      bind.type, bind.buffer, bind.max_len = sysbench.sql.type.VARCHAR, column.text, MAX_COLUMN
      bind.data_len, bind.is_null = column.length, column.null
      self.columns[n] = column
   end
   assert(ffi.C.db_bind_result(self.statement, binds, self.width) == 0, "result not bound")
end

-- Of the last execution.
function prepared:rows()
   if not self.columns then self:bind_columns() end
   local found = {}
   while true do
      local status = ffi.C.mysql_stmt_fetch(self.handle)
      if status == NO_MORE then return found end
      assert(status == FETCHED, "a row was not fetched, or cut off")
      local row = {}
      for n, column in ipairs(self.columns) do
         row[n] = column.null[0] == 0 and ffi.string(column.text, tonumber(column.length[0])) or nil
      end
      found[#found + 1] = row
   end
end

function prepared:close() self.statement:close() end

return prepared
