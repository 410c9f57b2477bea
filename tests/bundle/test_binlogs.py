"""Which of the master's binlogs go when all are more than BINLOG_RETENTION_SIZE (mysql-master/binlogs.sh)."""

import pytest

from support import compose as containers

# Five files of 10 bytes; the sixth is the newest, and open: MySQL writes it.
FILES = "".join(f"binlog.00000{number}\t10\tNo\n" for number in range(1, 6)) + "binlog.000006\t1\tNo\n"


@pytest.mark.parametrize(
    "bound,in_use,kept_from,fits",
    [
        (51, "binlog.000006", "", True),
        (50, "binlog.000006", "binlog.000002", True),
        (31, "binlog.000006", "binlog.000003", True),
        (11, "binlog.000006", "binlog.000005", True),
        # The two newest stay, whatever the bound; and what is read, with the file before it.
        (1, "binlog.000006", "binlog.000005", False),
        (1, "binlog.000004", "binlog.000003", False),
        (31, "binlog.000003", "binlog.000002", False),
        (1, "binlog.000002", "", False),
        (1, "binlog.000001", "", False),
        # The performance schema is off.
        (1, "NULL", "binlog.000005", False),
    ],
)
def test_the_oldest_go_until_the_bound_holds(bound, in_use, kept_from, fits):
    script = '. mysql-master/lib.sh; . mysql-master/binlogs.sh; purge_to "$0" "$1"'
    done = containers.run("bash", "-uc", script, str(bound), in_use, input=FILES, check=False)
    assert (done.stdout, done.returncode) == (kept_from, 0 if fits else 1), done.stderr


def test_of_one_file_none_goes():
    done = containers.run("bash", "-uc", ". mysql-master/binlogs.sh; purge_to 1 x", input="binlog.000001\t10\tNo\n", check=False)
    assert (done.stdout, done.returncode) == ("", 1)
