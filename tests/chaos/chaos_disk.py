"""A disk of limited size for Kafka, and how it is filled.

In: the running stack; root and a loop device. Out: the same log on a small file system, and back again. Must never: fill a disk that
anything else uses, lose the log on the way, or leave a mount behind.
"""

import contextlib
import datetime
import os
import shutil
import subprocess

from support import compose as containers
from support.wait import wait_for

HERE = os.path.dirname(os.path.abspath(__file__))
ROOM = 256 << 20


def possible():
    """Without a loop device this fault cannot be done: then it is left out, visibly."""
    tools = all(shutil.which(tool) for tool in ("losetup", "mkfs.ext4", "mount"))
    return os.geteuid() == 0 and tools and subprocess.run(["losetup", "-f"], capture_output=True).returncode == 0


@contextlib.contextmanager
def limited_disk(stack):
    """Kafka's log lies on a file system of its own in here; it is moved there and back while Kafka is stopped."""
    disk = Disk(stack)
    try:
        disk.make()
        disk.move(disk.volume, disk.data, disk.compose_files())
        yield disk
    finally:
        disk.remove()


class Disk:
    def __init__(self, stack):
        self.image, self.mount = stack.state / "kafka-disk.img", stack.state / "kafka-disk"
        self.data, self.ballast = self.mount / "data", self.mount / "ballast"
        name = os.environ["COMPOSE_PROJECT_NAME"] + "_kafka-data"
        self.volume = containers.run("docker", "volume", "inspect", "-f", "{{.Mountpoint}}", name).stdout.strip()
        self.moved = False

    def compose_files(self):
        return {"COMPOSE_FILE": f"{os.environ['COMPOSE_FILE']}:{HERE}/kafka-disk.yml", "KAFKA_DISK": str(self.data)}

    def make(self):
        used = int(containers.run("du", "-sB1", self.volume).stdout.split()[0])
        self.mount.mkdir(exist_ok=True)
        containers.run("truncate", "-s", str(used + ROOM), str(self.image))
        containers.run("mkfs.ext4", "-q", "-F", "-m", "0", str(self.image))
        containers.run("mount", "-o", "loop", str(self.image), str(self.mount))

    def move(self, source, target, environment):
        """The log from one directory to another; Kafka runs on the other."""
        containers.compose("rm", "-f", "-s", "kafka")
        containers.run("sh", "-euc", 'mkdir -p "$2"; find "$2" -mindepth 1 -delete; cp -a "$1"/. "$2"', "copy", str(source), str(target))
        containers.compose("up", "-d", "--no-build", "--no-deps", "kafka", env=environment)
        self.moved = str(target) == str(self.data)

    def remove(self):
        self.ballast.unlink(missing_ok=True)
        if self.moved:
            self.move(self.data, self.volume, None)
        containers.run("umount", str(self.mount), check=False)
        self.image.unlink(missing_ok=True)

    @contextlib.contextmanager
    def full(self):
        self.since = datetime.datetime.now(datetime.UTC).isoformat()
        with open(self.ballast, "wb", buffering=0) as file, contextlib.suppress(OSError):
            while True:
                file.write(bytes(1 << 16))
        with open(self.ballast, "ab", buffering=0) as file, contextlib.suppress(OSError):
            while True:
                file.write(bytes(1 << 10))
        try:
            yield
        finally:
            self.ballast.unlink()

    def await_refusal(self, deadline_s):
        """Until Kafka has said that the disk is full."""
        wait_for(
            lambda: "No space left on device" in containers.compose("logs", "--no-color", "--since", self.since, "kafka").stdout,
            deadline_s,
            "Kafka to find its disk full",
        )
