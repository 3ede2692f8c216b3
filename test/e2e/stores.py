#!/usr/bin/env python3
"""Stores of every format that was ever written: today's maestro verifies and replays them, and ends their open runs."""
import gzip
import json
import os
import shutil
import sqlite3
import subprocess
import threading

from maestro_test import MAESTRO, ROOT, case, main

GOLDEN = ROOT / "test" / "golden" / "store"


@case()
def a_store_of_any_format_is_verified_replayed_and_its_open_runs_end(t):
    formats = sorted(GOLDEN.glob("*.db.gz"))
    t.true(formats, "no store of any format is there")
    for file in formats:
        facts = json.loads((GOLDEN / file.name.replace(".db.gz", ".json")).read_text())
        path = t.folder / file.name.replace(".gz", "")
        path.write_bytes(gzip.decompress(file.read_bytes()))
        store = ("--store", f"sqlite:{path}")

        def ok(*args):
            result = t.maestro(*args, *store)
            t.equal(result.code, 0, f"{file.name}: maestro {' '.join(args)}: {result.err}")
            return result

        ok("ledger", "verify")
        ok("store", "verify")
        for flow, fact in facts.items():
            shown = ok("show", fact["run"], "--json").json()
            t.equal((shown["workflow"], shown["state"], shown["eventCount"]), (flow, fact["state"], fact["events"]))
            ok("replay", fact["run"], "--verify")
        ok("signal", facts["waiting"]["run"], "release")
        for flow in ("waiting", "paused", "killed"):
            t.true(facts[flow]["state"] not in ("succeeded", "failed"), f"{flow} was open")
            if ok("show", facts[flow]["run"], "--json").json()["state"] != "succeeded":
                ok("resume", facts[flow]["run"], "--quiet")
            t.equal(ok("show", facts[flow]["run"], "--json").json()["state"], "succeeded", flow)
            ok("replay", facts[flow]["run"], "--verify")
        ok("ledger", "verify")


# --- tables of before ---

def schema(path):
    """Tables with their columns in order, and everything else by its text."""
    with sqlite3.connect(path) as db:
        names = db.execute("select type, name, sql from sqlite_schema where sql is not null order by type, name").fetchall()
        found = {name: db.execute(f"select name, type, \"notnull\", dflt_value, pk, hidden from pragma_table_xinfo('{name}')").fetchall()
                 if kind == "table" else sql for kind, name, sql in names}
    db.close()
    return found


def revisions(path):
    with sqlite3.connect(path) as db:
        found = db.execute("select rowid, * from maestro_revisions order by rowid").fetchall()
    db.close()
    return found


def back_to_7(path, *more):
    """What version 7 of the tables was: revisions said nothing of their triggers. Its views and triggers were others."""
    db = sqlite3.connect(path, isolation_level=None)
    for kind, name in db.execute("select type, name from sqlite_schema where type in ('trigger', 'view')").fetchall():
        db.execute(f"drop {kind} {name}")
    db.execute("alter table maestro_revisions drop column triggers")
    db.execute("create view workflows as select tenant, steps from maestro_revisions")
    db.execute("create trigger maestro_revisions_keep_content before update of steps on maestro_revisions begin select raise(abort, 'no'); end")
    db.execute("delete from maestro_schema")
    db.execute("insert into maestro_schema values (7, 1)")
    for statement in more:
        db.execute(statement)
    db.close()


@case()
def revisions_of_older_tables_say_by_what_they_are_started(t):
    path = t.folder / "store.db"
    store = ("--store", f"sqlite:{path}")
    flows = {
        "odd": 'workflow: odd\nname: Odd\nversion: "1.0"\ntriggers:\n  - schedule: { cron: "5 4 * * *", payload: { "\u00e9/\\"\\u0001": [1.10, 1e400, null, "\u20ac"] } }\n'
               "  - webhook: { key: order, auth: { bearer: true } }\n  - manual: true\njobs: { a: { tasks: [{ log: x }] } }\n",
        "none": "workflow: none\njobs: { a: { tasks: [{ log: x }] } }\n",
        "other": 'workflow: other\ntriggers: [{ schedule: "0 1 * * *" }]\njobs: { a: { tasks: [{ log: x }] } }\n',
    }
    for name, text in flows.items():
        t.equal(t.maestro("run", t.write(f"{name}.yaml", text), "--quiet", *store).code, 0, name)
    settle(path)
    whole, rows, listed = schema(path), revisions(path), t.maestro("schedule", "list", "--json", *store).json()
    t.equal([(s["workflowId"], s["cron"]) for s in listed], [("odd", "5 4 * * *"), ("other", "0 1 * * *")])
    back_to_7(path)
    t.true(schema(path) != whole, "the tables are others")
    t.equal(t.maestro("store", "verify", *store).code, 0)
    t.equal(schema(path), whole, "tables, indexes, views and triggers are those of a new store")
    t.equal(revisions(path), rows, "every row is what it was, in its order")
    t.equal([s["cron"] for s in t.maestro("schedule", "list", "--json", *store).json()], ["5 4 * * *", "0 1 * * *"])
    # A plan that is damaged or gone keeps nobody from opening the store; that is told by who looks for it.
    lost = "select digest from maestro_revisions where workflow_id = '{}'"
    back_to_7(path, f"update maestro_plans set document = '{{' where digest = ({lost.format('odd')})",
              f"delete from maestro_plans where digest = ({lost.format('other')})")
    t.equal(t.maestro("schedule", "list", "--json", *store).json(), [])
    verified = t.maestro("store", "verify", *store)
    t.equal(verified.code, 65)
    t.equal(verified.out.count("what follows from its plan cannot be compared"), 2, verified.out)


# --- files that are no store, or no longer one ---

FLOW = """workflow: small
params: [{ name: n, type: integer, default: 0 }]
jobs:
  a: { tasks: [{ name: say, run: shell, input: { command: "echo hi; printf '{\\"n\\": 7}' > $MAESTRO_OUTPUT" } }] }
  b: { needs: [a], tasks: [{ log: bye }] }
"""
READING = (("runs",), ("show", "last"), ("logs", "last"), ("inspect", "last"), ("replay", "last"), ("ledger", "verify"),
           ("ledger", "show"), ("ledger", "export"), ("store", "verify"))
NOBODY = 65534


def at(path):
    return ("--store", f"sqlite:{path}")


def fill(t, path, count=1):
    for _ in range(count):
        result = t.maestro("run", t.write("small.yaml", FLOW), "--quiet", *at(path))
        t.require(result.code == 0, result.err)


def settle(path):
    """All of it in the one file."""
    db = sqlite3.connect(path)
    db.execute("pragma wal_checkpoint(truncate)").fetchall()
    db.close()


def plain(t, text, what):
    """An error for people: no name of a function, no number of a source line."""
    t.lacks(text, ".c:", what)
    t.lacks(text, "sqlite3_", what)
    t.lacks(text, "internal error", what)


@case()
def a_file_that_is_no_store_is_told_and_left_alone(t):
    good = t.folder / "good.db"
    fill(t, good)
    settle(good)
    whole = good.read_bytes()
    page = 4096
    bad = {
        "a text": (b"hello, I am a letter\n" * 300, (65,)),
        "nothing in it": (b"", (69,)),
        "cut in the middle of a page": (whole[:len(whole) // 2 + 100], (65,)),
        "cut after the first page": (whole[:page], (65,)),
        "cut to its header": (whole[:100], (65,)),
        "the page of its tables zeroed": (whole[:100] + bytes(page - 100) + whole[page:], (65,)),
        "the page of its tables overwritten": (whole[:100] + b"\xa5" * (page - 100) + whole[page:], (65,)),
        "its header overwritten": (b"\xa5" * 100 + whole[100:], (65,)),
        "all zeros": (bytes(len(whole)), (65,)),
    }
    for what, (content, codes) in bad.items():
        with t.row(what):
            folder = t.folder / "bad"
            shutil.rmtree(folder, ignore_errors=True)
            path = t.write("bad/store.db", content)
            for command in READING + (("run", t.folder / "small.yaml"), ("resume", "last"), ("store", "archive", "--before", "2999-01-01")):
                if command[0] in ("run", "resume") and not content:
                    continue                # a file with nothing in it is where a store can be made
                result = t.maestro(*command, *at(path))
                t.true(result.code in codes, f"{command}: exit {result.code}: {result.out}{result.err}")
                t.contains(result.out + result.err, "store.db", command)
                plain(t, result.err, command)
                t.equal(path.read_bytes(), content, f"{command}: the file")
            t.equal([name for name in os.listdir(folder) if name not in ("store.db", "store.db.lock", "store.db-shm", "store.db-wal",
                                                                         "store.db.spawner")], [], "files beside it")


@case()
def the_log_of_another_store_is_not_taken_for_its_own(t):
    one, other = t.folder / "one.db", t.folder / "other.db"
    fill(t, one, 3)
    settle(one)
    fill(t, other, 2)
    reader = sqlite3.connect(other)             # keeps the log from being written back
    reader.execute("begin").execute("select * from maestro_workflows").fetchall()
    fill(t, other, 2)
    shutil.copy(f"{other}-wal", f"{one}-wal")
    reader.close()
    before = one.read_bytes()
    for command in (("run", t.folder / "small.yaml", "--quiet"), ("store", "archive", "--before", "2999-01-01"), ("store", "verify")):
        result = t.maestro(*command, *at(one))
        t.equal(result.code, 65, f"{command}: {result.out}{result.err}")
        plain(t, result.err, command)
        t.equal(one.read_bytes(), before, f"{command}: the file")
    for end in ("-wal", "-shm"):
        (t.folder / f"one.db{end}").unlink(missing_ok=True)
    t.equal(t.maestro("store", "verify", *at(one)).code, 0, "without it")


@case()
def a_directory_is_refused_before_anything_is_made(t):
    folder = t.folder / "folder"
    folder.mkdir()
    for command in READING + (("run", t.write("small.yaml", FLOW)), ("resume", "last"), ("pause", "last"), ("doctor",)):
        result = t.maestro(*command, *at(folder))
        t.true(result.code in (65, 69), f"{command}: exit {result.code}: {result.out}{result.err}")
        if command[0] != "doctor":
            t.contains(result.err, "directory", command)
    t.equal(sorted(os.listdir(t.folder)), ["folder", "small.yaml"], "what was left")
    t.equal(os.listdir(folder), [])


# --- files that cannot be written ---

def as_reader(t, *args):
    """Runs maestro as a user who may not write: root is not bound by permissions. A copy, since the user need not reach where it was built."""
    def drop():
        if os.geteuid() == 0:
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)
    program = t.folder / "maestro"
    if not program.exists():
        shutil.copy(MAESTRO, program)
    done = subprocess.run([str(program), *map(str, args)], capture_output=True, text=True, timeout=120, check=False, preexec_fn=drop,
                          cwd=t.folder, env={**os.environ, "HOME": str(t.folder)})
    return done


def readable(t):
    """A store that everybody may read and nobody may write."""
    folder = t.folder / "kept"
    folder.mkdir()
    path = folder / "store.db"
    fill(t, path)
    settle(path)
    for name in os.listdir(folder):
        (folder / name).chmod(0o444)
    folder.chmod(0o555)
    t.folder.chmod(0o755)
    return path


@case()
def a_store_that_cannot_be_written_can_be_read(t):
    path = readable(t)
    before = sorted(os.listdir(path.parent)), path.read_bytes()
    for command in READING:
        result = as_reader(t, *command, *at(path))
        t.equal(result.returncode, 0, f"{command}: {result.stdout}{result.stderr}")
    for command in (("run", t.folder / "small.yaml"), ("resume", "last"), ("cancel", "last"), ("store", "archive", "--before", "2999-01-01"),
                    ("ledger", "erase", "last", "a.say", "--reason", "x")):
        result = as_reader(t, *command, *at(path))
        t.equal(result.returncode, 77, f"{command}: {result.stdout}{result.stderr}")
        t.contains(result.stderr, "cannot be written", command)
        plain(t, result.stderr, command)
    t.equal((sorted(os.listdir(path.parent)), path.read_bytes()), before, "what is there")


@case()
def what_lies_in_a_log_that_cannot_be_opened_is_not_passed_over(t):
    path = readable(t)
    path.parent.chmod(0o755)
    path.chmod(0o644)
    reader = sqlite3.connect(path)
    reader.execute("begin").execute("select * from maestro_workflows").fetchall()
    fill(t, path)
    log = (t.folder / "kept" / "store.db-wal").read_bytes()
    reader.close()
    settle(path)
    t.require(log, "there is a log")
    (t.folder / "kept" / "store.db-wal").write_bytes(log)
    (t.folder / "kept" / "store.db-shm").unlink(missing_ok=True)
    for name in os.listdir(path.parent):
        (path.parent / name).chmod(0o444)
    path.parent.chmod(0o555)
    result = as_reader(t, "runs", *at(path))
    t.equal(result.returncode, 77, result.stdout + result.stderr)
    t.contains(result.stderr, "copy both")
    plain(t, result.stderr, "runs")


# --- disks that are full ---

class Disk:
    """A small disk of its own, which only root can make."""

    def __init__(self, t, size):
        self.path = t.folder / "disk"
        self.path.mkdir()
        if os.geteuid() or subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(self.path)], check=False).returncode:
            t.not_run("a file system can be mounted by root alone")

    def __enter__(self):
        return self.path

    def __exit__(self, *_):
        subprocess.run(["umount", "-l", str(self.path)], check=False)


def fill_disk(path):
    file = os.open(path / "ballast", os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o600)
    try:
        while True:
            os.write(file, bytes(4096))
    except OSError:
        pass
    os.close(file)


@case()
def a_full_disk_loses_nothing_and_leaves_no_half_file(t):
    source = t.folder / "source.db"
    fill(t, source, 3)
    with Disk(t, "3m") as disk:
        path = disk / "store.db"
        fill(t, path, 2)
        acknowledged = {json.loads(line)["run"] for line in t.maestro("runs", "--json", *at(path)).out.splitlines()}
        fill_disk(disk)
        for _ in range(3):
            result = t.maestro("run", t.folder / "small.yaml", "--quiet", *at(path))
            if result.code == 0:
                acknowledged.add(result.out.split()[-1])
            else:
                t.true(result.code in (69, 75), f"exit {result.code}: {result.err}")
                plain(t, result.err, "run")
        fill_disk(disk)
        before = set(os.listdir(disk))
        for command in (("store", "backup", disk / "copy.db", *at(source)), ("ledger", "export", "-o", disk / "ledger.jsonl", *at(source)),
                        ("store", "archive", "--before", "2999-01-01", "--to", disk / "old.jsonl", *at(source)),
                        ("ledger", "anchor", "--key", disk / "new.key", *at(source))):
            result = t.maestro(*command)
            t.true(result.code in (69, 75), f"{command}: exit {result.code}: {result.out}{result.err}")
            plain(t, result.err, command)
        t.equal(set(os.listdir(disk)) - before, set(), "files that were left")
        t.equal(t.maestro("store", "verify", *at(source)).code, 0, "the store that was copied from")
        fill_disk(disk)
        for command in READING:
            result = t.maestro(*command, *at(path))
            t.equal(result.code, 0, f"{command} on a full disk: {result.out}{result.err}")
        os.unlink(disk / "ballast")
        t.equal(t.maestro("store", "verify", *at(path)).code, 0, "with room again")
        there = {json.loads(line)["run"] for line in t.maestro("runs", "--json", *at(path)).out.splitlines()}
        t.true(acknowledged <= there, f"lost: {acknowledged - there}")
        fill(t, path)


@case()
def a_limit_on_the_size_of_files_ends_no_command_without_a_word(t):
    source = t.folder / "source.db"
    fill(t, source, 1)
    new = at(t.folder / "new.db")
    for command in (("run", t.folder / "small.yaml", *new), ("revisions", "store", t.folder / "small.yaml", *new),
                    ("key", "create", "--role", "viewer", *new), ("server", "--listen", "127.0.0.1:0", *new),
                    ("store", "backup", t.folder / "copy.db", *at(source)), ("ledger", "export", "-o", t.folder / "ledger.jsonl", *at(source))):
        with t.row(command[0]):
            result = t.run("sh", "-c", 'ulimit -f 1; exec "$@"', "sh", MAESTRO, *command)
            t.equal(result.code, 69, f"the code; {result.err}")
            t.contains(result.err, "is the disk full")


# --- backups ---

@case()
def a_backup_under_load_verifies_and_has_every_run_that_was_acknowledged_before(t):
    path = t.folder / "store.db"
    t.write("small.yaml", FLOW)
    held = t.write("held.yaml", 'workflow: held\njobs:\n  a: { tasks: [{ log: waits, wait_for_signal: { signal: end, timeout: 1h } }] }\n')
    owner = t.start("run", held, "--quiet", *at(path))
    def waits():
        if not path.exists():
            return False
        result = t.maestro("runs", "--json", *at(path))
        return result.code == 0 and "waiting-signal" in result.out
    t.until(waits, "the owner is there")
    done, over = [], threading.Event()

    def start_runs():
        while not over.is_set():
            result = t.maestro("run", t.folder / "small.yaml", "--quiet", *at(path))
            if result.code == 0:
                done.append(result.out.split()[-1])
    starters = [threading.Thread(target=start_runs) for _ in range(2)]
    for starter in starters:
        starter.start()
    try:
        for number in range(3):
            seen = len(done)
            t.until(lambda: len(done) > seen + 1, "runs go on")
            before = set(done)
            copy = t.folder / f"copy-{number}.db"
            result = t.maestro("store", "backup", copy, *at(path))
            t.equal(result.code, 0, result.err)
            verified = t.maestro("store", "verify", *at(copy))
            t.equal(verified.code, 0, verified.out)
            there = {json.loads(line)["run"] for line in t.maestro("runs", "--json", "-n", "1000", *at(copy)).out.splitlines()}
            t.true(before <= there, f"not in the copy: {before - there}")
            live = t.maestro("store", "verify", *at(path))
            t.equal(live.code, 0, f"while it is in use: {live.out}")
    finally:
        over.set()
        for starter in starters:
            starter.join()
        owner.kill()
        t.end(owner)


if __name__ == "__main__":
    main()
