"""maestro_test - cases that run real programs and look at what a person would see.

    from maestro_test import case, main

    @case("proves: F-092")
    def a_missing_file_is_refused_by_name(t):
        result = t.maestro("validate", "nowhere.yaml")
        t.equal(result.code, 69)
        t.contains(result.err, "nowhere.yaml")

    main()

A case is a function whose name is a sentence; the argument of @case declares the requirements it proves. A failed
expectation is reported with its place and the case goes on; require() ends the case where going on makes no sense;
not_run(why) says that something outside is missing, which counts as failed. The command line and the report are those
of the C programs (test/harness): `x.py [--report FILE] [NAME-PART]...`.

Environment: MAESTRO_BIN names the program under test (build/maestro of this repository by default); MAESTRO_SANITIZED is
set when it was built with sanitizers, for the few cases that measure time or memory.
"""
import contextlib
import inspect
import json
import os
import pwd
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
MAESTRO = Path(os.environ.get("MAESTRO_BIN", ROOT / "build" / "maestro"))
SANITIZED = bool(os.environ.get("MAESTRO_SANITIZED"))
RUN_SECONDS_MAX = 120
signal.signal(signal.SIGINT, signal.default_int_handler)     # where it is ignored, as in the background, programs under test would ignore it, too
try:
    USER = pwd.getpwuid(os.geteuid()).pw_name       # whom the ledger names
except KeyError:
    USER = str(os.geteuid())

_cases = []


def case(proves=""):
    def register(function):
        if function.__module__ == "__main__":       # what a suite borrows from another one brings no cases with it
            _cases.append((function, proves))
        return function
    return register


class Result:
    """What a program left behind: exit status (negative for a signal, None when it ran out of time), out, err."""

    def __init__(self, code, out, err, seconds):
        self.code, self.out, self.err, self.seconds = code, out, err, seconds

    def json(self):
        return json.loads(self.out)


class Stop(Exception):
    """Ends a case early; its argument is why it was not run, or None after a failed requirement."""


class Test:
    """What a case is given: a folder of its own, ways to run programs, and expectations."""

    def __init__(self, name):
        self.name, self.failures, self._row, self._folder = name, [], None, None
        self._processes = []

    # --- things to work with ---

    @property
    def folder(self):
        """A fresh folder, gone after the case."""
        if not self._folder:
            self._folder = Path(tempfile.mkdtemp(prefix="maestro-test-"))
        return self._folder

    def write(self, name, text):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    def run(self, *command, stdin="", env=None, cwd=None, seconds_max=RUN_SECONDS_MAX):
        """Runs a program to its end. Only bytes that are no UTF-8 are replaced in what it printed."""
        begin = time.monotonic()
        try:
            done = subprocess.run([str(c) for c in command], input=stdin if isinstance(stdin, bytes) else stdin.encode(),
                                  capture_output=True, timeout=seconds_max, cwd=cwd or ROOT, check=False,
                                  env={**os.environ, **(env or {})})
            code, out, err = done.returncode, done.stdout, done.stderr
        except subprocess.TimeoutExpired as late:
            code, out, err = None, late.stdout or b"", late.stderr or b""
            self._fail(f"{command[0]} ran longer than {seconds_max} s")
        return Result(code, out.decode("utf-8", "replace"), err.decode("utf-8", "replace"), time.monotonic() - begin)

    def maestro(self, *args, **options):
        if not MAESTRO.exists():
            raise Stop(f"{MAESTRO} is not built")
        return self.run(MAESTRO, *args, **options)

    def start(self, *args, env=None, cwd=None, err_fd=None, before=None):
        """Starts the program and goes on; it is killed with the case at the latest. `end(process)` waits for it. `err_fd`: where its
        standard error goes in place of a file; `before`: what the new process does before it is the program."""
        if not MAESTRO.exists():
            raise Stop(f"{MAESTRO} is not built")
        out, err = (open(self.folder / f"process-{len(self._processes)}.{name}", "w+b") for name in ("out", "err"))
        process = subprocess.Popen([str(a) for a in (MAESTRO, *args)], stdin=subprocess.DEVNULL, stdout=out,
                                   stderr=err if err_fd is None else err_fd, cwd=cwd or ROOT, env={**os.environ, **(env or {})},
                                   preexec_fn=before)
        process.files = (out, err)
        self._processes.append(process)
        return process

    def said(self, process):
        """What a process of start() has written so far, to either stream."""
        return "".join(Path(file.name).read_text(errors="replace") for file in process.files)

    def end(self, process, seconds_max=RUN_SECONDS_MAX):
        """Waits for a process of start() and gives what it left behind."""
        begin = time.monotonic()
        try:
            code = process.wait(seconds_max)
        except subprocess.TimeoutExpired:
            code = None
            self._fail(f"{process.args[1:]} ran longer than {seconds_max} s")
        texts = []
        for file in process.files:
            file.seek(0)
            texts.append(file.read().decode("utf-8", "replace"))
        return Result(code, *texts, time.monotonic() - begin)

    def until(self, holds, what, seconds_max=120):
        """Waits until something holds, and ends the case where it does not come to that."""
        end = time.monotonic() + seconds_max
        while not holds():
            if time.monotonic() > end:
                self._fail(f"it did not come to this: {what}")
                raise Stop(None)
            time.sleep(0.02)

    # --- expectations: each returns whether it held ---

    @contextlib.contextmanager
    def row(self, name):
        """Labels what is expected inside, for cases that walk a table."""
        self._row = name
        yield
        self._row = None

    def true(self, holds, what):
        return bool(holds) or self._fail(what)

    def equal(self, got, want, what="the result"):
        return got == want or self._fail(f"{what}:\n    got  {got!r}\n    want {want!r}")

    def contains(self, text, part, what="the text"):
        return part in text or self._fail(f"{what} lacks {part!r}:\n{indent(text)}")

    def lacks(self, text, part, what="the text"):
        return part not in text or self._fail(f"{what} has {part!r}:\n{indent(text)}")

    def matches(self, text, pattern, what="the text"):
        return (re.search(pattern, text, re.M) is not None
                or self._fail(f"{what} does not match {pattern!r}:\n{indent(text)}"))

    def require(self, holds, what="a requirement of the case"):
        if not holds:
            if not self.failures:
                self._fail(what)
            raise Stop(None)

    def not_run(self, why):
        raise Stop(why)

    def _fail(self, text):
        place = next(f for f in inspect.stack() if f.filename != __file__)
        row = f"[{self._row}] " if self._row else ""
        self.failures.append(f"  {os.path.relpath(place.filename, ROOT)}:{place.lineno}: {row}{text}")
        return False


def indent(text, lines_max=40):
    lines = text.split("\n")
    if len(lines) > lines_max:
        lines = lines[:lines_max] + [f"... {len(lines) - lines_max} more lines"]
    return "\n".join("    | " + line for line in lines)


def run_case(function):
    """Runs one case and gives its result, why it was not run, and its failures."""
    test, why = Test(function.__name__), None
    try:
        function(test)
    except Stop as stop:
        why = stop.args[0]
    except Exception:                   # a case that breaks is a case that fails, and the others go on
        test.failures.append(indent(traceback.format_exc()))
    finally:
        for process in test._processes:
            if process.poll() is None:
                process.kill()
                process.wait()
            for file in process.files:
                file.close()
        if test._folder:
            shutil.rmtree(test._folder, ignore_errors=True)
    result = "fail" if test.failures else "not-run" if why else "pass"
    return result, why, test.failures


def main():
    args, report = sys.argv[1:], None
    if args[:1] == ["--report"]:
        report, args = args[1], args[2:]
    suite, passed, failed = Path(sys.argv[0]).stem, 0, 0
    for function, proves in _cases:
        name = function.__name__
        if args and not any(part in name for part in args):
            continue
        begin = time.monotonic()
        result, why, failures = run_case(function)
        for failure in failures:
            print(failure)
        print(f"{result:8} {name}" + (f": {why}" if why else ""), flush=True)
        passed, failed = passed + (result == "pass"), failed + (result != "pass")
        if report:
            line = {"suite": suite, "case": name, "proves": proves, "result": result,
                    "seconds": round(time.monotonic() - begin, 3)}
            with open(report, "a", encoding="utf-8") as file:
                file.write(json.dumps(line) + "\n")
    print(f"{passed} passed, {failed} failed")
    sys.exit(1 if failed else 0)
