#!/usr/bin/env python3
"""Each check of tools/tidy accepts a small tidy tree and finds the one thing that was made untidy in it."""
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "test" / "e2e"))
from maestro_test import MAESTRO, case, main                     # noqa: E402, the path comes first

HEADER = "/* {name} - a header of the fixture. */\n#ifndef {guard}\n#define {guard}\n{body}#endif\n"


def header(path, body=""):
    guard = path.replace("/", "_").replace(".", "_").upper()
    return HEADER.format(name=path.split("/")[-1], guard=guard, body=body)


def readme(*names):
    return "# Fixture\n\n" + "".join(f"- `{name}`: a file\n" for name in names)


def tidy_tree():
    """The smallest tree with something for every check to look at."""
    return {
        "README.md": "# Fixture\n\nSee [the sources](src/README.md).\n",
        "src/README.md": readme("main.c"),
        "src/main.c": '#include "cli/cli.h"\n#include "store/sqlite/sqlite.h"\n',
        "src/base/README.md": readme("str.h", "str.c", "banned.h"),
        "src/base/str.h": header("base/str.h"),
        "src/base/str.c": '#include <stddef.h>\n\n#include "base/str.h"\n\nconst int str_table[2] = { 1, 2 };\n',
        "src/base/str_test.c": '#include "base/str.h"\n#include "harness/test.h"\n',
        "src/base/banned.h": header("base/banned.h", "#pragma GCC poison strcpy gets\n"),
        "src/base/meson.build": "base_lib = static_library('base', 'str.c')\ntest('base', 'str_test.c')\n",
        "src/core/README.md": readme("plan.h"),
        "src/core/plan.h": header("core/plan.h", '#include "base/str.h"\n'),
        "src/core/plan.c": '#include "core/plan.h"\n',
        "src/core/meson.build": "core_lib = static_library('core', 'plan.c')\n",
        "src/cli/README.md": readme("cli.h"),
        "src/cli/cli.h": header("cli/cli.h", '#include <unistd.h>\n\n#include "core/plan.h"\n'),
        "src/store/sqlite/README.md": readme("sqlite.h"),
        "src/store/sqlite/sqlite.h": header("store/sqlite/sqlite.h", "#include <sqlite3.h>\n"),
        "meson.build": "executable('maestro', 'src/main.c')\n",
        "test/cases/README.md": readme("data/*.json"),
        "test/cases/data/one.json": "{}\t",
    }


def findings(t, changes, *checks):
    """What tidy says of the tidy tree after changing the files given (None removes one)."""
    tree = {**tidy_tree(), **changes}
    folder = t.folder / f"tree{len(list(t.folder.iterdir()))}"
    for path, text in tree.items():
        if text is not None:
            t.write(f"{folder.name}/{path}", text)
    result = t.run(sys.executable, ROOT / "tools" / "tidy", "--root", folder, *checks)
    t.equal(result.err, "", "standard error")
    lines = [line for line in result.out.splitlines() if "warning:" not in line]
    t.equal(result.code, 1 if lines else 0, "the exit status")
    return result.out.splitlines()


def finds(t, want, changes):
    """The changes give exactly one finding, and it begins with `want`."""
    with t.row(want):
        lines = findings(t, changes)
        t.true(len(lines) == 1 and lines[0].startswith(want), f"one finding was expected, there are: {lines}")


@case()
def this_repository_is_tidy(t):
    result = t.run(sys.executable, ROOT / "tools" / "tidy")
    t.true(result.code == 0, f"findings:\n{result.out}{result.err}")


@case("proves: R-007 R-008 R-009")
def the_layers_of_this_repository_hold(t):
    result = t.run(sys.executable, ROOT / "tools" / "tidy", "layers", "libraries", "purity", "state")
    t.true(result.code == 0, f"findings:\n{result.out}{result.err}")


@case("proves: R-011")
def the_modules_of_the_requirements_depend_as_they_say(t):
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (?:`([a-z/]+)`|\(the standard library\)) \| ((?:`[a-z/*]+`,? ?(?:and likewise )?)+) \|", page, re.M)
    folders = {name or "standard": set(re.findall(r"`([a-z/*]+)`", listed)) for name, listed in rows}
    t.equal({"standard", "model", "core", "api"} <= set(folders), True, f"the page has the modules: {folders}")
    may = {"model": {"standard"}, "core": {"standard", "model"}, "api": {"standard", "model", "core"}}
    for module, others in may.items():
        allowed = set().union(*(folders[name] for name in others)) | folders[module]
        known = set().union(*folders.values())
        for file in sorted(p for folder in folders[module] for p in (ROOT / "src" / folder).rglob("*.[ch]")):
            for target in re.findall(r'#include "([a-z]+)/', file.read_text(encoding="utf-8")):
                if file.name.endswith("_test.c") and target == "harness":
                    continue
                t.true(target in allowed or target not in known and target in ("os", "secret"),
                       f"{file.relative_to(ROOT)} of {module} includes {target}")


@case("proves: R-089")
def no_library_of_the_domain_holds_a_variable(t):
    build = MAESTRO.resolve().parent / "src"
    for folder in ("core", "dispatch", "lang", "ledger", "view", "policy", "engine"):
        libraries = sorted((build / folder).glob("lib*.a"))
        t.true(libraries, f"{folder} is built")
        for library in libraries:
            table = t.run("objdump", "-t", library).out
            t.contains(table, ".text", "what is looked at")
            found = re.findall(r"\sO\s+\.(?:data|bss|tdata|tbss)(?!\.rel\.ro)\S*\s+[0-9a-f]+\s+(?!__)(\S+)", table)
            t.equal(found, [], f"variables of {library.name}: collaborators are given, not found")


@case()
def a_tidy_tree_has_no_finding(t):
    t.equal(findings(t, {}), [])


@case("proves: A-246")
def a_folder_may_not_include_one_to_its_right(t):
    finds(t, 'src/core/plan.c:1: core includes "cli/cli.h": \'cli\' stands to the right',
          {"src/core/plan.c": '#include "cli/cli.h"\n'})
    finds(t, 'src/base/str.c:2: base includes "core/plan.h"', {"src/base/str.c": '\n#include "core/plan.h"\n'})


@case("proves: A-246")
def an_adapter_is_known_to_main_alone(t):
    finds(t, 'src/cli/cli.h:4: cli includes "store/sqlite/sqlite.h": \'store/sqlite\' is an adapter',
          {"src/cli/cli.h": header("cli/cli.h", '#include "store/sqlite/sqlite.h"\n')})
    postgres = header("store/postgres/pg.h", '#include "store/sqlite/sqlite.h"\n')
    finds(t, 'src/store/postgres/pg.h:4: store/postgres includes "store/sqlite/sqlite.h"',
          {"src/store/postgres/pg.h": postgres, "src/store/postgres/README.md": readme("pg.h")})


@case()
def the_policy_language_and_the_dispatch_core_know_only_values(t):
    for folder in ("rego", "dispatch"):
        finds(t, f'src/{folder}/a.h:4: {folder} includes "core/plan.h"', {
            f"src/{folder}/a.h": header(f"{folder}/a.h", '#include "core/plan.h"\n'),
            f"src/{folder}/README.md": readme("a.h")})


@case("proves: A-246")
def an_unknown_folder_and_an_unknown_header_are_found(t):
    finds(t, "src/util/a.h:1: the folder 'util' has no place", {
        "src/util/a.h": header("util/a.h"), "src/util/README.md": readme("a.h")})
    finds(t, 'src/core/plan.c:1: "plan.h" is no file below src/', {"src/core/plan.c": '#include "plan.h"\n'})
    made = tidy_tree()["src/core/meson.build"] + "custom_target('made', output: 'made.h')\n"
    t.equal(findings(t, {"src/core/plan.c": '#include "core/made.h"\n', "src/core/meson.build": made}), [], "a made one")


@case("proves: A-246")
def the_model_includes_no_header_of_a_database_or_platform(t):
    for name in ("time.h", "unistd.h", "pthread.h", "sys/stat.h", "fcntl.h", "sys/socket.h", "signal.h", "errno.h"):
        finds(t, f"src/core/plan.h:4: 'core' is pure and may not include <{name}>",
              {"src/core/plan.h": header("core/plan.h", f"#include <{name}>\n")})
    for name in ("sqlite3.h", "libpq-fe.h", "curl/curl.h", "microhttpd.h", "yaml.h", "sodium.h", "gmp.h"):
        finds(t, f"src/core/plan.h:4: <{name}> was not admitted for 'core'",
              {"src/core/plan.h": header("core/plan.h", f"#include <{name}>\n")})


@case()
def the_command_line_has_no_parser_of_its_own(t):
    finds(t, "src/cli/cli.h:4: <yaml.h> was not admitted for 'cli'",
          {"src/cli/cli.h": header("cli/cli.h", "#include <yaml.h>\n")})


@case()
def a_pure_folder_may_not_touch_the_world(t):
    for use in ("printf (text);", "x = time(0);", "f = fopen(name, mode);", "p = getenv(name);", "fputs(s, stderr);",
                "clock_gettime(0, &t);", "exit(1);", "randombytes_buf(p, 4);"):
        with t.row(use):
            lines = findings(t, {"src/core/plan.c": "void f(void)\n{\n    " + use + "\n}\n"}, "purity")
            t.true(lines and all(line.startswith("src/core/plan.c:3: a pure folder may not use") for line in lines),
                   f"got {lines}")
    innocent = '/* printf(x) */ const char *a = "time(0)"; int b = snprintf(c, 1, d), e = step.time(1), runtime(2);\n'
    t.equal(findings(t, {"src/core/plan.c": innocent}, "purity"), [], "names in comments, strings and longer words")
    t.equal(findings(t, {"src/base/str_test.c": 'int f(void) { return printf(""); }\n'}, "purity"), [], "a test")


@case()
def a_variable_in_a_pure_library_is_found(t):
    compiled = {"a tidy one": ("static const char *const names[] = { \"a\" };\nconst char *f(int i) { return names[i]; }\n", 0),
                "a counter": ("int f(void) { static int count; return ++count; }\n", 1),
                "a table that can change": ("const char *names[] = { \"a\" };\n", 1)}
    for name, (source, count) in compiled.items():
        with t.row(name):
            library = t.folder / "build" / "src" / "core"
            source = t.write("a.c", source)
            library.mkdir(parents=True, exist_ok=True)
            (library / "libcore.a").unlink(missing_ok=True)
            t.equal(t.run("gcc", "-fPIE", "-c", source, "-o", t.folder / "a.o").code, 0, "gcc")
            t.equal(t.run("ar", "rc", library / "libcore.a", t.folder / "a.o").code, 0, "ar")
            result = t.run(sys.executable, ROOT / "tools" / "tidy", "--root", t.folder, "state")
            t.equal(result.out.count("is a variable in a pure folder"), count, result.out)


@case()
def a_banned_call_is_found_in_tests_too(t):
    finds(t, "src/base/str_test.c:1: strcpy() is banned", {"src/base/str_test.c": "void f(void) { strcpy(a, b); }\n"})
    t.equal(findings(t, {"src/base/str_test.c": "void f(void) { my_strcpy(a, b); }  /* gets(x) */\n"}), [])


@case()
def a_header_without_its_opening_or_guard_is_found(t):
    finds(t, "src/core/plan.h:1: does not open with '/* plan.h - '",
          {"src/core/plan.h": header("core/plan.h").replace("plan.h -", "it is")})
    finds(t, "src/core/plan.h:1: the include guard is not CORE_PLAN_H",
          {"src/core/plan.h": header("core/plan.h").replace("CORE_PLAN_H", "PLAN_H")})


PUBLIC = """#ifdef __cplusplus
extern "C" {
#endif
/* What is opened. */
typedef struct Shop Shop;

typedef struct Sale { int count; } Sale;        /* one of many */

/* --- calls --- */

/* Two of a kind. */
PUBLIC_API int shop_open(Shop *shop);
PUBLIC_API int shop_close(Shop *shop);

PUBLIC_API int shop_sell(Shop *shop, int (*price)(int));     /* a number below 0 fails */
#ifdef __cplusplus
}
#endif
"""


@case("proves: A-247")
def what_a_public_header_declares_without_saying_what_it_is_is_found(t):
    t.equal(findings(t, {"include/shop.h": header("shop.h", PUBLIC)}), [], "one with all its comments")
    for name, line, comment in (("Shop", 7, "/* What is opened. */\n"), ("Sale", 10, "        /* one of many */"),
                                ("shop_close", 14, "/* Two of a kind. */\nPUBLIC_API int shop_open(Shop *shop);\n"),
                                ("shop_sell", 18, "     /* a number below 0 fails */")):
        finds(t, f"include/shop.h:{line}: '{name}' has no comment", {"include/shop.h": header("shop.h", PUBLIC.replace(comment, ""))})
    t.equal(t.run(sys.executable, ROOT / "tools" / "tidy", "documented").out, "", "what it says of this repository")


@case()
def a_file_that_no_readme_names_is_found(t):
    finds(t, "src/core/plan.c:1: src/core/README.md does not name it", {
        "src/core/README.md": readme("flan.h", "*.h")})
    finds(t, "src/core:0: has no README.md", {"src/core/README.md": None})
    finds(t, "test/cases/data:0: has no README.md", {"test/cases/README.md": readme("*.json")})


@case()
def machine_paths_registries_and_marks_are_found(t):
    for word in ("/ho" + "me/me/x", "/wo" + "rk/main", "/t" + "mp/maestro", "registry.np" + "mjs.org", "py" + "pi.org",
                 "TO" + "DO", "FIX" + "ME", "XX" + "X", "not yet imple" + "mented"):
        finds(t, "README.md:2: '", {"README.md": f"# Fixture\n{word} is here\n"})
    t.equal(findings(t, {"README.md": "# Fixture\nhomework/x mkdtemp(XXXX" + "XX)\n"}), [])


@case()
def tabs_and_loose_ends_are_found(t):
    finds(t, "README.md:1: a tab", {"README.md": "#\tFixture\n"})
    finds(t, "README.md:1: space at the end", {"README.md": "# Fixture \n"})
    finds(t, "README.md:1: the file does not end", {"README.md": "# Fixture"})
    finds(t, "README.md:3: the file does not end", {"README.md": "# Fixture\n\n"})


@case()
def a_line_that_is_too_wide_is_found(t):
    text = "a" * 145
    for path in ("src/core/plan.c", "src/core/list.def"):
        named = {"src/core/README.md": readme("plan.h", "list.def"), path: f"\n/* {text} */\n"}
        finds(t, f"{path}:2: 151 columns", named)
    for wide in (f'int a = f(1, "{text}");', f'"{text}" "b",', f'"{text}", 1,', f'return "{text}";'):
        with t.row(wide):
            lines = findings(t, {"src/core/plan.c": wide + "\n"}, "columns")
            t.true(len(lines) == 1 and lines[0].startswith("src/core/plan.c:1: 1"), f"got {lines}")
    for fitting in (f"/* {text[1:]} */", "/* " + "\u00e4" * 144 + " */", f'    "{text}",', f'    "{text} \\"b\\" %" PRIu64',
                    f'    STR("{text}"));', f'    .doc = "{text}",', f'    "{text}" \\'):
        t.equal(findings(t, {"src/core/plan.c": fitting + "\n"}, "columns"), [], fitting)


@case()
def a_long_file_is_a_warning_and_no_finding(t):
    lines = findings(t, {"src/core/plan.c": "\n".join(["int a;"] * 901) + "\n"})
    t.equal(len(lines), 1)
    t.true(lines and lines[0].startswith("src/core/plan.c:901: warning: 901 lines"), f"got {lines}")


@case()
def what_is_not_built_and_what_does_not_exist_are_found(t):
    finds(t, "src/core/plan.c:1: no meson.build names it", {"src/core/meson.build": "# 'plan.c'\n"})
    finds(t, "src/core/meson.build:1: 'gone.c' does not exist",
          {"src/core/meson.build": "static_library('core', 'gone.c', 'plan.c')\n"})


@case()
def a_link_that_leads_nowhere_is_found(t):
    finds(t, "README.md:2: the link to 'src/gone.md'", {"README.md": "# Fixture\n[a](src/gone.md#part)\n"})
    t.equal(findings(t, {"README.md": "# Fixture\n[a](src/) [b](https://example.com) `[c](gone)`\n"}), [])


@case()
def a_check_that_does_not_exist_is_a_usage_error(t):
    t.equal(t.run(sys.executable, ROOT / "tools" / "tidy", "nonsense").code, 2)


main()
