"""A real browser for suites: Chromium without a window, driven over the WebDriver protocol with Python's standard library.

    with Browser(t) as page:
        page.open("http://127.0.0.1:8080/")
        page.type("#key", key)
        page.click("button[type=submit]")
        page.until("main h1", "Executions")

Whatever is looked for is waited for; nothing waits for a time to pass.
"""
import http.client
import json
import os
import shutil
import signal
import subprocess

ELEMENT = "element-6066-11e4-a52e-4f735466cecf"


class Late:
    """Text that is made when it is needed: what a page says once something did not come."""

    def __init__(self, make):
        self.make = make

    def __format__(self, _):
        return self.make()


class Browser:
    def __init__(self, t, width=1280, height=900):
        self.t, self.size = t, (width, height)
        self.driver = shutil.which("chromedriver")
        self.chromium = shutil.which("chromium") or shutil.which("chromium-browser")
        if not self.driver or not self.chromium:
            t.not_run("chromium and chromium-driver are not installed: tools/install-deps test")

    def __enter__(self):
        log = open(self.t.folder / "chromedriver.log", "w+b")
        self.process = subprocess.Popen([self.driver, "--port=0"], stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
                                        env={**os.environ, "HOME": str(self.t.folder)})
        self.session = None

        def said():
            return (self.t.folder / "chromedriver.log").read_text(errors="replace")
        self.t.until(lambda: "started successfully on port" in said() or self.process.poll() is not None, "chromedriver listens")
        self.t.require("started successfully on port" in said(), "chromedriver listens: " + said())
        self.port = int(said().split("started successfully on port ")[1].split(".")[0].split()[0])
        args = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--disable-background-networking",
                "--user-data-dir=" + str(self.t.folder / "profile"), "--window-size=%d,%d" % self.size]
        wanted = {"browserName": "chrome", "goog:chromeOptions": {"binary": self.chromium, "args": args},
                  "goog:loggingPrefs": {"browser": "ALL"}}
        made = self._call("POST", "/session", {"capabilities": {"alwaysMatch": wanted}})
        self.session = "/session/" + made["sessionId"]
        return self

    def __exit__(self, *_):
        try:
            if self.session:
                self._call("DELETE", self.session)
        finally:
            try:
                os.killpg(self.process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            self.process.wait()

    def _call(self, method, path, body=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
        connection.request(method, path, json.dumps(body if body is not None else {}) if method == "POST" else None, {"Content-Type": "application/json"})
        answer = json.loads(connection.getresponse().read())["value"]
        connection.close()
        if isinstance(answer, dict) and "error" in answer:
            raise RuntimeError(f"{answer['error']}: {answer['message'].splitlines()[0]}")
        return answer

    # --- where ---

    def open(self, url):
        self._call("POST", self.session + "/url", {"url": url})

    def go(self, place):
        """Another page of the same application."""
        self.js("location.hash = arguments[0]", place)

    # --- what is there ---

    def js(self, script, *args):
        return self._call("POST", self.session + "/execute/sync", {"script": script, "args": list(args)})

    def text(self, css):
        """What a person reads of it; "" where there is none."""
        return self.js("return document.querySelector(arguments[0])?.innerText ?? ''", css)

    def texts(self, css):
        return self.js("return [...document.querySelectorAll(arguments[0])].map((e) => e.innerText)", css)

    def has(self, css):
        return self.js("return document.querySelector(arguments[0]) !== null", css)

    def until(self, css, part=""):
        """Waits until there is such an element, with that text in it."""
        self.t.until(lambda: self.has(css) and part in self.text(css), Late(lambda: f"{css} says {part!r}; it says {self.text(css)!r}; the page: {self.text('body')}"))

    def console(self):
        """What the browser complained about."""
        return [entry["message"] for entry in self._call("POST", self.session + "/se/log", {"type": "browser"}) if entry["level"] == "SEVERE"]

    # --- doing ---

    def _element(self, css):
        self.t.until(lambda: self.has(css), f"there is {css}")
        return self._call("POST", self.session + "/element", {"using": "css selector", "value": css})[ELEMENT]

    def click(self, css):
        """As a person does. What is replaced between looking and clicking is looked for again."""
        def done():
            try:
                self._call("POST", f"{self.session}/element/{self._element(css)}/click")
                return True
            except RuntimeError as error:
                if not any(word in str(error) for word in ("stale element", "intercepted", "no such element", "not interactable")):
                    raise
                return False
        self.t.until(done, f"{css} can be clicked")

    def type(self, css, text):
        """In place of what is there."""
        element = self._element(css)
        self._call("POST", f"{self.session}/element/{element}/clear")
        self._call("POST", f"{self.session}/element/{element}/value", {"text": text})

    def press(self, css, key):
        self._call("POST", f"{self.session}/element/{self._element(css)}/value", {"text": key})

    def choose(self, css, *values):
        """In a list."""
        self._element(css)
        self.js("const e = document.querySelector(arguments[0]); for (const o of e.options) o.selected = arguments[1].includes(o.value);"
                "e.dispatchEvent(new Event('change', { bubbles: true }))", css, list(values))
