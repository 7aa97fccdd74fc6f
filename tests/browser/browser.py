# SPDX-License-Identifier: Apache-2.0
"""A headless Chromium, driven by its DevTools protocol over a pipe: no port, and no other program."""
import base64
import fcntl
import json
import os
import select
import shutil
import signal
import subprocess
import tempfile
import time

WAIT = 60  # seconds for one answer


class Browser:
    """One page of one browser, which ends with `with`."""

    def __enter__(self):
        self.home = tempfile.mkdtemp()
        to_read, to_write = os.pipe()
        from_read, from_write = os.pipe()
        # The browser reads from 3 and writes to 4. Higher numbers are in nobody's way.
        theirs = [fcntl.fcntl(fd, fcntl.F_DUPFD, 10) for fd in (to_read, from_write)]
        command = ["chromium", "--headless", "--remote-debugging-pipe", "--no-first-run", "--disable-gpu",
                   "--disable-background-networking", "--disable-component-update", "--disable-dev-shm-usage",
                   "--force-color-profile=srgb", f"--user-data-dir={self.home}/profile", "about:blank"]
        if os.geteuid() == 0:  # the page is our own, so it needs no sandbox of the browser's
            command.insert(1, "--no-sandbox")

        def pipes():
            os.dup2(theirs[0], 3)
            os.dup2(theirs[1], 4)

        with open(self.home + "/log", "wb") as log:
            self.process = subprocess.Popen(command, preexec_fn=pipes, pass_fds=(3, 4), stdout=log, stderr=log,
                                            start_new_session=True, env={**os.environ, "HOME": self.home})
        for fd in (to_read, from_write, *theirs):
            os.close(fd)
        self.writes, self.reads = to_write, from_read
        self.buffer, self.number, self.session, self.events = b"", 0, None, []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log", "Accessibility"):
            self.call(domain + ".enable")
        return self

    def __exit__(self, *_):
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()
        os.close(self.writes)
        os.close(self.reads)
        shutil.rmtree(self.home, ignore_errors=True)

    def _receive(self, until):
        """Returns the next message; None if there is none by that time."""
        while b"\0" not in self.buffer:
            left = until - time.monotonic()
            if left <= 0 or not select.select([self.reads], [], [], left)[0]:
                return None
            data = os.read(self.reads, 1 << 20)
            if not data:
                raise RuntimeError("the browser has ended: " + open(self.home + "/log", errors="replace").read()[-2000:])
            self.buffer += data
        message, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(message)

    def call(self, method, **parameters):
        self.number += 1
        request = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            request["sessionId"] = self.session
        data = json.dumps(request).encode() + b"\0"
        while data:
            data = data[os.write(self.writes, data):]
        until = time.monotonic() + WAIT
        while True:
            message = self._receive(until)
            if message is None:
                raise RuntimeError(f"{method}: no answer within {WAIT} s")
            if message.get("id") == self.number:
                if "error" in message:
                    raise RuntimeError(f"{method}: {message['error']}")
                return message["result"]
            self.events.append(message)

    def wait_for(self, event):
        until = time.monotonic() + WAIT
        while not any(one.get("method") == event for one in self.events):
            message = self._receive(until)
            if message is None:
                raise RuntimeError(f"no {event} within {WAIT} s")
            self.events.append(message)

    def open(self, file, width, scheme="light", height=900):
        self.events = []
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.call("Page.navigate", url="file://" + file)
        self.wait_for("Page.loadEventFired")
        self.run("new Promise((done) => setTimeout(done, 50))")

    def run(self, expression):
        """Returns the value of an expression of JavaScript in the page."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(f"{expression[:80]}: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    def press(self, key, code=0, text=""):
        names = {"Tab": 9, "Enter": 13, "End": 35, "Home": 36, "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39,
                 "ArrowDown": 40}
        common = {"key": key, "code": key, "windowsVirtualKeyCode": names.get(key, code)}
        text = "\r" if key == "Enter" else text
        self.call("Input.dispatchKeyEvent", type="keyDown" if text else "rawKeyDown", text=text, **common)
        self.call("Input.dispatchKeyEvent", type="keyUp", **common)

    def type(self, text):
        self.call("Input.insertText", text=text)

    def requests(self):
        """Returns the addresses that the page asked for, itself included."""
        return [one["params"]["request"]["url"] for one in self.events
                if one.get("method") == "Network.requestWillBeSent"]

    def unblocked(self):
        """Returns the addresses on the network that the page asked for and that its policy did not block."""
        blocked = [one["params"]["requestId"] for one in self.events if one.get("method") == "Network.loadingFailed"
                   and one["params"].get("blockedReason") == "csp"]
        return [one["params"]["request"]["url"] for one in self.events
                if one.get("method") == "Network.requestWillBeSent" and one["params"]["requestId"] not in blocked
                and not one["params"]["request"]["url"].startswith("file:")]

    def complaints(self):
        """Returns what the console and the policy say, and the dialogs that the page opened."""
        kinds = ("Log.entryAdded", "Runtime.exceptionThrown", "Runtime.consoleAPICalled",
                 "Page.javascriptDialogOpening")
        return [json.dumps(one["params"])[:300] for one in self.events if one.get("method") in kinds]

    def shot(self, file, clip=None):
        box = clip or {"x": 0, "y": 0, **self.run(
            "({width: innerWidth, height: document.documentElement.scrollHeight})"), "scale": 1}
        data = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=True, clip=box)["data"]
        with open(file, "wb") as image:
            image.write(base64.b64decode(data))
