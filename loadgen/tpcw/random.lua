-- Random numbers that depend on nothing but a seed, a purpose and a number, so that any row can be made again from its number
-- alone, in any order and by any thread. In: integers. Out: streams of uniform, non-uniform and exponential numbers. Pure.
-- Must never: use math.random or sysbench's generator, whose state is shared by all that a thread draws.

local bit = require("bit")
local bor, bxor, lshift, rshift, tobit = bit.bor, bit.bxor, bit.lshift, bit.rshift, bit.tobit

local random = {}

local Stream = {}
Stream.__index = Stream

-- Robert Jenkins' hash of 32-bit integers. One to one, so that different rows never share a stream.
local function mixed(a)
   a = tobit(a)
   a = tobit(a + 0x7ed55d16 + lshift(a, 12))
   a = bxor(a, 0xc761c23c, rshift(a, 19))
   a = tobit(a + 0x165667b1 + lshift(a, 5))
   a = bxor(tobit(a + 0xd3a2646c), lshift(a, 9))
   a = tobit(a + 0xfd7046c5 + lshift(a, 3))
   return bxor(a, 0xb55a4f09, rshift(a, 16))
end

-- purpose: a small integer, one for each kind of thing that is drawn.
function random.stream(seed, purpose, number)
   local state = mixed(bxor(mixed(mixed(seed) + purpose), tobit(number)))
   return setmetatable({ state = state ~= 0 and state or 1 }, Stream)
end

-- In [0, 1): Marsaglia's xorshift, never 0 as a state.
function Stream:unit()
   local x = self.state
   x = bxor(x, lshift(x, 13))
   x = bxor(x, rshift(x, 17))
   x = bxor(x, lshift(x, 5))
   self.state = x
   return (x % 4294967296) / 4294967296
end

function Stream:uniform(low, high) return low + math.floor(self:unit() * (high - low + 1)) end

-- The specification's NURand(A, x, y): some values are far more frequent than others.
function Stream:nurand(a, low, high) return bor(self:uniform(0, a), self:uniform(low, high)) % (high - low + 1) + low end

function Stream:exponential(mean) return -mean * math.log(1 - self:unit()) end

function Stream:one_of(values) return values[self:uniform(1, #values)] end

return random
