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
        self.history, self.strangers, self.wrapped, self.clears = [], [], 0, 0
        self.cursor_shown, self.in_sync, self.torn = True, False, 0
        self.wraps = True
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
                self.wrapped += 1
                self.x, self.pending = 0, False
                self.line_feed()
            if self.x + width > self.columns:
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


if __name__ == "__main__":
    main()
