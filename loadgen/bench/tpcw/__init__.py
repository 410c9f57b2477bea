"""bench-tpcw: TPC-W on one MySQL, on MySQL with native replicas, and on Multimed, on the same cores in one run.

settings   what the environment asks for                                                     pure
plan       which contenders run which loads, in which order                                  pure
memory     which server gets how much of the same memory                                     pure
override   what Compose is told about one contender                                          pure
outcome    ratios, what Multimed costs, the last line, the verdict in words                  pure
tables     how it is printed                                                                 pure
part_outcome  medians and ratios of what is measured beside the contenders              pure
charts     figures as SVG                                                                    pure
page       the report as one HTML file                                                       pure
results    the measurements as JSON and CSV
machine    what this machine is, what each server was set to
stage      one contender on a fresh copy of the database: brought up, checked
samples    CPU, lag and waits, second by second
runner     one load measured
parts      what is measured beside the contenders: commits, light reads, an own index
__main__   the run
"""
