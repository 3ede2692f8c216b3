"""live - what a person sees while a run goes, on a real pseudo-terminal and in a pipe.

A small emulator interprets what the program writes, so that cases look at a screen as a person does. It knows the few
sequences that are in use and counts any other as a mistake."""
import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time
import unicodedata

from maestro_test import MAESTRO, ROOT, SANITIZED, case, main

SLOW = 4 if SANITIZED else 1
SEQUENCE = re.compile(r"\x1b\[(\??)([0-9;]*)([A-Za-z])")


class Emulator:
    """A terminal's screen: rows of cells, a cursor, what has scrolled away."""

    def __init__(self, columns, rows):
        self.columns, self.rows = columns, rows
        self.screen = [[" "] * columns for _ in range(rows)]
        self.x = self.y = 0
        self.pending = False                    # the last column was written: the next character wraps
        self.history, self.strangers, self.wrapped, self.cut, self.clears = [], [], 0, 0, 0
        self.cursor_shown, self.in_sync, self.torn = True, False, 0
        self.wraps, self.narrowed = True, False
        self.rest = ""

    def resize(self, columns, rows):
        """As a terminal does that breaks no lines: rows leave at the top, columns at the right."""
        while len(self.screen) > rows:
            if self.y == len(self.screen) - 1 or any(c != " " for c in self.screen[-1]):
                self.history.append("".join(self.screen.pop(0)).rstrip())
                self.y -= 1
            else:
                self.screen.pop()
        while len(self.screen) < rows:
            self.screen.append([" "] * self.columns)
        self.screen = [(row + [" "] * columns)[:columns] for row in self.screen]
        self.narrowed |= columns < self.columns
        self.columns, self.rows = columns, rows
        self.x, self.y = min(self.x, columns - 1), max(0, min(self.y, rows - 1))
        self.pending = False

    def feed(self, text):
        text = self.rest + text
        self.rest = ""
        at = 0
        while at < len(text):
            c = text[at]
            if c == "\x1b":
                match = SEQUENCE.match(text, at)
                if not match:
                    if len(text) - at < 12:
                        self.rest = text[at:]
                        return
                    self.strangers.append(repr(text[at:at + 12]))
                    at += 1
                    continue
                self.sequence(*match.groups())
                at = match.end()
                continue
            self.character(c)
            at += 1

    def sequence(self, private, numbers, final):
        number = int(numbers) if numbers.isdigit() else 0
        if private:
            if number == 25:
                self.cursor_shown = final == "h"
            elif number == 2026:
                self.in_sync = final == "h"
            elif number == 7:
                self.wraps = final == "h"
            else:
                self.strangers.append(f"?{numbers}{final}")
        elif final == "A":
            self.y, self.pending = max(0, self.y - max(1, number)), False
        elif final == "H":
            self.x = self.y = 0
        elif final == "K" and number == 0:
            self.screen[self.y][self.x:] = [" "] * (self.columns - self.x)
        elif final == "J" and number == 0:
            self.screen[self.y][self.x:] = [" "] * (self.columns - self.x)
            for row in range(self.y + 1, self.rows):
                self.screen[row] = [" "] * self.columns
        elif final == "J" and number == 2:
            self.clears += 1
            self.screen = [[" "] * self.columns for _ in range(self.rows)]
        elif final != "m":
            self.strangers.append(f"{numbers}{final}")

    def line_feed(self):
        if self.y == self.rows - 1:
            self.history.append("".join(self.screen.pop(0)).rstrip())
            self.screen.append([" "] * self.columns)
        else:
            self.y += 1

    def character(self, c):
        if c == "\r":
            self.x, self.pending = 0, False
        elif c == "\n":
            self.line_feed()
            self.pending = False
        elif ord(c) < 32 or ord(c) == 127:
            self.strangers.append(repr(c))
        else:
            width = 0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1
            if width == 0:
                return
            if self.wraps and (self.pending or self.x + width > self.columns):
                self.wrapped += not self.cursor_shown           # behind the tree long commands may wrap
                self.x, self.pending = 0, False
                self.line_feed()
            if self.pending or self.x + width > self.columns:
                self.cut += 1
                return
            self.screen[self.y][self.x] = c
            if width == 2:
                self.screen[self.y][self.x + 1] = ""
            self.x += width
            if self.x >= self.columns:
                self.x, self.pending = self.columns - 1, True

    def lines(self):
        return ["".join(row).rstrip() for row in self.screen]

    def text(self):
        return "\n".join(self.lines()).rstrip()

    def everything(self):
        return "\n".join(self.history + self.lines()).rstrip()


class Terminal:
    """The program on a pseudo-terminal."""

    def __init__(self, args, columns=80, rows=24, env=None, cwd=ROOT):
        self.emulator = Emulator(columns, rows)
        self.master, slave = pty.openpty()
        self.size(columns, rows)
        self.modes_before = termios.tcgetattr(slave)
        environment = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "LC_ALL", "LC_CTYPE", "COLUMNS")}
        environment.update({"TERM": "xterm-256color", "LANG": "C.UTF-8", **(env or {})})
        self.slave = slave
        self.process = subprocess.Popen([str(MAESTRO), *map(str, args)], stdin=slave, stdout=slave, stderr=slave, cwd=cwd,
                                        env=environment, preexec_fn=self._child)
        self.raw, self.writes, self.frames = b"", [], []
        self.undecoded = b""

    @staticmethod
    def _child():
        os.setsid()
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)

    def size(self, columns, rows):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def resize(self, columns, rows):
        self.emulator.resize(columns, rows)
        self.size(columns, rows)

    def read(self, seconds):
        """Takes what is written within that time; false where the program has gone."""
        ready, _, _ = select.select([self.master], [], [], seconds)
        if not ready:
            return self.process.poll() is None
        try:
            data = os.read(self.master, 65536)
        except OSError:
            return False
        if not data:
            return False
        self.raw += data
        self.writes.append((time.monotonic(), len(data)))
        data = self.undecoded + data
        end = len(data)
        while end > 0 and end > len(data) - 4 and data[end - 1] & 0xC0 == 0x80:
            end -= 1
        if end > 0 and data[end - 1] >= 0xC0:
            end -= 1
        else:
            end = len(data)
        text, self.undecoded = data[:end].decode("utf-8", "replace"), data[end:]
        self.emulator.feed(text)
        if not self.emulator.in_sync:
            self.frames.append(self.emulator.text())
        return True

    def until(self, pattern, seconds=20):
        """Reads until the screen matches."""
        end = time.monotonic() + seconds * SLOW
        while time.monotonic() < end:
            if re.search(pattern, self.emulator.text(), re.M):
                return True
            if not self.read(0.05):
                return bool(re.search(pattern, self.emulator.text(), re.M))
        return False

    def settle(self, seconds):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if not self.read(0.05):
                return

    def key(self, text):
        os.write(self.master, text.encode())

    def wait(self, seconds=60):
        """Until the program has ended; its exit status."""
        end = time.monotonic() + seconds * SLOW
        while self.process.poll() is None and time.monotonic() < end:
            self.read(0.1)
        if self.process.poll() is None:
            self.process.kill()
        for _ in range(100):
            if not select.select([self.master], [], [], 0.02)[0] or not self.read(0.02):
                break
        return self.process.wait()

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        os.close(self.slave)
        os.close(self.master)


# --- definitions ---

MIXED = r"""
workflow: nightly
jobs:
  fetch:
    tasks:
      - { name: source, run: shell, input: { command: "for i in 1 2 3 4 5 6; do echo source line $i; sleep 0.25; done" } }
      - { name: tools, run: shell, input: { command: "echo tools are here" } }
  build:
    tasks:
      - name: flaky
        run: shell
        retries: { attempts: 3, strategy: fixed, delay: 300ms }
        input: { command: "printf '\\033[31mred\\033[0m \\033]0;owned\\007日本語 %s\\n' try; sleep 0.7; exit 75" }
  check:
    tasks: [{ name: check, run: shell, input: { command: "sleep 1; echo checked" } }]
  publish:
    needs: [fetch, build]
    tasks: [{ name: publish, log: never }]
"""


def tall(count):
    """So many jobs of two steps, four at a time."""
    jobs = "".join(f"  job-{i:02}:\n    tasks:\n"
                   f"      - {{ name: first, run: shell, input: {{ command: 'echo first {i}; sleep 0.1' }} }}\n"
                   f"      - {{ name: second, run: shell, input: {{ command: 'sleep 0.1' }} }}\n" for i in range(count))
    return f"workflow: tall\nconfig: {{ max_concurrency: 4 }}\njobs:\n{jobs}"


def start(t, text, *options, **terminal):
    path = t.write("flow.yaml", text)
    return Terminal(["run", path, "--store", f"sqlite:{t.folder}/store.db", *options], **terminal)


def sound(t, terminal):
    """What holds of every screen that was left."""
    t.equal(terminal.emulator.strangers, [], "sequences and controls that nobody meant")
    t.equal(terminal.emulator.wrapped, 0, "lines that went on below")
    t.true(terminal.emulator.wraps, "long lines wrap again")
    if not terminal.emulator.narrowed:          # what was on its way when it got narrower is cut
        t.equal(terminal.emulator.cut, 0, "characters beyond the edge of the terminal")
    t.true(terminal.emulator.cursor_shown, "the cursor is shown again")
    t.equal(termios.tcgetattr(terminal.slave)[3], terminal.modes_before[3], "the modes of the terminal")


def one_tree(t, terminal, head="nightly  run"):
    """Exactly one tree is on the screen."""
    text = terminal.emulator.text()
    t.equal(text.count(head), 1, f"heads on the screen\n{text}\n")
    t.equal(len(re.findall(r"^\[[█▓▒░#.x-]+\]", text, re.M)), 1, f"bars on the screen\n{text}\n")


# --- on a terminal ---

@case("proves: R-004")
def a_tree_shows_steps_retries_logs_and_a_summary(t):
    terminal = start(t, MIXED, columns=160, rows=40)
    # A frame is read to its last line, the bar: what was read before may be half of one.
    t.true(terminal.until(r"(?s)● source [^\n]*\n    │ source line \d.*\n\[[█▓▒░#.x-]+\]"), "a running step has its log below it")
    one_tree(t, terminal)
    t.matches(terminal.emulator.text(), r"^● fetch +\d+s  0/2$")
    t.matches(terminal.emulator.text(), r"^○ publish.publish$")
    t.true(terminal.until(r"build.flaky +\d+s  attempt 2"), "the second attempt is seen")
    one_tree(t, terminal)
    t.equal(terminal.wait(), 1)
    text = terminal.emulator.everything()
    t.matches(text, r"^↻ build.flaky  attempt 1 failed: exit code 75")
    t.matches(text, r"^✓ fetch.source  1.\ds\n  │ source line 1\n(.*\n)*  │ source line 6$", "lines stay when the step has ended")
    t.contains(text, "│ red 日本語 try")
    t.lacks(text, "owned")
    t.matches(text, r"^✗ build.flaky +\S+  failed after 3 attempts: dropped by retry-depth: exit code 75")
    t.matches(text, r"^- publish.publish +skipped: dependency failed$")
    t.matches(text, r"^failed in .*: 3 succeeded, 1 failed, 1 skipped$")
    t.matches(text, r"^    permanent, dropped; 3 attempts, ")
    t.matches(text, r"^  maestro logs \S{21} build.flaky --store ")
    t.matches(text, r"^  maestro run \S+flow.yaml --store \S+ --again")
    one_tree(t, terminal)
    sound(t, terminal)
    terminal.close()


WAITING = """workflow: waiting
jobs:
  ask:
    tasks:
      - { name: request, run: shell, input: { command: "true" },
          pause_after: { trigger: manager-approval, timeout: 7d, payload_schema: { type: object, required: [approved] } } }
      - { name: then, run: shell, input: { command: "true" } }
  poll:
    tasks:
      - { name: check, run: shell, poll: { interval: 5m, max_duration: 48h },
          input: { command: "echo '{\\"continue\\": true}' > $MAESTRO_OUTPUT" } }
"""


@case("proves: A-158 A-187")
def a_run_that_waits_says_for_what_and_what_to_type(t):
    store = ("--store", f"sqlite:{t.folder}/store.db")
    terminal = start(t, WAITING)
    t.true(terminal.until(r"^waiting  run \S{21}  paused: manager-approval$"), "the head names the trigger")
    t.true(terminal.until(r"^◍ poll\.check +\S+  poll 1 of 576, held by the pause$"), "the polling step is told")
    t.true(terminal.until(r"^paused, \S+ left; goes on with: maestro approve \S{21}$"), "what to type")
    one_tree(t, terminal, "waiting  run")
    run_id = re.search(r"run (\S{21})  paused", terminal.emulator.text()).group(1)
    asking = Terminal(["approve", run_id, *store])
    t.true(asking.until(r"^awaits +manager-approval$"), "what is awaited")
    t.true(asking.until(r"^answer "), "what would be answered")
    t.matches(asking.emulator.text(), r'^schema +\{"required":\["approved"\],"type":"object"\}$')
    t.matches(asking.emulator.text(), r'^answer +\{"approved":true\}$')
    asking.key("fine\n")
    t.true(asking.until(r"Approve it\? \[y/N\]"), "it asks")
    asking.key("n\n")
    t.equal(asking.wait(), 1, "no is no")
    t.contains(asking.emulator.text(), "nothing was changed")
    asking.close()
    t.contains(terminal.emulator.text(), "paused: manager-approval")
    refused = t.maestro("trigger", run_id, "manager-approval", "--payload", "{}", *store)
    t.equal(refused.code, 65)
    t.true(terminal.until(r"^Trigger refused: manager-approval from user:"), "a refusal is told above the tree")
    t.equal(t.maestro("approve", run_id, "--yes", "--reason", "fine", *store).code, 0)
    t.true(terminal.until(r"^◍ poll\.check +\S+  poll 1 of 576, next in \S+$"), "the poll is awaited again")
    terminal.key("\x03")
    t.equal(terminal.wait(), 75)
    sound(t, terminal)
    terminal.close()


@case("proves: A-187")
def who_leaves_a_run_that_awaits_a_trigger_is_told_how_it_goes_on(t):
    terminal = start(t, WAITING, columns=200)
    t.true(terminal.until(r"goes on with: maestro approve"), "it waits")
    terminal.key("\x03")
    t.equal(terminal.wait(), 75)
    text = terminal.emulator.everything()
    t.matches(text, r"^awaits manager-approval since .* UTC$")
    t.matches(text, r"^  maestro approve \S{21} --store ")
    t.matches(text, r"^  maestro trigger \S{21} manager-approval --payload JSON --store ")
    sound(t, terminal)
    terminal.close()


@case()
def frames_are_whole_and_few(t):
    terminal = start(t, MIXED)
    begin = time.monotonic()
    t.equal(terminal.wait(), 1)
    seconds = time.monotonic() - begin
    frames = terminal.raw.count(b"\x1b[?2026h")
    t.true(frames >= 5, f"only {frames} frames")
    t.true(frames <= 10 * seconds + 5, f"{frames} frames in {seconds:.1f} s")
    t.equal(frames, terminal.raw.count(b"\x1b[?2026l"))
    t.equal(terminal.raw.count(b"\x1b[2J"), 0, "screens that were cleared")
    sound(t, terminal)
    terminal.close()


@case()
def a_terminal_may_change_its_size(t):
    terminal = start(t, MIXED.replace("sleep 1;", "sleep 4;"), columns=100, rows=30)
    t.true(terminal.until(r"source line 2"), "it began")
    for columns, rows in ((60, 30), (40, 14), (40, 9), (120, 40)):
        with t.row(f"{columns}x{rows}"):
            terminal.resize(columns, rows)
            terminal.settle(0.5)
            one_tree(t, terminal, "nightly  ")
            t.true(all(len(line) <= columns for line in terminal.emulator.lines()), "a line is too wide")
    t.equal(terminal.wait(), 1)
    one_tree(t, terminal, "nightly  ")
    sound(t, terminal)
    terminal.close()


@case()
def a_tall_run_fits_twenty_rows(t):
    terminal = start(t, tall(40), columns=80, rows=20)
    t.true(terminal.until(r"^✓ \d+ ended"), "what has ended is counted")
    bars = 0
    while terminal.read(0.1):
        text = terminal.emulator.text()
        if terminal.emulator.in_sync or " to come" not in text:
            continue
        bars += 1
        t.true("tall  run" in text and "/80" in text and "●" in text, f"head, bar and what is active are seen:\n{text}")
    t.true(bars > 3, "it was looked at")
    t.equal(terminal.wait(), 0)
    t.matches(terminal.emulator.everything(), r"^succeeded in .*: 80 succeeded, 0 failed, 0 skipped$")
    for i in range(40):
        t.contains(terminal.emulator.everything(), f"│ first {i}\n", "what scrolled away")
    sound(t, terminal)
    terminal.close()


@case()
def nothing_is_coloured_where_it_is_not_wanted(t):
    for name, options, env, colored in (("by default", [], {}, True), ("NO_COLOR", [], {"NO_COLOR": "1"}, False),
                                        ("--color never", ["--color", "never"], {}, False)):
        with t.row(name):
            terminal = start(t, "workflow: w\njobs: { a: { tasks: [{ name: a, log: hello }] } }", *options, "--again", env=env)
            t.equal(terminal.wait(), 0)
            t.equal(bool(re.search(rb"\x1b\[[0-9;]*m", terminal.raw)), colored)
            t.contains(terminal.emulator.everything(), "│ hello")
            sound(t, terminal)
            terminal.close()


@case()
def a_terminal_without_utf_8_gets_ascii(t):
    terminal = start(t, MIXED, env={"LANG": "C", "NO_COLOR": "1"})
    t.equal(terminal.wait(), 1)
    t.true(all(byte < 128 for byte in terminal.raw), "other characters were written")
    t.matches(terminal.emulator.everything(), r"^x build.flaky")
    sound(t, terminal)
    terminal.close()


@case()
def a_terminal_that_cannot_move_its_cursor_gets_lines(t):
    terminal = start(t, MIXED, env={"TERM": "dumb"})
    t.equal(terminal.wait(), 1)
    t.lacks(terminal.raw.decode("utf-8", "replace"), "\x1b")
    t.contains(terminal.raw.decode("utf-8", "replace"), "[INFO] Execution complete: 3 succeeded, 1 failed, 1 skipped")
    terminal.close()


@case()
def keys_do_not_disturb_the_tree(t):
    terminal = start(t, MIXED, columns=100, rows=40)
    t.true(terminal.until(r"source line 2"), "it began")
    terminal.key("abc\r\r\n")
    terminal.settle(0.5)
    one_tree(t, terminal)
    t.lacks(terminal.emulator.text(), "abc")
    terminal.wait()
    one_tree(t, terminal)
    sound(t, terminal)
    terminal.close()


# --- interrupting ---

@case()
def ctrl_c_pauses_and_says_how_to_go_on(t):
    terminal = start(t, MIXED, columns=100, rows=40)
    t.true(terminal.until(r"source line 2"), "it began")
    terminal.key("\x03")
    t.true(terminal.until(r"^\d+ steps? under way may end; Ctrl-C again"), "it says what it waits for")
    t.equal(terminal.wait(), 75)
    text = terminal.emulator.everything()
    t.matches(text, r"^paused after .* to come$")
    t.matches(text, r"^✓ fetch.source ", "the step that ran has ended")
    run = re.search(r"^  maestro resume (\S{21})", text, re.M)
    t.require(run, "it says how to resume")
    sound(t, terminal)
    terminal.close()
    done = t.maestro("resume", run.group(1), "--store", f"sqlite:{t.folder}/store.db")
    t.equal(done.code, 1)
    t.lacks(done.out, "source line 1", "what was done is not done again")
    t.contains(done.out, "[INFO] Execution complete: 3 succeeded, 1 failed, 1 skipped")


@case()
def the_same_command_goes_on_with_a_run_that_was_interrupted(t):
    text = MIXED.replace("workflow: nightly", "workflow: nightly\nidempotency_key: one")
    terminal = start(t, text, columns=100, rows=40)
    t.true(terminal.until(r"source line 2"), "it began")
    terminal.key("\x03")
    t.equal(terminal.wait(), 75)
    terminal.close()
    again = t.maestro("run", t.folder / "flow.yaml", "--store", f"sqlite:{t.folder}/store.db")
    t.equal(again.code, 1)
    t.lacks(again.out, "source line 1", "what was done is not done again")
    t.contains(again.out, "[INFO] Execution complete: 3 succeeded, 1 failed, 1 skipped")


@case()
def a_second_ctrl_c_leaves_at_once(t):
    terminal = start(t, "workflow: w\njobs: { a: { tasks: [{ name: a, run: shell, input: { command: sleep 30 } }] } }")
    t.true(terminal.until(r"● a.a"), "it began")
    terminal.key("\x03")
    t.true(terminal.until(r"Ctrl-C again"), "it waits")
    begin = time.monotonic()
    terminal.key("\x03")
    t.equal(terminal.wait(), 75)
    t.true(time.monotonic() - begin < 8 * SLOW, "it took too long")
    t.contains(terminal.emulator.everything(), "maestro resume ")
    sound(t, terminal)
    terminal.close()


@case()
def the_cursor_comes_back_however_it_ends(t):
    for number in (signal.SIGHUP, signal.SIGQUIT, signal.SIGABRT, signal.SIGTERM):
        with t.row(number.name):
            terminal = start(t, "workflow: w\njobs: { a: { tasks: [{ name: a, run: shell, input: { command: sleep 0.8 } }] } }",
                             "--again")
            t.true(terminal.until(r"● a.a"), "it began")
            t.true(not terminal.emulator.cursor_shown, "the cursor is hidden while it runs")
            terminal.process.send_signal(number)
            terminal.wait()
            sound(t, terminal)
            terminal.close()


# --- in a pipe ---

@case("proves: C-42")
def a_pipe_gets_the_lines_of_runbook_logs(t):
    path = t.write("flow.yaml", MIXED)
    result = t.maestro("run", path, "--store", f"sqlite:{t.folder}/store.db")
    t.equal(result.code, 1)
    t.matches(result.out, r"^\[INFO\] Starting steps: fetch.source, build.flaky, check.check \(parallel\)$")
    t.matches(result.out, r"^\[INFO\] Completed step: check.check \(1\.\ds\)$")
    t.matches(result.out, r"^\[ERROR\] Failed step: build.flaky - dropped by retry-depth: exit code 75")
    t.matches(result.out, r"^\[WARN\] Skipping step: publish.publish \(dependency failed\)$")
    t.matches(result.out, r"^\[INFO\] Execution complete: 3 succeeded, 1 failed, 1 skipped$")
    t.matches(result.out, r"^\[INFO\] build.flaky: red 日本語 try$")
    t.lacks(result.out, "\x1b")
    for i in range(1, 7):
        t.contains(result.out, f"[INFO] fetch.source: source line {i}\n")


@case()
def json_is_an_object_a_line_and_a_result(t):
    path = t.write("flow.yaml", MIXED)
    result = t.maestro("run", path, "--json", "--store", f"sqlite:{t.folder}/store.db")
    t.equal(result.code, 1)
    objects = [json.loads(line) for line in result.out.splitlines()]
    events = [o for o in objects if "number" in o]
    t.equal([e["number"] for e in events], list(range(1, len(events) + 1)), "numbers of events")
    t.true(any(o.get("event") == "log" and o["stepId"] == "fetch.source" and o["message"] == "source line 3" for o in objects),
           "lines of logs")
    last = objects[-1]["result"]
    t.equal([last[k] for k in ("state", "succeeded", "failed", "skipped", "steps", "repeat")], ["failed", 3, 1, 1, 5, False])
    t.equal([last["failures"][0][k] for k in ("step", "attempts", "class")], ["build.flaky", 3, "permanent"])
    t.equal(last["failures"][0]["log"], ["red 日本語 try"])


@case()
def a_failure_is_told_whole_where_its_name_fills_the_line(t):
    for size in range(70, 84):                  # the line ends within the name, between it and the reason, within the reason
        with t.row(f"{size} columns of name"):
            name = "s" * (size - len("a."))
            terminal = start(t, f"workflow: w\njobs: {{ a: {{ tasks: [{{ name: {name}, run: shell, input: {{ command: exit 3 }} }}] }} }}\n")
            t.equal(terminal.wait(), 1)
            seen = re.sub(r"\s", "", terminal.emulator.everything())      # a blank at the end of a row is not seen
            t.contains(seen, f"✗a.{name}:exitcode3")
            terminal.close()


@case()
def quiet_says_the_id_and_what_went_wrong(t):
    path = t.write("flow.yaml", MIXED)
    result = t.maestro("run", path, "-q", "--store", f"sqlite:{t.folder}/store.db")
    t.equal(result.code, 1)
    t.matches(result.out, r"\A\S{21}\n\Z")
    t.contains(result.err, "build.flaky: dropped by retry-depth: exit code 75")
    path = t.write("good.yaml", "workflow: w\njobs: { a: { tasks: [{ name: a, log: hello }] } }")
    result = t.maestro("run", path, "-q", "--store", f"sqlite:{t.folder}/store.db")
    t.equal((result.code, result.err), (0, ""))


@case()
def a_repeated_start_shows_the_result_and_the_way_on(t):
    text = 'workflow: w\nidempotency_key: one\njobs: { a: { tasks: [{ name: a, run: shell, input: { command: "echo no; exit 3" } }] } }'
    path, store = t.write("flow.yaml", text), f"sqlite:{t.folder}/store.db"
    first = t.maestro("run", path, "--store", store)
    again = t.maestro("run", path, "--store", store)
    t.equal((first.code, again.code), (1, 1))
    t.equal(again.out.splitlines()[0], first.out.splitlines()[0], "the run")
    t.contains(again.out, "an earlier run with the same key; nothing was run again")
    t.contains(again.out, "--again")
    t.contains(again.out, "│ no", "the last lines, out of the store")
    t.lacks(again.out, "Starting step")
    t.lacks(again.out, "has changed")
    t.write("flow.yaml", text.replace("echo no", "echo other"))
    changed = t.maestro("run", path, "--store", store)
    t.equal(changed.out.splitlines()[0], first.out.splitlines()[0], "the run")
    t.contains(changed.out, "The file has changed since that run began")
    new = t.maestro("run", path, "--store", store, "--again")
    t.lacks(new.out, first.out.splitlines()[0])
    t.contains(new.out, "a.a: other")


if __name__ == "__main__":
    main()
