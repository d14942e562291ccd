"""Drives a headless Chromium over its DevTools protocol, through a pipe: no network, no package beyond Python's own.

    with Browser("/usr/bin/chromium") as browser:
        page = browser.open(path)           # waits until the page's scripts have run
        page.evaluate("document.title")
        page.complaints                     # console messages, exceptions, blocked or failed requests
        page.requests                       # every address that was asked for
"""

import base64
import json
import os
import pathlib
import select
import shutil
import subprocess
import tempfile
import time


class Browser:
    def __init__(self, program):
        self.profile = tempfile.mkdtemp(prefix="kw_browser_")
        read_commands, self.commands = os.pipe()
        self.answers, write_answers = os.pipe()

        def at_its_places():  # the browser reads on 3 and writes on 4
            os.dup2(read_commands, 100)
            os.dup2(write_answers, 101)
            os.dup2(100, 3)
            os.dup2(101, 4)

        self.process = subprocess.Popen(
            [program, "--headless=new", "--no-sandbox", "--remote-debugging-pipe", "--disable-gpu", "--hide-scrollbars",
             "--disable-background-networking", "--disable-component-update", "--disable-extensions", "--no-first-run",
             "--disable-dev-shm-usage", "--host-resolver-rules=MAP * ~NOTFOUND", f"--user-data-dir={self.profile}"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, preexec_fn=at_its_places, close_fds=False)
        os.close(read_commands)
        os.close(write_answers)
        self.buffer = b""
        self.number = 0
        self.pages = {}
        self.front = None
        self.looker = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        shutil.rmtree(self.profile, ignore_errors=True)

    def message(self, deadline):
        """The next message of the browser."""
        while b"\0" not in self.buffer:
            if not select.select([self.answers], [], [], max(0, deadline - time.monotonic()))[0]:
                raise TimeoutError("the browser does not answer")
            part = os.read(self.answers, 1 << 20)
            if not part:
                raise EOFError("the browser ended")
            self.buffer += part
        line, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(line)

    def call(self, method, session=None, wait_s=60, **parameters):
        self.number += 1
        number = self.number
        command = {"id": number, "method": method, "params": parameters}
        if session:
            command["sessionId"] = session
        os.write(self.commands, json.dumps(command).encode() + b"\0")
        deadline = time.monotonic() + wait_s
        while True:
            message = self.message(deadline)
            if message.get("id") == number:
                if "error" in message:
                    raise RuntimeError(f"{method}: {message['error']['message']}")
                return message["result"]
            page = self.pages.get(message.get("sessionId"))
            if page:
                page.note(message)

    def open_blank(self, background=False):
        target = self.call("Target.createTarget", url="about:blank", background=background)["targetId"]
        session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        page = self.pages[session] = Page(self, session, target)
        return page

    def open(self, path, width=1280, height=900, dark=False, mobile=False):
        page = self.open_blank()
        for domain in ("Page", "Runtime", "Log", "Network"):
            page.call(domain + ".enable")
        page.size(width, height, mobile)
        page.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"},
                                                          {"name": "prefers-reduced-motion", "value": "reduce"}])
        page.call("Page.navigate", url=pathlib.Path(path).resolve().as_uri())
        page.wait_for("document.readyState === 'complete'")
        return page


    def look_at(self, png):
        """The browser reads its own picture, in a page of its own."""
        if not self.looker:
            self.looker = self.open_blank(background=True)
        return self.looker.evaluate(LOOK % json.dumps(base64.b64encode(png).decode()))


LOOK = """(async (text) => {
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const picture = await createImageBitmap(new Blob([bytes], {type: "image/png"}));
  const canvas = new OffscreenCanvas(picture.width, picture.height);
  const context = canvas.getContext("2d");
  context.drawImage(picture, 0, 0);
  const pixels = new Uint32Array(context.getImageData(0, 0, picture.width, picture.height).data.buffer);
  const parts = (pixel) => [pixel & 255, pixel >> 8 & 255, pixel >> 16 & 255];
  const first = parts(pixels[0]);
  const counts = new Map();
  for (const pixel of pixels) counts.set(pixel, (counts.get(pixel) || 0) + 1);
  let differing = 0;
  for (const [pixel, count] of counts) {
    if (parts(pixel).reduce((sum, part, i) => sum + Math.abs(part - first[i]), 0) > 40) differing += count;
  }
  return {colour: parts(pixels[pixels.length - picture.width]), differing: differing / pixels.length, colours: counts.size};
})(%s)"""


class Page:
    def __init__(self, browser, session, target):
        self.browser, self.session, self.target = browser, session, target
        self.complaints = []
        self.requests = []

    def note(self, message):
        method, what = message["method"], message["params"]
        if method == "Runtime.consoleAPICalled":
            self.complaints.append("console: " + " ".join(str(one.get("value", one.get("description"))) for one in what["args"]))
        elif method == "Runtime.exceptionThrown":
            detail = what["exceptionDetails"]
            self.complaints.append("exception: " + detail.get("exception", {}).get("description", detail["text"]))
        elif method == "Log.entryAdded":
            self.complaints.append("log: " + what["entry"]["text"])
        elif method == "Page.javascriptDialogOpening":
            self.complaints.append("dialog: " + what["message"])
        elif method == "Network.requestWillBeSent":
            self.requests.append(what["request"]["url"])

    def call(self, method, **parameters):
        # A page that is not in front is neither drawn nor does it get keys.
        if self.browser.front is not self and self is not self.browser.looker:
            self.browser.front = self
            self.browser.call("Page.bringToFront", session=self.session)
        return self.browser.call(method, session=self.session, **parameters)

    def size(self, width, height, mobile=False):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=mobile)

    def evaluate(self, expression):
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(f"{expression}: {answer['exceptionDetails'].get('exception', {}).get('description', answer['exceptionDetails']['text'])}")
        return answer["result"].get("value")

    def wait_for(self, expression, wait_s=30):
        deadline = time.monotonic() + wait_s
        while not self.evaluate(expression):
            if time.monotonic() > deadline:
                raise TimeoutError(f"never became true: {expression}; complaints: {self.complaints}")
            time.sleep(0.02)

    def settle(self):
        """Until what was asked for has been drawn."""
        self.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(1))))")

    def press(self, key, text=None):
        codes = {"Enter": 13, "Tab": 9, "Escape": 27, "ArrowDown": 40, "ArrowUp": 38, "Home": 36, "End": 35, " ": 32}
        names = {"key": key, "windowsVirtualKeyCode": codes.get(key, ord(key.upper()) if len(key) == 1 else 0)}
        text = text or ("\r" if key == "Enter" else key if len(key) == 1 else None)
        self.call("Input.dispatchKeyEvent", type="keyDown", **names, **({"text": text} if text else {}))
        self.call("Input.dispatchKeyEvent", type="keyUp", **names)

    def type(self, words):
        for letter in words:
            self.press(letter)

    def click(self, selector):
        box = self.evaluate(f"(() => {{ const node = document.querySelector({json.dumps(selector)}); node.scrollIntoView({{block: 'center'}}); "
                            "const box = node.getBoundingClientRect(); return [box.left + box.width / 2, box.top + box.height / 2]; })()")
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=box[0], y=box[1], button="left", clickCount=1)

    def png(self, selector=None, whole=False):
        """A picture of what is seen, of one element, or of the whole page."""
        parameters = {"format": "png"}
        if selector or whole:
            node = f"document.querySelector({json.dumps(selector)})" if selector else "document.documentElement"
            left, top, width, height = self.evaluate(f"(() => {{ const box = {node}.getBoundingClientRect(); "
                                                     "return [box.left + scrollX, box.top + scrollY, box.width, box.height]; })()")
            parameters["clip"] = {"x": left, "y": top, "width": max(1, width), "height": max(1, height), "scale": 1}
            parameters["captureBeyondViewport"] = True
        return base64.b64decode(self.call("Page.captureScreenshot", **parameters)["data"])

    def look(self, selector=None):
        """What is seen of an element, or of the window: the colour of its last row's first pixel, the share of pixels that
        differ from the first one, and the number of colours."""
        return self.browser.look_at(self.png(selector))

    def close(self):
        self.browser.front = None
        self.browser.call("Target.closeTarget", targetId=self.target)
