#!/usr/bin/env python3
"""tools/install-deps, on machines made of a few small programs: what is there, who we are, what apt-get answers."""
import os
import shutil
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "test" / "e2e"))
from maestro_test import case, main                     # noqa: E402, the path comes first


def packages(file):
    return {line for line in file.read_text().splitlines() if line and not line.startswith("#")}


PACKAGES = packages(ROOT / "tools" / "packages" / "build.txt")


class Machine:
    """A PATH with ordinary tools, and scripts in place of those that know the system. Calls of apt-get are logged."""

    def __init__(self, t, installed=(), user=0, sudo=False, debian=True, apt="exit 0"):
        self.t, self.log = t, t.folder / "apt.log"
        for tool in ("sh", "sed", "tr", "cat", "rm", "mktemp", "dirname", "env", "printf"):
            (t.folder / "bin").mkdir(exist_ok=True)
            os.symlink(shutil.which(tool), t.folder / "bin" / tool)
        self.script("id", f"echo {user}")
        if debian:
            self.script("dpkg-query", f'case " {" ".join(installed)} " in *" $4 "*) printf installed;; *) exit 1;; esac')
            self.script("apt-get", f'echo "$DEBIAN_FRONTEND $*" >>{self.log}; {apt}')
        if sudo:
            self.script("sudo", f'echo sudo >>{self.log}; exec "$@"')

    def script(self, name, text):
        self.t.write(f"bin/{name}", f"#!/bin/sh\n{text}\n").chmod(0o755)

    def install(self, *groups, **env):
        return self.t.run(ROOT / "tools" / "install-deps", *groups, env={"PATH": str(self.t.folder / "bin"), **env})

    def calls(self):
        return self.log.read_text().splitlines() if self.log.exists() else []


@case()
def nothing_missing_means_nothing_done(t):
    machine = Machine(t, installed=PACKAGES, user=1000)
    result = machine.install("build")
    t.equal((result.code, result.out, result.err), (0, "", ""))
    t.equal(machine.calls(), [])


@case()
def root_installs_exactly_what_is_missing(t):
    machine = Machine(t, installed=PACKAGES - {"libyaml-dev", "meson"})
    result = machine.install("build")
    t.equal((result.code, result.out), (0, "installing libyaml-dev meson\n"))
    update, install = machine.calls()
    t.matches(update, r"^noninteractive .*-y.* update$")
    t.matches(install, r"^noninteractive .* install --no-install-recommends libyaml-dev meson$")


@case()
def a_command_that_is_there_needs_no_package(t):
    wanted = packages(ROOT / "tools" / "packages" / "test.txt")
    here = {package for package in wanted if "/" not in package}
    machine = Machine(t, installed=here)
    for package in wanted - here - {"npm/npm"}:
        machine.script(package.split("/")[1], "exit 0")
    t.equal(machine.install("test").out, "installing npm\n")
    machine.script("npm", "exit 0")
    result = machine.install("test")
    t.equal((result.code, result.out, len(machine.calls())), (0, "", 2))


@case()
def an_ordinary_user_goes_through_sudo(t):
    machine = Machine(t, user=1000, sudo=True)
    t.equal(machine.install("build").code, 0)
    t.equal(machine.calls()[0], "sudo")


@case()
def without_root_and_sudo_the_packages_are_named(t):
    machine = Machine(t, installed=PACKAGES - {"meson"}, user=1000)
    result = machine.install("build")
    t.equal(result.code, 69)
    t.contains(result.err, "root or sudo")
    t.contains(result.err, "apt-get install meson")
    t.equal(machine.calls(), [])


@case()
def another_system_is_told_what_it_needs(t):
    machine = Machine(t, debian=False)
    result = machine.install("build")
    t.equal(result.code, 69)
    t.contains(result.err, "not a Debian system")
    t.contains(result.err, "libyaml-dev")
    t.equal(machine.install("build", MAESTRO_INSTALL="no").code, 0, "with MAESTRO_INSTALL=no")


@case()
def a_failing_installation_shows_why(t):
    machine = Machine(t, apt='case "$*" in *update*) ;; *) echo no space left; exit 100;; esac')
    result = machine.install("build")
    t.equal(result.code, 69)
    t.contains(result.err, "no space left")


@case()
def every_package_is_explained(t):
    explained = (ROOT / "docs" / "dependencies.md").read_text()
    for file in (ROOT / "tools" / "packages").glob("*.txt"):
        for package in packages(file):
            package = package.split("/")[0]
            t.true(f"`{package}`" in explained, f"docs/dependencies.md does not explain {package}")


@case()
def an_unknown_group_is_a_usage_error(t):
    t.equal(Machine(t).install("nonsense").code, 2)


@case()
def no_group_is_a_usage_error(t):
    t.equal(Machine(t).install().code, 2)


main()
