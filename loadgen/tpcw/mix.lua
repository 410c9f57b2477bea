-- The three mixes of TPC-W 1.8: how often each web interaction comes, in hundredths of a percent, drawn independently of what the
-- client did before (the specification's clients walk a Markov chain that has these frequencies); and two of reads alone: light (the
-- short ones, about as often as in browsing) and best_sellers (the longest). In: a mix's name and a number. Out: an interaction's name.
-- Pure.

local mix = {}

mix.WHOLE = 10000

-- {interaction, browsing, shopping, ordering, light, best_sellers}
-- stylua: ignore
local TABLE = {
   {"home",                  2900, 1600,  912, 4600,     0},
   {"new_products",          1100,  500,   46,    0,     0},
   {"best_sellers",          1100,  500,   46,    0, 10000},
   {"product_detail",        2100, 1700, 1235, 3300,     0},
   {"search_request",        1200, 2000, 1453, 1900,     0},
   {"search_results",        1100, 1700, 1308,    0,     0},
   {"shopping_cart",          200, 1160, 1353,    0,     0},
   {"customer_registration",   82,  300, 1286,  200,     0},
   {"buy_request",             75,  260, 1273,    0,     0},
   {"buy_confirm",             69,  120, 1018,    0,     0},
   {"order_inquiry",           30,   75,   25,    0,     0},
   {"order_display",           25,   66,   22,    0,     0},
   {"admin_request",           10,   10,   12,    0,     0},
   {"admin_confirm",            9,    9,   11,    0,     0},
}
local COLUMN = { browsing = 2, shopping = 3, ordering = 4, light = 5, best_sellers = 6 }

mix.NAMES = {} -- the interactions in the specification's order
mix.NUMBER = {} -- and each one's place in it, from 1
for number, row in ipairs(TABLE) do
   mix.NAMES[number] = row[1]
   mix.NUMBER[row[1]] = number
end

function mix.known(name) return COLUMN[name] ~= nil end

function mix.weight(name, interaction) return TABLE[mix.NUMBER[interaction]][COLUMN[name]] end

-- drawn: 1 to WHOLE.
function mix.choose(name, drawn)
   local column = COLUMN[name]
   for _, row in ipairs(TABLE) do
      drawn = drawn - row[column]
      if drawn <= 0 then return row[1] end
   end
end

return mix
