-- Multi-row INSERTs of bounded size. In: a table's name, SQL tuples, and what sends a statement. Out: statements of at most
-- MAX_BYTES (of one row at least). Pure but for what send does. Must never: keep rows after finish.

local batch = {}
batch.__index = batch

batch.MAX_BYTES = 262144

function batch.new(name, send)
   return setmetatable({ prefix = "INSERT INTO " .. name .. " VALUES ", send = send, rows = {}, bytes = 0 }, batch)
end

function batch:add(row)
   if self.bytes + #row + 1 > batch.MAX_BYTES - #self.prefix then self:finish() end
   self.rows[#self.rows + 1] = row
   self.bytes = self.bytes + #row + 1
end

function batch:finish()
   if #self.rows == 0 then return end
   self.send(self.prefix .. table.concat(self.rows, ","))
   self.rows, self.bytes = {}, 0
end

return batch
