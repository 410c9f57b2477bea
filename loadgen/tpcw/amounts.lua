-- What an order costs, in whole cents, rounded as MySQL rounds decimals (half away from zero), so that check can compare exactly.
-- In: lines {quantity, cents (of one), discount (hundredths of a percent)}. Out: {sub_total, tax, total} in cents. Pure.

local amounts = {}

local TAX = 825 -- hundredths of a percent
local SHIPPING = 300 -- cents an order, and
local SHIPPING_PER_PIECE = 100 -- cents a piece
local WHOLE = 10000 -- hundredths of a percent

-- The same as SQL has it, in units of money.
amounts.IN_SQL = { tax = "0.0825", shipping = "3.00", shipping_per_piece = "1.00" }

local function share(cents, hundredths) return math.floor((cents * hundredths + WHOLE / 2) / WHOLE) end

function amounts.line(line) return share(line.quantity * line.cents, WHOLE - line.discount) end

function amounts.order(lines)
   local sub_total, pieces = 0, 0
   for _, line in ipairs(lines) do
      sub_total = sub_total + amounts.line(line)
      pieces = pieces + line.quantity
   end
   local tax = share(sub_total, TAX)
   return { sub_total = sub_total, tax = tax, total = sub_total + tax + SHIPPING + SHIPPING_PER_PIECE * pieces }
end

return amounts
