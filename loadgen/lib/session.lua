-- What each connection of a run begins with. In: a connection, a statement or "". Out: the statement executed; an error of it
-- is the run's. Must never pass over a statement in silence: a script that keeps its connection elsewhere is refused.

local session = {}

function session.begin(connection, statement)
   if statement == "" then return end
   if not connection then
      error("--session-sql: this workload keeps its connection where it cannot be found (not in the global `con`)", 0)
   end
   connection:query(statement)
end

return session
