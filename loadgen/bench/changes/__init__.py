"""bench-changes: what clients notice when a running stack changes.

settings   what the environment asks for, and the multimed.yml that follows          pure
steps      the commands, in their order, and what is wanted of each                  pure
outcome    percentiles, ratios, targets, tables, the last line                       pure
load       the loads, which run all the time
__main__   the run
"""
