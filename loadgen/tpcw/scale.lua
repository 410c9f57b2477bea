-- How large the database is. In: --items and --ebs. Out: the numbers of rows that prepare loads (specification 1.8), and
-- the A of NURand for customers and for words that are searched for. Pure.

local scale = {}

scale.COUNTRIES = 92

local CUSTOMERS_PER_EB = 2880

-- {up to this many, A}
local CUSTOMER_A = { { 9999, 1023 }, { 39999, 4095 }, { 159999, 16383 }, { 639999, 65535 }, { 2559999, 262143 }, { math.huge, 1048575 } }
local ITEM_A = { { 1000, 63 }, { 10000, 511 }, { 100000, 4095 }, { 1000000, 32767 }, { math.huge, 524287 } }

local function a_of(steps, count)
   for _, step in ipairs(steps) do
      if count <= step[1] then return step[2] end
   end
end

function scale.of(items, ebs)
   local customers = CUSTOMERS_PER_EB * ebs
   return {
      items = items,
      ebs = ebs,
      authors = items / 4,
      customers = customers,
      addresses = 2 * customers,
      orders = customers * 9 / 10,
      countries = scale.COUNTRIES,
      customer_a = a_of(CUSTOMER_A, customers),
      item_a = a_of(ITEM_A, items),
   }
end

return scale
