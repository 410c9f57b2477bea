#!/usr/bin/env sysbench
-- Transactions that insert many rows: a multi-row load, or with more than one statement a load of large transactions.
--
--   sysbench rows.lua --rows=1000 --statements=1 [options of sysbench] prepare|run
--
-- In:  rows of each INSERT, and how many of them make a transaction. Out: rows like those of sysbench's own tables, in `rows_loaded`.
-- Must never: spend the machine's time on making rows: each thread makes one INSERT and repeats it.
-- No globals but sysbench's callbacks.

sysbench.cmdline.options = {
   rows = { "rows of one INSERT", 1000 },
   statements = { "INSERTs of one transaction", 1 },
}

local connection, insert

function prepare()
   local admin = sysbench.sql.driver():connect()
   admin:query("DROP TABLE IF EXISTS rows_loaded")
   admin:query([[CREATE TABLE rows_loaded (id BIGINT AUTO_INCREMENT PRIMARY KEY, k INT NOT NULL, c CHAR(120) NOT NULL,
      pad CHAR(60) NOT NULL)]])
end

local function values()
   return ("(%d,'%s','%s')"):format(
      sysbench.rand.uniform(1, 1000000),
      sysbench.rand.string(("#"):rep(119)),
      sysbench.rand.string(("#"):rep(59))
   )
end

function thread_init()
   connection = sysbench.sql.driver():connect()
   local rows = {}
   for n = 1, sysbench.opt.rows do
      rows[n] = values()
   end
   insert = "INSERT INTO rows_loaded (k, c, pad) VALUES " .. table.concat(rows, ",")
end

function event()
   connection:query("BEGIN")
   for _ = 1, sysbench.opt.statements do
      connection:query(insert)
   end
   connection:query("COMMIT")
end

function thread_done() connection:disconnect() end

sysbench.cmdline.commands = { prepare = { prepare } }
