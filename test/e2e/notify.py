#!/usr/bin/env python3
"""Whom a pause notifies: a URL, a runner, an address; tries that fail, owners that are killed, and what is shown of it.

The receiver is a real server on the loopback. No duration is asserted."""
import json
import sqlite3
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from maestro_test import case, main

PAUSED = """workflow: paused
params: [{ name: room, type: string, default: lobby }]
jobs:
  ask:
    tasks:
      - { name: request, run: noop, pause_after: { PAUSE } }
      - { name: then, log: after }
"""


class Receiver:
    """Takes what is posted to it, and answers with `status`; while `is_silent`, with nothing at all."""

    def __init__(self):
        self.got, self.status, self.is_silent = [], 200, False
        self.changed = threading.Condition()
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                with receiver.changed:
                    receiver.got.append((self.path, self.headers["Idempotency-Key"], body))
                    receiver.changed.notify_all()
                    if receiver.is_silent:
                        receiver.changed.wait_for(lambda: not receiver.is_silent, timeout=60)
                        return
                    status = receiver.status
                self.send_response(status)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *args):
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.http.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.http.server_port}"
        threading.Thread(target=self.http.serve_forever, daemon=True).start()

    def speak(self):
        with self.changed:
            self.is_silent = False
            self.changed.notify_all()

    def close(self):
        self.speak()
        self.http.shutdown()
        self.http.server_close()


def store(t):
    return ("--store", f"sqlite:{t.folder}/store.db")


def write(t, pause):
    return t.write("flow.yaml", PAUSED.replace("PAUSE", pause))


def ids(t):
    if not (t.folder / "store.db").exists():
        return []
    listed = t.maestro("runs", "--json", *store(t))
    return [json.loads(line)["run"] for line in listed.out.splitlines()] if listed.code == 0 else []


def show(t, run):
    return t.maestro("show", run, "--json", *store(t)).json()


def notes(t, run):
    return show(t, run).get("notifications", [])


def outbox(t):
    with sqlite3.connect(t.folder / "store.db") as db:
        return db.execute("SELECT kind, target, key, attempt_count, due_ms IS NULL, sent_ms IS NOT NULL FROM maestro_outbox"
                          " ORDER BY entry_no").fetchall()


def names(t, run):
    return [json.loads(line)["event"] for line in t.maestro("show", run, "--events", "--json", *store(t)).out.splitlines()]


def sound(t, run):
    for words in (("store", "verify"), ("ledger", "verify"), ("replay", run, "--verify")):
        result = t.maestro(*words, *store(t))
        t.equal(result.code, 0, f"{' '.join(words)}: {result.out}{result.err}")


@case("proves: E-002 A-182")
def rfc_2_a_notification_is_admitted_as_every_attempt_and_kept_to_its_runners_rate(t):
    offers = {"executors": {"local": {"kind": "process", "runners": {"chat/post": {"rate": "2/h", "command": ["sh", "-c", f"echo >> {t.folder}/told"]}}}}}
    t.write("runners.yaml", json.dumps(offers))
    runner = t.start("run", write(t, "trigger: go, notify: [chat/post, chat/post, chat/post, chat/post]"), "--runners", t.folder / "runners.yaml", *store(t))
    t.until(lambda: ids(t) and [n["state"] for n in notes(t, ids(t)[0])].count("sent") == 2, "what the rate permits is sent")
    t.equal(t.maestro("signal", ids(t)[0], "hello", *store(t)).code, 0, "others have their turns meanwhile")
    t.equal(len((t.folder / "told").read_text().splitlines()), 2, "and the rest waits for its time")
    runner.terminate()
    t.end(runner)


@case("proves: A-182 A-190")
def a_url_is_posted_to_when_the_run_pauses(t):
    receiver = Receiver()
    try:
        pause = f'trigger: go, timeout: 1h, notify: "{receiver.url}/${{params.room}}"'
        result = t.maestro("run", write(t, pause), "--until-waiting", *store(t))
        run = ids(t)[0]
        t.equal(len(receiver.got), 1, f"{result.out}{result.err}")
        path, key, body = receiver.got[0]
        t.equal(path, "/lobby", "paths are filled in")
        t.equal((body["run"], body["trigger"], body["workflow"], body["event"]), (run, "go", "paused", "trigger-awaited"))
        t.equal((body["key"], key), (f"{run}/notification/1",) * 2)
        t.contains(body["text"], "awaits the trigger 'go'")
        t.true(body["since"] < body["until"], "when it began, and its timeout")
        t.equal([(n["state"], n["attempts"]) for n in notes(t, run)], [("sent", 1)])
        t.equal(outbox(t), [("pause", receiver.url + "/${params.room}", key, 1, 1, 1)])
        t.contains(t.maestro("show", run, *store(t)).out, "NOTIFIES")
        with t.row("and the run goes on by its trigger alone"):
            t.equal(show(t, run)["state"], "paused")
            t.equal(t.maestro("trigger", run, "go", *store(t)).code, 0)
            t.equal(t.maestro("resume", run, *store(t)).code, 0)
            t.until(lambda: show(t, run)["state"] == "succeeded", "it goes on")
        t.equal(len(receiver.got), 1)
        sound(t, run)
    finally:
        receiver.close()


@case("proves: A-182")
def a_runner_or_an_address_is_given_the_message(t):
    offers = {"executors": {"local": {"kind": "process", "runners": {name: {"command": ["sh", "-c", f"cat >> {t.folder}/{name.replace('/', '-')}; echo >> {t.folder}/{name.replace('/', '-')}"]}
                          for name in ("chat/post", "notify")}}}}
    t.write("runners.yaml", json.dumps(offers))
    result = t.maestro("run", write(t, "trigger: go, notify: [chat/post, managers@example.com]"), "--until-waiting",
                       "--runners", t.folder / "runners.yaml", *store(t))
    run = ids(t)[0]
    t.equal([n["state"] for n in notes(t, run)], ["sent", "sent"], f"{result.out}{result.err}{notes(t, run)}")
    for name, to in (("chat-post", "chat/post"), ("notify", "managers@example.com")):
        with t.row(name):
            told = json.loads((t.folder / name).read_text())
            t.equal((told["input"]["to"], told["input"]["trigger"], told["input"]["run"]), (to, "go", run))
            t.equal(told["idempotencyKey"], told["input"]["key"])
    sound(t, run)


@case("proves: A-182 A-190")
def what_nobody_receives_is_tried_again_and_never_holds_the_run_up(t):
    receiver = Receiver()
    try:
        receiver.status = 503
        process = t.start("run", write(t, f"trigger: go, notify: [{receiver.url}/a, nobody@example.com]"), *store(t))
        t.until(lambda: len(receiver.got) >= 2, "it is tried again")
        run = ids(t)[0]
        t.equal(len({key for _, key, _ in receiver.got}), 1, "under one key")
        first = notes(t, run)[0]
        t.equal(first["state"], "open")
        t.contains(first["message"], "503")
        with t.row("without a runner that takes addresses"):
            t.contains(notes(t, run)[1]["message"], "no executor offers the runner 'notify'")
        receiver.status = 200
        t.until(lambda: notes(t, run)[0]["state"] == "sent", "it is received")
        t.equal(t.maestro("trigger", run, "go", *store(t)).code, 0)
        t.equal(t.end(process).code, 0, "the run has succeeded")
        t.equal(notes(t, run)[1]["state"], "given up")
        t.contains(notes(t, run)[1]["message"], "the pause has ended")
        sound(t, run)
    finally:
        receiver.close()


@case("proves: A-182")
def what_is_refused_for_good_is_not_tried_again(t):
    receiver = Receiver()
    try:
        receiver.status = 404
        t.maestro("run", write(t, f"trigger: go, notify: {receiver.url}/gone"), "--until-waiting", *store(t))
        run = ids(t)[0]
        t.equal([(n["state"], n["attempts"]) for n in notes(t, run)], [("given up", 1)])
        t.equal(show(t, run)["state"], "paused")
        sound(t, run)
    finally:
        receiver.close()


@case("proves: A-182 A-012")
def an_owner_that_is_killed_is_followed_by_one_that_sends_it_under_the_same_key(t):
    receiver = Receiver()
    try:
        receiver.is_silent = True
        path = write(t, f"trigger: go, notify: {receiver.url}/a")
        process = t.start("run", path, *store(t))
        t.until(lambda: len(receiver.got) >= 1, "it was posted")
        process.kill()
        process.wait()
        receiver.speak()
        run = ids(t)[0]
        t.equal([n["state"] for n in notes(t, run)], ["open"], "nobody has confirmed it")
        other = t.write("other.yaml", "workflow: other\njobs: { a: { tasks: [{ run: sleep, input: { seconds: 600 } }] } }\n")
        owner = t.start("run", other, *store(t))
        t.until(lambda: notes(t, run)[0]["state"] == "sent", "the next owner sends it")
        t.equal(len({key for _, key, _ in receiver.got}), 1, "under one key")
        t.true(len(receiver.got) >= 2, "posted by both")
        owner.kill()
        owner.wait()
        sound(t, run)
    finally:
        receiver.close()


@case("proves: A-182 A-184 C-100")
def a_reminder_notifies_again(t):
    receiver = Receiver()
    try:
        pause = f"trigger: go, timeout: 2s, on_timeout: reminder, reminders: 1, notify: {receiver.url}/a"
        result = t.maestro("run", write(t, pause), *store(t))
        t.equal(result.code, 1, "nobody came")
        run = ids(t)[0]
        t.equal([body["event"] for _, _, body in receiver.got], ["trigger-awaited", "trigger-reminded"])
        t.equal(receiver.got[1][2]["reminder"], 1)
        t.equal(len({key for _, key, _ in receiver.got}), 2, "another notification, another key")
        t.equal([row[0] for row in outbox(t)], ["pause", "reminder"])
        t.equal(names(t, run).count("notification-sent"), 2)
        sound(t, run)
    finally:
        receiver.close()


@case("proves: A-182 F-097")
def a_row_of_the_outbox_that_is_changed_removed_or_put_there_is_noticed(t):
    receiver = Receiver()
    try:
        t.maestro("run", write(t, f"trigger: go, notify: {receiver.url}/a"), "--until-waiting", *store(t))
        sound(t, ids(t)[0])
        columns = ("entry_no", "run_no", "kind", "target", "key", "payload_at", "payload_offset", "payload_size", "attempt_count", "due_ms",
                   "created_ms", "sent_ms")
        wrongs = [f"UPDATE maestro_outbox SET {column} = 7000001" for column in columns]
        wrongs += ["DELETE FROM maestro_outbox",
                   "INSERT INTO maestro_outbox (entry_no, run_no, kind, target, key, created_ms) VALUES (1048580, 1, 'a', 'b', 'c', 1)",
                   "INSERT INTO maestro_outbox (entry_no, kind, target, key, created_ms) VALUES (1, 'a', 'b', 'c', 1)"]
        for wrong in wrongs:
            with t.row(wrong):
                with sqlite3.connect(t.folder / "store.db") as db, sqlite3.connect(t.folder / "changed.db") as other:
                    db.backup(other)
                with sqlite3.connect(t.folder / "changed.db") as other:
                    t.equal(other.execute(wrong).rowcount, 1)
                result = t.maestro("store", "verify", "--store", f"sqlite:{t.folder}/changed.db")
                t.equal(result.code, 65, result.out)
                t.contains(result.out, "maestro_outbox")
    finally:
        receiver.close()


if __name__ == "__main__":
    main()
