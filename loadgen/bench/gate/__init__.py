"""bench-gate: reads straight to MySQL, through the gate, and through other proxies, on the same cores in one run.

settings   what the environment asks for                                                     pure
plan       which cells are measured, by whom, in which order                                  pure
outcome    medians, ratios, the last line                                                     pure
tables     how all of it is printed                                                           pure
peers      configurations of ProxySQL and MySQL Router (pure), starting and stopping them
cells      one cell measured: sysbench, CPU, and under writes the load and the lag
__main__   the run
"""
