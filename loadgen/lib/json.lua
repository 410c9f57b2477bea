-- Lua values as JSON text. In: numbers, strings, booleans, tables with string keys. Out: JSON with sorted keys, so
-- that equal values give equal text; numbers that JSON cannot express become null. Pure.

local json = {}

local ESCAPES = { ['"'] = '\\"', ["\\"] = "\\\\", ["\n"] = "\\n", ["\r"] = "\\r", ["\t"] = "\\t" }

local function quoted(text)
   return '"' .. text:gsub('[%c"\\\127]', function(character) return ESCAPES[character] or ("\\u%04x"):format(character:byte()) end) .. '"'
end

local function number(value)
   if value ~= value or value == math.huge or value == -math.huge then return "null" end
   if value == math.floor(value) and math.abs(value) < 2 ^ 53 then return ("%.0f"):format(value) end
   return ("%.6g"):format(value)
end

local function object(value)
   local names, members = {}, {}
   for name in pairs(value) do
      names[#names + 1] = name
   end
   table.sort(names)
   for n, name in ipairs(names) do
      members[n] = quoted(name) .. ": " .. json.encode(value[name])
   end
   return "{" .. table.concat(members, ", ") .. "}"
end

function json.encode(value)
   local kind = type(value)
   if kind == "number" then return number(value) end
   if kind == "string" then return quoted(value) end
   if kind == "boolean" then return tostring(value) end
   if kind == "table" then return object(value) end
   error("no JSON for a " .. kind)
end

return json
