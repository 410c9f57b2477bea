"""The log in Kafka, from outside.

In: the running stack. Out: offsets; records deleted from the log's beginning. Must never: delete what an operator's stack has.
"""

import json
import re

from . import compose as containers
from .wait import wait_for

TOPIC = "multimed.log"
# The tool of Kafka's own image, or the class in the one that stands for it.
DELETE = r"""
file=$(mktemp)
cat > "$file"
if [ -x /opt/kafka/bin/kafka-delete-records.sh ]; then exec /opt/kafka/bin/kafka-delete-records.sh --bootstrap-server localhost:9094 --offset-json-file "$file"; fi
exec java -Xmx96m -cp '/opt/kafka/lib/*' org.apache.kafka.tools.DeleteRecordsCommand --bootstrap-server localhost:9094 --offset-json-file "$file"
"""


def epoch_starts(stack):
    """Offsets of the epoch starts that the log has, in order."""
    text = stack.compose("exec", "-T", "capture", "cdc-applier", "log").stdout
    return [int(offset) for offset in re.findall(r"^offset=(\d+) epoch=\d+ kind=epoch_start", text, re.MULTILINE)]


def delete_before(stack, offset):
    """The log begins at this offset from now on; -1: at its end, so that it is empty."""
    request = {"partitions": [{"topic": TOPIC, "partition": 0, "offset": offset}], "version": 1}
    done = stack.compose("exec", "-T", "kafka", "sh", "-c", DELETE, input=json.dumps(request))
    assert "low_watermark" in done.stdout and "error" not in done.stdout.lower(), done.stdout


def restart_capture(stack):
    """Returns the offset of the new epoch's start."""
    last = max(epoch_starts(stack), default=-1)
    containers.compose("restart", "-t", "5", "capture")
    wait_for(lambda: stack.page("capture", "/ready")[0] == 200, 60, "capture to be ready")
    return wait_for(lambda: max((o for o in epoch_starts(stack) if o > last), default=None), 30, "a new epoch")


def start_anew(stack, deadline_s=120):
    """A log that was spoilt on purpose is emptied; satellites clone again where they must."""
    delete_before(stack, -1)
    containers.compose("restart", "-t", "5", "capture")
    wait_for(lambda: stack.page("capture", "/ready")[0] == 200, 60, "capture to be ready")
    stack.await_satellites(deadline_s)
