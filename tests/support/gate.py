"""The operator's commands of the running gate."""

from . import compose as containers


def operate(*command, check=True):
    """Runs `gtid-gate COMMAND` in the gate's container: (exit status, output)."""
    done = containers.compose("exec", "-T", "gate", "gtid-gate", *command, check=False)
    assert not check or done.returncode == 0, done.stderr
    return done.returncode, done.stdout + done.stderr


def reads_on_a_satellite(cursor, statement):
    """Whether a satellite answers it: after a definition the master does, until the gate knows what has become of views."""
    cursor.execute(statement)
    cursor.fetchall()
    cursor.execute("SHOW MULTIMED LAST READ")
    return any("satellite" in str(value) for row in cursor.fetchall() for value in row)
