"""sysbench as the benches start it, and the probes beside the servers.

In:  the bench's account, a server's address. Out: command lines, runs that succeeded, times at which transactions became visible.
Must never: put a password on a command line.
"""

import pathlib
import resource
import subprocess
import sys
import threading

HERE = pathlib.Path(__file__).resolve().parent
CHECKPOINT = "Checkpoint report"


def say(text):
    print(f"bench: {text}", file=sys.stderr, flush=True)


def allow_many_files():
    """A thousand connections of one sysbench."""
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def await_checkpoint(lines):
    """What was said until the warm-up was over (--report-checkpoints), or until the end."""
    said = ""
    for line in lines:
        said += line
        if CHECKPOINT in line:
            break
    return said


class Sysbench:
    """Starts sysbench with the bench's user; the password comes from a configuration file, not from the command line."""

    def __init__(self, config_file, user, database):
        self._common = [f"--config-file={config_file}", "--db-driver=mysql", f"--mysql-user={user}", f"--mysql-db={database}"]

    def command(self, script, host, *options):
        return ["sysbench", str(script), *self._common, f"--mysql-host={host}", *options]

    def run(self, script, host, *options):
        done = subprocess.run(self.command(script, host, *options), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if done.returncode:
            raise OSError(f"sysbench {pathlib.Path(script).name} {options[-1]} failed:\n{done.stdout[-2000:]}")


class Background:
    """A command, sysbench as a rule, that runs on; as a context it ends with it. `take` gets each line, by a thread of its own, and says if it
    was one of its kind; the last ones that were not are told if the command ends early."""

    def __init__(self, command):
        self._said = []
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self):
        for line in self._process.stdout:
            if not self.take(line):
                self._said = [*self._said[-20:], line]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._process.kill()
        self._process.wait()
        self._reader.join()
        self._process.stdout.close()

    def lasts(self):
        if self._process.poll() is not None:
            raise OSError(f"a load has ended early:\n{''.join(self._said)}")


class Probe:
    """A probe.lua beside one server; its lines are read as they come, by a thread of its own."""

    def __init__(self, sysbench, host, uuid, first, step):
        self.seen = {}
        self._process = subprocess.Popen(
            sysbench.command(HERE / "probe.lua", host, f"--uuid={uuid}", f"--first={first}", f"--step={step}", "probe"),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        for line in self._process.stdout:
            if line == "ready\n":
                break
        else:
            raise OSError(f"the probe of {host} did not start")
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self):
        for line in self._process.stdout:
            number, _, seconds = line.partition(" ")
            self.seen[int(number)] = float(seconds)

    def close(self):
        self._process.kill()
        self._reader.join()
        self._process.wait()
