-- prepare: creates and fills the tables with all threads of sysbench. In: a connection, the generator, this thread's number, how many
-- there are. Out: a database as schema and rows say. Each thread takes every nth range of rows; a range of orders brings its lines and
-- payments. Must never: load into tables that exist already, or leave parameters behind that were not loaded to the end.

local batch = require("tpcw.batch")
local phases = require("tpcw.phases")
local rows = require("tpcw.rows")
local schema = require("tpcw.schema")

local load = {}

local RANGE = 500 -- rows

-- Calls visit with the numbers of the rows in this thread's ranges. Pure.
function load.each(count, thread, threads, visit)
   for first = thread * RANGE + 1, count, threads * RANGE do
      for number = first, math.min(first + RANGE - 1, count) do
         visit(number)
      end
   end
end

local function simple_tables(g)
   local scale = g.scale
   return {
      { "country", scale.countries, rows.country },
      { "author", scale.authors, rows.author },
      { "item", scale.items, rows.item },
      { "address", scale.addresses, rows.address },
      { "customer", scale.customers, rows.customer },
   }
end

local function fill(job, name, count, make)
   local insert = batch.new(name, job.send)
   load.each(count, job.thread, job.threads, function(number) insert:add(make(job.generator, number)) end)
   insert:finish()
end

local function fill_orders(job)
   local orders, lines, payments = batch.new("orders", job.send), batch.new("order_line", job.send), batch.new("cc_xacts", job.send)
   load.each(job.generator.scale.orders, job.thread, job.threads, function(number)
      local made = rows.order(job.generator, number)
      orders:add(made.order)
      for _, line in ipairs(made.lines) do
         lines:add(line)
      end
      payments:add(made.payment)
   end)
   orders:finish()
   lines:finish()
   payments:finish()
end

-- The numbers that run and check need to know of the load.
function load.parameters(job)
   local scale = job.generator.scale
   return {
      items = scale.items,
      ebs = scale.ebs,
      seed = job.generator.seed,
      carts = job.carts,
      customers = scale.customers,
      addresses = scale.addresses,
      orders = scale.orders,
   }
end

local function finish(job)
   local insert = batch.new(schema.PARAMETERS, job.send)
   for name, value in pairs(load.parameters(job)) do
      insert:add(("('%s',%d)"):format(name, value))
   end
   insert:finish()
end

-- One thread does what does not divide; the others wait at the next phase.
local function alone(job, action)
   if job.thread == 0 then action() end
end

-- Tables are shared out among the threads.
local function each_table(job, statement)
   for number, one in ipairs(schema.TABLES) do
      local text = statement(one)
      if text and number % job.threads == job.thread then job.send(text) end
   end
end

local function create(job)
   for _, one in ipairs(schema.TABLES) do
      job.send(schema.create(one))
   end
end

-- job: {send = function(statement), thread (from 0), threads, generator, carts, say = function(text)}. Begins behind phase 1.
function load.run(job)
   local function phase(number, text)
      phases.wait(number, job.thread, job.threads)
      alone(job, function() job.say(text) end)
   end
   alone(job, function() create(job) end)
   phase(2, "loading rows")
   for _, one in ipairs(simple_tables(job.generator)) do
      fill(job, unpack(one))
   end
   fill_orders(job)
   phase(3, "adding indexes")
   each_table(job, schema.index)
   phase(4, "analyzing")
   each_table(job, schema.analyze)
   phase(5, "done")
   alone(job, function() finish(job) end)
end

return load
