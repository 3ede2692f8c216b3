"""Secrets as a person sets them: where they arrive, and that they are found nowhere else."""
import base64
import json
import os
import pty
import signal
import sqlite3
import stat
import subprocess

from maestro_test import MAESTRO, USER, case, main

VALUE = 'planted-"value"-5d1f'
FLOW = """workflow: w
jobs:
  a:
    tasks:
      - { name: use, run: shell, input: { command: COMMAND, token: "${secrets.TOKEN}" } RETRIES }
"""


def store(t):
    return ["--store", f"sqlite:{t.folder / 'store.db'}"]


def flow(t, command, name="w", retries=""):
    return t.write(f"{name}.yaml", FLOW.replace("COMMAND", json.dumps(command)).replace("RETRIES", retries).replace("workflow: w", f"workflow: {name}"))


def put(t, name="TOKEN", value=VALUE, *more, **options):
    result = t.maestro("secret", "set", name, *more, *store(t), stdin=value, **options)
    t.equal(result.code, 0, result.err)
    return result


def rows(t, query):
    """What the store answers; nothing while it is not there yet."""
    path = t.folder / "store.db"
    if not path.exists():
        return []
    db = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    try:
        return db.execute(query).fetchall()
    except sqlite3.OperationalError:
        return []                           # its tables are being made
    finally:
        db.close()


def everywhere(t):
    """All that is left behind: the files of the store, an export, and what the commands say about a run."""
    said = []
    for command in (["runs", "--json"], ["show", "last", "--json"], ["show", "last", "--events"], ["show", "last"], ["inspect", "last", "--json"],
                    ["logs", "last"], ["ledger", "show", "-n", "1000"], ["secret", "list"], ["secret", "list", "--json"],
                    ["revisions", "--json"], ["ledger", "export", "last"]):
        result = t.maestro(*command, *store(t))
        said.append((" ".join(command), (result.out + result.err).encode()))
    (t.folder / "export.jsonl").unlink(missing_ok=True)
    t.equal(t.maestro("ledger", "export", "--output", t.folder / "export.jsonl", *store(t)).code, 0)
    for file in sorted(t.folder.iterdir()):
        if file.is_file() and file.suffix not in (".yaml", ".taken") and file.name != "given":
            said.append((file.name, file.read_bytes()))
    return said


def found_in(t, value=VALUE):
    forms = {value.encode(), json.dumps(value)[1:-1].encode()}
    return [name for name, text in everywhere(t) if any(form in text for form in forms)]


# --- setting -------------------------------------------------------------------------------------------------------------------


@case()
def secrets_are_set_listed_and_removed(t):
    t.contains(put(t).out, "secret TOKEN of tenant default is set")
    put(t, "b.c", "another", "--json")
    put(t, "TOKEN", "of acme", "--tenant", "acme")
    key = t.folder / "store.db.key"
    t.equal((stat.S_IMODE(key.stat().st_mode), key.stat().st_size), (0o600, 32))
    listed = [json.loads(line) for line in t.maestro("secret", "list", "--json", *store(t)).out.splitlines()]
    t.equal([(s["tenant"], s["name"]) for s in listed], [("default", "TOKEN"), ("default", "b.c")])
    t.equal(sorted(listed[0]), ["createdAt", "createdBy", "name", "tenant", "updatedAt", "updatedBy"])
    t.contains(t.maestro("secret", "list", "--tenant", "acme", *store(t)).out, "TOKEN")
    gone = t.maestro("secret", "remove", "TOKEN", "--reason", "not needed", "--json", *store(t))
    t.equal((gone.code, gone.json()), (0, {"tenant": "default", "name": "TOKEN", "removed": True}))
    again = t.maestro("secret", "remove", "TOKEN", *store(t))
    t.equal(again.code, 69)
    t.contains(again.err, "tenant 'default' has no secret 'TOKEN'")
    t.equal(t.maestro("secret", "list", "--json", *store(t)).out.count("\n"), 1)
    t.equal(t.maestro("store", "verify", *store(t)).code, 0)
    events = [(r.get("actor"), e["event"], e.get("tenant"), e.get("name"))
              for r in map(json.loads, t.maestro("ledger", "show", "-n", "1000", *store(t)).out.splitlines()) for e in r["events"]]
    who = f"user:{USER}"
    for event, tenant, name in (("tenant-key-made", "default", None), ("secret-set", "default", "TOKEN"), ("tenant-key-made", "acme", None),
                                ("secret-set", "acme", "TOKEN"), ("secret-removed", "default", "TOKEN")):
        t.true((who, event, tenant, name) in events, f"{event} of {tenant} {name}")
    t.equal(len([e for e in events if e[1:3] == ("tenant-key-made", "default")]), 1)


@case()
def what_is_no_secret_is_refused(t):
    rows = [("a name", ["-x"], "v", 2), ("a name with a space", ["a b"], "v", 65), ("nothing", ["A"], "", 65), ("an end of a line alone", ["A"], "\n", 65),
            ("bytes that are no text", ["A"], b"\xff\xfe", 65), ("too large", ["A"], "x" * 65537, 65), ("no such file", ["A", "--from-file", "nowhere"], "", 69),
            ("a value as an argument", ["A", "value"], "", 2)]
    for name, args, value, code in rows:
        with t.row(name):
            result = t.maestro("secret", "set", *args, *store(t), stdin=value)
            t.equal(result.code, code, result.err)
    t.true(not (t.folder / "store.db.key").exists(), "a key was made for nothing")
    t.equal(t.maestro("secret", "list", *store(t)).code, 69)
    in_memory = t.maestro("secret", "set", "A", "--store", "memory:", stdin="v")
    t.equal(in_memory.code, 69)
    t.contains(in_memory.err, "store")


@case()
def the_value_is_that_of_the_file_or_of_the_input_without_its_last_end_of_line(t):
    given = t.write("given", "two\nlines\n")
    for name, how, want in (("a file", ["--from-file", given], "two\nlines\n"), ("the input", [], "two\nlines"), ("from elsewhere", [], "a\r")):
        with t.row(name):
            stdin = "" if how else "a\r\r\n" if want == "a\r" else "two\nlines\n"
            t.equal(t.maestro("secret", "set", "TOKEN", *how, *store(t), stdin=stdin).code, 0)
            t.equal(t.maestro("run", flow(t, f"printf %s \"$MAESTRO_INPUT\" > {t.folder}/got.taken"), "--quiet", *store(t)).code, 0)
            t.equal(json.loads((t.folder / "got.taken").read_text())["token"], want)


@case()
def on_a_terminal_the_value_is_asked_for_twice_and_not_shown(t):
    for name, typed, code, text in (("the same", [VALUE, VALUE], 0, "is set"), ("another", [VALUE, "other"], 65, "not the same"),
                                    ("given up", ["\x03"], 65, "no value was given")):
        with t.row(name):
            leader, follower = pty.openpty()
            process = subprocess.Popen([MAESTRO, "secret", "set", "TOKEN", *store(t)], stdin=follower, stdout=follower, stderr=follower,
                                       close_fds=True)
            os.close(follower)
            shown = b""
            for i, line in enumerate(typed):
                prompt = b"again: " if i else b"value of TOKEN: "
                while prompt not in shown:
                    shown += os.read(leader, 1000)
                os.write(leader, line.encode() + b"\n")
            try:
                while more := os.read(leader, 1000):
                    shown += more
            except OSError:
                pass                            # the other end is closed
            os.close(leader)
            t.equal(process.wait(60), code, shown)
            t.contains(shown.decode(), text)
            t.true(VALUE not in shown.decode(), "it was shown")


# --- the key file ------------------------------------------------------------------------------------------------------------------


@case()
def a_key_file_that_is_open_lost_or_another_opens_nothing(t):
    put(t)
    key, wrong = t.folder / "store.db.key", t.folder / "other.key"
    wrong.write_bytes(os.urandom(32))
    wrong.chmod(0o600)
    use = flow(t, f"touch {t.folder}/ran")
    rows = [("open to others", lambda: key.chmod(0o644), {}, "chmod 600", 77), ("another one", lambda: None, {"MAESTRO_KEY_FILE": str(wrong)}, "another file", 65),
            ("not whole", lambda: (key.chmod(0o600), key.write_bytes(key.read_bytes()[:31])), {}, "31 bytes", 65),
            ("lost", key.unlink, {}, "the store has secrets, and the key file", 65)]
    bytes_before = key.read_bytes()
    for name, change, env, text, code in rows:
        with t.row(name):
            key.write_bytes(bytes_before)
            change()
            result = t.maestro("secret", "set", "OTHER", *store(t), stdin="value", env=env)
            t.equal(result.code, code, result.err)
            t.contains(result.err, text)
            result = t.maestro("run", use, "--quiet", *store(t), env=env)
            t.equal(result.code, 1)
            t.contains(t.maestro("show", "last", *store(t)).out, text.split(",")[0])
            t.true(not (t.folder / "ran").exists(), "the step was carried out")
    t.true(not key.exists(), "another key was made in its place")
    key.write_bytes(bytes_before)
    key.chmod(0o600)
    t.equal(t.maestro("run", use, "--quiet", *store(t)).code, 0)
    moved = t.folder / "elsewhere"
    key.rename(moved)
    t.equal(t.maestro("run", use, "--quiet", *store(t), env={"MAESTRO_KEY_FILE": str(moved)}).code, 0)
    t.equal(t.maestro("secret", "list", *store(t)).code, 0)             # names need no key


@case("proves: F-103")
def a_sealed_row_under_another_name_or_tenant_does_not_open(t):
    put(t, "TOKEN", "of default")
    put(t, "OTHER", "another one")
    put(t, "TOKEN", "of acme", "--tenant", "acme")
    for name, statement in (("another name", "update maestro_secrets set sealed = (select sealed from maestro_secrets where name = 'OTHER') where name = 'TOKEN'"),
                            ("another tenant", "update maestro_secrets set sealed = (select sealed from maestro_secrets where tenant = 'acme') where tenant = 'default'")):
        with t.row(name):
            with sqlite3.connect(t.folder / "store.db") as db:
                db.execute(statement)
            db.close()
            t.equal(t.maestro("run", flow(t, "true"), "--quiet", *store(t)).code, 1)
            t.contains(t.maestro("show", "last", *store(t)).out, "does not open")
            t.equal(t.maestro("store", "verify", *store(t)).code, 65)


# --- where they arrive ----------------------------------------------------------------------------------------------------------------


@case()
def a_secret_reaches_its_runner_and_is_found_nowhere_else(t):
    put(t)
    take = f"printf %s \"$MAESTRO_INPUT\" > {t.folder}/got.taken"
    rows = [
        ("a runner that keeps it", take, 0),
        ("one that prints it, also as JSON", f"{take}; echo \"$MAESTRO_INPUT\"; echo \"$MAESTRO_INPUT\" >&2; printf '%s\\n' 'planted-\"value\"-5d1f'", 0),
        ("one that gives it as its output", f"{take}; printf %s \"$MAESTRO_INPUT\" > $MAESTRO_OUTPUT", 0),
        ("one that fails with it", f"{take}; printf '%s\\n' 'planted-\"value\"-5d1f' >&2; exit 65", 1),
        ("one that says it by a message", f"{take}; printf '{{\"signal\": {{\"name\": \"s\", \"payload\": %s}}}}\\n' \"$MAESTRO_INPUT\" >&3", 0),
    ]
    for i, (name, command, code) in enumerate(rows):
        with t.row(name):
            # The command itself must not hold the value: what a definition says is stored.
            script = t.write(f"script-{i}.taken", command)
            result = t.maestro("run", flow(t, f"sh {script}", f"w{i}"), *store(t))
            t.equal(result.code, code, result.out + result.err)
            t.true(VALUE not in result.out + result.err, "it was printed")
            t.equal(json.loads((t.folder / "got.taken").read_text())["token"], VALUE)
            t.equal(found_in(t), [])
            inspected = t.maestro("inspect", "last", "--json", *store(t)).out
            t.contains(inspected, "${secrets.TOKEN}")
            if i in (1, 3):
                t.contains(t.maestro("logs", "last", *store(t)).out, "***")
    t.equal(t.maestro("store", "verify", *store(t)).code, 0)


@case()
def a_step_without_its_secret_fails_for_good_and_says_how_to_set_it(t):
    put(t, "OTHER", "value")
    result = t.maestro("run", flow(t, f"touch {t.folder}/ran", retries=", retries: { attempts: 5, delay: 10ms }"), *store(t))
    t.equal(result.code, 1)
    shown = t.maestro("show", "last", "--json", *store(t))
    t.contains(shown.out, "tenant 'default' has no secret 'TOKEN': maestro secret set TOKEN")
    t.equal(shown.json()["error"]["class"], "permanent")
    t.true(not (t.folder / "ran").exists(), "the step was carried out")
    put(t)
    t.equal(t.maestro("resolve", "last", "--decision", "retry", "--reason", "it is set now", *store(t)).code, 0)
    t.equal(t.maestro("resume", "last", "--quiet", *store(t)).code, 0)
    t.true((t.folder / "ran").exists(), "the step was carried out")


# --- who owns the store -----------------------------------------------------------------------------------------------------------------


@case()
def an_owner_that_is_at_work_stores_what_others_set_and_uses_it_at_once(t):
    wait = "until [ -e FOLDER/go ]; do sleep 0.05; done".replace("FOLDER", str(t.folder))
    t.write("two.yaml", f"""workflow: two
jobs:
  a:
    tasks:
      - {{ name: wait, run: shell, input: {{ command: {json.dumps("touch " + str(t.folder) + "/begun; " + wait)} }} }}
      - {{ name: use, run: shell, input: {{ command: {json.dumps(f'printf %s "$MAESTRO_INPUT" > {t.folder}/got.taken')}, token: "${{secrets.TOKEN}}" }} }}
""")
    owner = t.start("run", t.folder / "two.yaml", "--quiet", *store(t))
    t.until((t.folder / "begun").exists, "the first step is under way")
    given = t.write("given", "value")
    setters = [t.start("secret", "set", f"S{i}", "--from-file", given, *store(t)) for i in range(4)]
    t.equal([t.end(s).code for s in setters], [0, 0, 0, 0])
    put(t, "TOKEN", "an earlier value")
    put(t)
    (t.folder / "go").touch()
    t.equal(t.end(owner).code, 0)
    t.equal(json.loads((t.folder / "got.taken").read_text())["token"], VALUE)
    t.equal(len(t.maestro("secret", "list", "--json", *store(t)).out.splitlines()), 5)
    t.equal(found_in(t), [])
    t.equal(t.maestro("store", "verify", *store(t)).code, 0)


@case()
def many_who_set_the_first_secret_at_once_end_with_one_key(t):
    given = t.write("given", "value")
    setters = [t.start("secret", "set", f"S{i}", "--from-file", given, *store(t)) for i in range(6)]
    t.equal([t.end(s).code for s in setters], [0] * 6)
    for i in range(6):
        with t.row(f"S{i}"):
            t.equal(t.maestro("run", t.write("s.yaml", FLOW.replace("COMMAND", '"true"').replace("RETRIES", "").replace("TOKEN", f"S{i}")), "--quiet",
                              *store(t)).code, 0)
    t.equal(t.maestro("store", "verify", *store(t)).code, 0)


@case()
def after_an_owner_was_killed_the_next_fills_the_secret_in_again(t):
    put(t)
    command = f"printf %s \"$MAESTRO_INPUT\" > {t.folder}/got.taken; if [ -e {t.folder}/again ]; then exit 0; fi; touch {t.folder}/begun; sleep 1000"
    owner = t.start("run", flow(t, command), "--quiet", *store(t))
    t.until((t.folder / "begun").exists, "the step is under way")
    owner.send_signal(signal.SIGKILL)
    t.end(owner)
    (t.folder / "again").touch()
    (t.folder / "got.taken").unlink()
    t.equal(t.maestro("resume", "last", "--quiet", *store(t)).code, 0)
    t.equal(json.loads((t.folder / "got.taken").read_text())["token"], VALUE)
    t.equal(found_in(t), [])


# --- tokens of triggers ------------------------------------------------------------------------------------------------------------------


@case("proves: A-198")
def a_trigger_has_a_token_of_its_own_in_each_run(t):
    paused = t.write("p.yaml", """workflow: p
jobs:
  a: { tasks: [{ name: one, run: noop, pause_after: { trigger: approval, auth: { bearer: true } } }, { name: two, run: noop }] }
""")
    for count in (1, 2):
        process = t.start("run", paused, "--quiet", *store(t))
        t.until(lambda: rows(t, "select count(*) from maestro_workflows where state = 'PAUSED'") == [(count,)], "it is paused")
        process.send_signal(signal.SIGKILL)
        t.end(process)
    ids = [id for (id,) in rows(t, "select id from maestro_workflows")]
    one = t.maestro("trigger-token", ids[0], "approval", *store(t))
    t.equal(one.code, 0, one.err)
    t.matches(one.out, r"^[A-Za-z0-9_-]{43}\n$")
    t.equal(t.maestro("trigger-token", ids[0], "approval", *store(t)).out, one.out)
    other = t.maestro("trigger-token", ids[1], "approval", "--json", *store(t)).json()
    t.true(other["token"] != one.out.strip(), "two runs share a token")
    t.equal(len(base64.urlsafe_b64decode(other["token"] + "=")), 32)
    t.equal(t.maestro("trigger-token", ids[0], "nothing", *store(t)).code, 65)
    t.equal(t.maestro("store", "verify", *store(t)).code, 0)
    t.equal(found_in(t, one.out.strip()), [])


@case("")
def a_secret_is_nothing_that_a_program_is_started_with(t):
    runners = t.write("runners.yaml", """executors:
  local: { kind: process, runners: { pay: { command: [./pay] } } }
  far: { kind: worker, runners: { far/pay: {} } }
  web: { kind: http, runners: { web/pay: { url: "http://127.0.0.1:9/" } } }
""")
    told = "a program is started with this, which others can read: no place for 'secrets'"
    rows = [("arguments of a program", 'run: pay, args: ["--token", "${secrets.TOKEN}"]', True),
            ("arguments of what undoes it", 'run: noop, compensation: { run: pay, args: ["x${secrets.TOKEN}"] }', True),
            ("arguments of the shell", 'run: shell, args: ["echo", "${secrets.TOKEN}"]', True),
            ("a line of the shell", 'run: shell, input: "echo ${secrets.TOKEN}"', True),
            ("its command", 'run: shell, input: { command: "echo ${secrets.TOKEN}" }', True),
            ("its script", 'run: shell, input: { script: "echo ${secrets.TOKEN}" }', True),
            ("what the shell's command reads", 'run: shell, input: { command: "cat", token: "${secrets.TOKEN}" }', False),
            ("what a program reads", 'run: pay, args: ["--quiet"], input: { token: "${secrets.TOKEN}" }', False),
            ("a worker's", 'run: far/pay, args: ["${secrets.TOKEN}"]', False),
            ("a service's", 'run: web/pay, args: ["${secrets.TOKEN}"]', False)]
    for name, task, is_refused in rows:
        with t.row(name):
            text = "workflow: pay\njobs: { a: { tasks: [{ name: use, " + task + " }] } }\n"
            checked = t.maestro("validate", t.write("pay.yaml", text), "--runners", runners)
            t.equal(checked.code, 65 if is_refused else 0, checked.out + checked.err)
            (t.contains if is_refused else t.lacks)(checked.out + checked.err, told)
            if is_refused:
                t.contains(checked.out + checked.err, "on standard input and in MAESTRO_INPUT")


main()
