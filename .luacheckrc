-- sysbench runs these files with LuaJIT and calls its callbacks by their global names.
std = "luajit"
max_line_length = 160
read_globals = { "ffi" }
globals = { "sysbench", "prepare", "run", "cleanup", "help", "init", "thread_init", "thread_done", "event", "report" }
-- What sysbench's own oltp_common.lua leaves behind for our wrapper, and a stream that a test replaces.
files["loadgen/lib/read_only.lua"] = { globals = { "stmt", "con" } }
files["loadgen/oltp.lua"] = { read_globals = { "con" } }
files["loadgen/tests/read_only_test.lua"] = { globals = { "io" } }
