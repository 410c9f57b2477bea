-- One emulated browser: chooses interactions by the mix and carries each out, again if the database says that it may be tried again.
-- In: {db, random, scale, pool, cart, mix, retries (at most), observe}. Out: one interaction per step; observe is called with
-- ("completed", number, milliseconds), ("committed", number, milliseconds of the COMMIT alone, of "read write" only), ("retried", number),
-- ("failed", number).
-- Must never: leave a transaction open, count an interaction as completed that was not committed, or pass over an error that is none
-- of those that may be tried again.

local clock = require("tpcw.clock")
local database = require("tpcw.database")
local interactions = require("tpcw.interactions")
local mix = require("tpcw.mix")

local client = {}

local function milliseconds_since(started) return (clock.now() - started) * 1000 end

local function attempt(self, number, interaction)
   self.db:begin(interaction.mode, interaction.tables)
   interaction.run(self)
   local started = clock.now()
   self.db:commit(interaction.mode)
   if interaction.mode == "read write" then self.observe("committed", number, milliseconds_since(started)) end
end

-- True if it was done, in the end.
local function carried_out(self, number, interaction)
   local drawn = self.random.state
   for try = 0, self.retries do
      local good, reason = pcall(attempt, self, number, interaction)
      if good then return true end
      if not database.may_try_again(reason) then error(reason, 0) end
      self.db:recover(reason)
      if try < self.retries then self.observe("retried", number) end
      self.random.state = drawn -- the same interaction again, not another one
   end
   return false
end

function client.step(self)
   local name = mix.choose(self.mix, self.random:uniform(1, mix.WHOLE))
   local number, started = mix.NUMBER[name], clock.now()
   if carried_out(self, number, interactions[name]) then
      self.observe("completed", number, milliseconds_since(started))
   else
      self.observe("failed", number)
   end
end

return client
