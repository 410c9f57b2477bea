-- How a customer changes a shopping cart. In: its lines {item, quantity} and a random stream. Out: the changes as a list of {item,
-- quantity}, 0 takes a line out. Pure. Must never: lead to more than MAX_LINES lines, to more than MAX_PIECES of an item, or to an
-- empty cart.

local cart = {}

cart.MAX_LINES = 100
cart.MAX_PIECES = 10 -- so that an order never empties the stock of at least 10

local function quantity_of(lines, item)
   for _, line in ipairs(lines) do
      if line.item == item then return line.quantity end
   end
   return 0
end

-- One more of an item, if there is room.
function cart.added(lines, item)
   local quantity = quantity_of(lines, item)
   local full = quantity == 0 and #lines >= cart.MAX_LINES or quantity >= cart.MAX_PIECES
   return full and {} or { { item = item, quantity = quantity + 1 } }
end

-- New quantities for some of the lines, at least one; 0 takes a line out, but not the first. A single line keeps 1 to 10 pieces.
function cart.refreshed(lines, stream)
   local changes, wanted = {}, stream:uniform(1, #lines)
   local most = #lines == 1 and cart.MAX_PIECES or cart.MAX_PIECES - 1
   for n, line in ipairs(lines) do
      if stream:uniform(1, #lines - n + 1) <= wanted - #changes then
         changes[#changes + 1] = { item = line.item, quantity = stream:uniform(n == 1 and 1 or 0, most) }
      end
   end
   return changes
end

-- Half of the visits to a cart that has something in it change quantities, all others add the item.
function cart.changes(lines, item, stream)
   if #lines > 0 and stream:uniform(1, 2) == 1 then return cart.refreshed(lines, stream) end
   return cart.added(lines, item)
end

return cart
