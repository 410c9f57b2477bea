-- The words of the database. In: numbers and random streams. Out: DIGSYL words, subjects, countries, random text, dates, money as
-- SQL wants it. Pure. Must never: make a character that would need quoting in SQL or LIKE.

local random = require("tpcw.random")

local words = {}

words.SUBJECTS = {
   "ARTS",
   "BIOGRAPHIES",
   "BUSINESS",
   "CHILDREN",
   "COMPUTERS",
   "COOKING",
   "HEALTH",
   "HISTORY",
   "HOME",
   "HUMOR",
   "LITERATURE",
   "MYSTERY",
   "NON-FICTION",
   "PARENTING",
   "POLITICS",
   "REFERENCE",
   "RELIGION",
   "ROMANCE",
   "SELF-HELP",
   "SCIENCE-NATURE",
   "SCIENCE-FICTION",
   "SPORTS",
   "YOUTH",
   "TRAVEL",
}

words.COUNTRIES = {
   "United States",
   "United Kingdom",
   "Canada",
   "Germany",
   "France",
   "Japan",
   "Netherlands",
   "Italy",
   "Switzerland",
   "Australia",
   "Algeria",
   "Argentina",
   "Armenia",
   "Austria",
   "Azerbaijan",
   "Bahamas",
   "Bahrain",
   "Bangla Desh",
   "Barbados",
   "Belarus",
   "Belgium",
   "Bermuda",
   "Bolivia",
   "Botswana",
   "Brazil",
   "Bulgaria",
   "Cayman Islands",
   "Chad",
   "Chile",
   "China",
   "Christmas Island",
   "Colombia",
   "Croatia",
   "Cuba",
   "Cyprus",
   "Czech Republic",
   "Denmark",
   "Dominican Republic",
   "Eastern Caribbean",
   "Ecuador",
   "Egypt",
   "El Salvador",
   "Estonia",
   "Ethiopia",
   "Falkland Island",
   "Faroe Island",
   "Fiji",
   "Finland",
   "Gabon",
   "Gibraltar",
   "Greece",
   "Guam",
   "Hong Kong",
   "Hungary",
   "Iceland",
   "India",
   "Indonesia",
   "Iran",
   "Iraq",
   "Ireland",
   "Israel",
   "Jamaica",
   "Jordan",
   "Kazakhstan",
   "Kuwait",
   "Lebanon",
   "Luxembourg",
   "Malaysia",
   "Mexico",
   "Mauritius",
   "New Zealand",
   "Norway",
   "Pakistan",
   "Philippines",
   "Poland",
   "Portugal",
   "Romania",
   "Russia",
   "Saudi Arabia",
   "Singapore",
   "Slovakia",
   "South Africa",
   "South Korea",
   "Spain",
   "Sudan",
   "Sweden",
   "Taiwan",
   "Thailand",
   "Trinidad",
   "Turkey",
   "Venezuela",
   "Zambia",
}

local SYLLABLES = {
   ["0"] = "BA",
   ["1"] = "OG",
   ["2"] = "AL",
   ["3"] = "RI",
   ["4"] = "RE",
   ["5"] = "SE",
   ["6"] = "AT",
   ["7"] = "UL",
   ["8"] = "IN",
   ["9"] = "NG",
}
local LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789 "
local DIGITS = "0123456789"
local POOL_CHARACTERS = 16384
local POOL_PURPOSE = 1

-- The specification's DIGSYL(D, N) (clause 4.7): each decimal digit a syllable, at least N digits.
function words.digsyl(number, digits) return (("%0" .. math.max(digits, 1) .. "d"):format(number):gsub("%d", SYLLABLES)) end

-- An item's title has one of items/5 words in it, an author's name one of items/10, and these
-- are searched for: a search finds a handful.
function words.of_title(item, items) return words.digsyl((item - 1) % (items / 5) + 1, 7) end

function words.of_author(author, items) return words.digsyl((author - 1) % (items / 10) + 1, 7) end

local function filled(seed, number, alphabet)
   local stream, characters = random.stream(seed, POOL_PURPOSE, number), {}
   for n = 1, POOL_CHARACTERS do
      local at = stream:uniform(1, #alphabet)
      characters[n] = alphabet:sub(at, at)
   end
   return table.concat(characters)
end

-- Random text is cut out of a long one: many times as fast as drawing every character.
function words.pool(seed) return { letters = filled(seed, 1, LETTERS), digits = filled(seed, 2, DIGITS) } end

local function cut(text, stream, shortest, longest)
   local length = stream:uniform(shortest, longest)
   local start = stream:uniform(1, #text - length + 1)
   return text:sub(start, start + length - 1)
end

function words.text(pool, stream, shortest, longest) return cut(pool.letters, stream, shortest, longest) end

function words.digits(pool, stream, shortest, longest) return cut(pool.digits, stream, shortest, longest) end

-- Random text with a word somewhere in it.
function words.text_around(pool, stream, word, shortest, longest)
   local rest = words.text(pool, stream, shortest - #word, longest - #word)
   local before = stream:uniform(0, #rest)
   return rest:sub(1, before) .. word .. rest:sub(before + 1)
end

local SECONDS_PER_DAY = 86400

-- days: since 1970-01-01, may be negative.
function words.date(days) return os.date("!%Y-%m-%d", days * SECONDS_PER_DAY) end

function words.money(cents) return ("%d.%02d"):format(math.floor(cents / 100), cents % 100) end

return words
