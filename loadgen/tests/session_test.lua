-- What a connection of a run begins with: the statement as it was given, nothing for none, never in silence.
local check, session = require("check"), require("session")

local function connection()
   local sent = {}
   return { query = function(_, text) sent[#sent + 1] = text end }, sent
end

check.test("the statement is executed as given", function()
   local con, sent = connection()
   session.begin(con, "SET @multimed_consistency = 'strong'")
   check.equal(#sent, 1)
   check.equal(sent[1], "SET @multimed_consistency = 'strong'")
end)

check.test("without a statement nothing is sent, and no connection is needed", function()
   local con, sent = connection()
   session.begin(con, "")
   session.begin(nil, "")
   check.equal(#sent, 0)
end)

check.test(
   "a script whose connection cannot be found is refused",
   function() check.fails("--session-sql", session.begin, nil, "SELECT 1") end
)

check.done()
