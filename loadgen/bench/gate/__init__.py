"""bench-gate: reads straight to MySQL, through the gate, and through other proxies, on the same cores in one run.

settings   what the environment asks for                                                     pure
plan       which cells are measured, by whom, in which order                                  pure
outcome    medians, ratios, the last line                                                     pure
tables     how all of it is printed                                                           pure
peers      configurations of ProxySQL and MySQL Router (pure), starting and stopping them
cells      one cell measured: sysbench, CPU, and under writes the load and the lag
loads      loads during which something changes: writes, cores, limits, mix
steady     a load that runs on meanwhile, and samples of the gate's counters
satellite  cores and limit of the satellite, changed and put back
timeline   what is read out of such samples                                                   pure
load_outcome  ratios, targets and tables of those loads                                       pure
__main__   the run
"""
