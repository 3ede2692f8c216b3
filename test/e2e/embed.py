#!/usr/bin/env python3
"""libmaestro as a stranger meets it: an installed header and library, a program that knows nothing else."""
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import time

from maestro_test import MAESTRO, ROOT, case, main

BUILD = MAESTRO.parent
EXAMPLE = ROOT / "examples" / "embed"


def installed(t):
    """The environment in which pkg-config finds what was installed into the case's folder."""
    place = t.folder / "root"
    done = t.run("meson", "install", "-C", str(BUILD), "--no-rebuild", "--quiet", "--tags", "devel,runtime",
                 env={"DESTDIR": str(place)})
    t.equal(done.code, 0, done.err)
    found = sorted(place.rglob("maestro.pc"))
    t.require(found)
    libraries = found[0].parent.parent
    env = {"PKG_CONFIG_PATH": str(found[0].parent), "PKG_CONFIG_SYSROOT_DIR": str(place), "LD_LIBRARY_PATH": str(libraries)}
    options = json.loads(t.run("meson", "introspect", "--buildoptions", str(BUILD)).out)
    sanitizers = next(o["value"] for o in options if o["name"] == "b_sanitize")
    if sanitizers != "none":
        env["LDFLAGS"] = f"-fsanitize={sanitizers}"
    return env, libraries


def built(t, target="order"):
    env, libraries = installed(t)
    folder = t.folder / "order"
    shutil.copytree(EXAMPLE, folder)
    made = t.run("make", "-C", str(folder), target, env=env)
    t.equal(made.code, 0, made.err)
    t.require((folder / target).exists())
    return folder / target, env, libraries


def killed_while_shipping(t, program, env, store):
    """What it printed before it was killed: the id of the run and its shipping, which two threads tell in either order."""
    process = subprocess.Popen([program, "17", store], stdout=subprocess.PIPE, text=True,
                               env=os.environ | env | {"ORDER_SHIP_MS": "60000"})
    lines, until = [], time.monotonic() + 60
    while time.monotonic() < until and not all(any(part in line for line in lines) for part in ("shipping", "new run")):
        line = process.stdout.readline()
        if not line:
            break
        lines.append(line)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    return "".join(lines)


@case("proves: K-006")
def the_example_survives_being_killed_and_repeats_no_finished_step(t):
    program, env, _ = built(t)
    store = f"sqlite:{t.folder}/orders.db"
    first = killed_while_shipping(t, program, env, store)
    t.contains(first, "charging the card")
    t.contains(first, "shipping, attempt 1")
    t.matches(first, r"new run \S{21}")
    again = t.run(str(program), "17", store, env=env | {"ORDER_SHIP_MS": "0"})
    t.equal(again.code, 0, again.err)
    t.contains(again.out, "going on with run")
    t.lacks(again.out, "charging")
    t.contains(again.out, "shipping, attempt")
    t.equal(again.out.split("with key ")[1].split()[0], first.split("with key ")[1].split()[0], "the key it ships with")
    t.contains(again.out, 'succeeded: {"pay.charge":{"receipt":"R-1"},"send.ship":{"parcel":42}}')
    third = t.run(str(program), "17", store, env=env)
    t.equal(third.code, 0, third.err)
    t.lacks(third.out, "charging")
    t.lacks(third.out, "shipping")
    t.contains(third.out, "succeeded")


@case()
def a_second_process_is_refused_while_the_first_has_the_store(t):
    program, env, _ = built(t)
    store = f"sqlite:{t.folder}/orders.db"
    process = subprocess.Popen([program, "1", store], stdout=subprocess.PIPE, text=True,
                               env=os.environ | env | {"ORDER_SHIP_MS": "60000"})
    process.stdout.readline()
    other = t.run(str(program), "2", store, env=env)
    process.kill()
    process.communicate()
    t.equal(other.code, 1)
    t.contains(other.err, "conflict")


@case()
def a_program_whose_store_was_taken_over_is_told_so(t):
    program, env, _ = built(t)
    path = f"{t.folder}/orders.db"
    process = subprocess.Popen([program, "1", f"sqlite:{path}"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               env=os.environ | env | {"ORDER_SHIP_MS": "2000"})
    while not process.stdout.readline().startswith("shipping"):
        t.require(process.poll() is None)
    with sqlite3.connect(path, timeout=30) as store:            # what another owner does first
        store.execute("UPDATE maestro_log_heads SET epoch = epoch + 1")
    _, said = process.communicate(timeout=60)
    t.equal(process.returncode, 1)
    t.contains(said, "waiting: the engine has stopped")
    t.contains(said, "(conflict)")


@case()
def the_static_library_links_and_runs(t):
    program, env, _ = built(t, "order-static")
    t.lacks(t.run("ldd", str(program), env=env).out, "libmaestro")
    done = t.run(str(program), "17", "memory:", env=env | {"ORDER_SHIP_MS": "0"})
    t.equal(done.code, 0, done.err)
    t.contains(done.out, "succeeded")


@case()
def both_libraries_show_maestro_names_and_nothing_else(t):
    _, libraries = installed(t)
    for library, option in (("libmaestro.so", "-D"), ("libmaestro.a", "-g")):
        with t.row(library):
            listed = t.run("nm", option, "--defined-only", "--format=posix", str(libraries / library))
            names = [line.split()[0] for line in listed.out.splitlines() if len(line.split()) >= 3]
            t.true(len(names) >= 20, f"{len(names)} names")
            t.equal([name for name in names if not name.startswith("maestro_")], [])
    declared = (ROOT / "include" / "maestro.h").read_text()
    for name in names:
        with t.row(name):
            t.contains(declared, f"{name}(")


@case()
def the_header_is_enough_for_c_and_for_c_plus_plus(t):
    env, _ = installed(t)
    flags = t.run("pkg-config", "--cflags", "maestro", env=env).out.split()
    for compiler, options, suffix in (("cc", ["-std=c99", "-Wpedantic"], "c"), ("c++", ["-std=c++11", "-Wpedantic"], "cc")):
        with t.row(compiler):
            if not shutil.which(compiler):
                t.not_run(f"{compiler} is missing")
            source = t.write(f"only.{suffix}", '#include <maestro.h>\n'
                             'int main(void) { return maestro_close((Maestro *)0, 0, (MaestroError *)0); }\n')
            made = t.run(compiler, *options, "-Wall", "-Wextra", "-Werror", "-c", *flags, "-o", f"{t.folder}/only.o", str(source))
            t.equal(made.code, 0, made.err)


main()
