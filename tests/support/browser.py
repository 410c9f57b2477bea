"""A headless Chromium, spoken to over pipes in its own protocol (CDP): nothing listens, and no library is needed.

In: addresses of pages. Out: what scripts in them say, and screenshots. Must never: outlive its block, or keep a profile.
"""

import base64
import contextlib
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

CHROMIUM = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")


class Browser:
    """One page in one process."""

    def __init__(self):
        self._profile = tempfile.TemporaryDirectory(prefix="browser-", ignore_cleanup_errors=True)
        program = next(path for path in map(shutil.which, CHROMIUM) if path)
        theirs_in, self._out = os.pipe()
        self._in, theirs_out = os.pipe()
        # It reads from descriptor 3 and writes to 4.
        wiring = f'exec 3<&{theirs_in} 4>&{theirs_out}; exec "$@"'
        options = ("--headless", "--remote-debugging-pipe", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars")
        self._process = subprocess.Popen(
            ["bash", "-c", wiring, "bash", program, *options, "--no-first-run", f"--user-data-dir={self._profile.name}", "about:blank"],
            pass_fds=(theirs_in, theirs_out),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(theirs_in)
        os.close(theirs_out)
        self._pending, self._number, self._session, self.events = b"", 0, None, []
        target = self._say("Target.createTarget", url="about:blank")["targetId"]
        self._session = self._say("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self._say(f"{domain}.enable")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._process.kill()
        self._process.wait()
        os.close(self._in)
        os.close(self._out)
        with contextlib.suppress(OSError):
            self._profile.cleanup()

    def _say(self, method, timeout_s=30, **parameters):
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters} | ({"sessionId": self._session} if self._session else {})
        os.write(self._out, json.dumps(message).encode() + b"\0")
        end = time.monotonic() + timeout_s
        while True:
            heard = self._hear(end, method)
            if heard.get("id") == self._number:
                assert "error" not in heard, f"{method}: {heard['error']}"
                return heard["result"]
            self.events.append(heard)

    def _hear(self, end, method):
        while b"\0" not in self._pending:
            assert select.select([self._in], [], [], max(0, end - time.monotonic()))[0], f"{method}: the browser says nothing"
            more = os.read(self._in, 1 << 16)
            assert more, f"{method}: the browser has ended"
            self._pending += more
        message, self._pending = self._pending.split(b"\0", 1)
        return json.loads(message)

    def open(self, address, width, height=900, dark=False):
        self._say("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 720)
        self._say("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
        self._say("Page.navigate", url=address)

    def run(self, script):
        """What the expression gives."""
        said = self._say("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in said, said["exceptionDetails"]
        return said["result"].get("value")

    def complaints(self):
        """Errors of scripts, and what the page's policy refused."""
        found = [e["params"] for e in self.events if e.get("method") in ("Runtime.exceptionThrown", "Log.entryAdded")]
        return [c for c in found if c.get("entry", {}).get("level") != "info"]

    def screenshot(self):
        """The whole page, as PNG."""
        said = self._say("Page.captureScreenshot", format="png", captureBeyondViewport=True)
        return base64.b64decode(said["data"])
