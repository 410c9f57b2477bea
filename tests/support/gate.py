"""The operator's commands of the running gate."""

from . import compose as containers


def operate(*command, check=True):
    """Runs `gtid-gate COMMAND` in the gate's container: (exit status, output)."""
    done = containers.compose("exec", "-T", "gate", "gtid-gate", *command, check=False)
    assert not check or done.returncode == 0, done.stderr
    return done.returncode, done.stdout + done.stderr
