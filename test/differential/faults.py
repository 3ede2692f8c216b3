"""faults - one mistake for a policy that has none: what a compiler has to refuse."""

# Statements that are wrong in a body, and what is wrong with them.
WRONG_STATEMENTS = {
    "unsafe variable": ["unknown1 == 3", "not unknown1 = 1", "wrong1 := unknown1 + 1", "count(unknown1) > 0", "every w in unknown1 { w > 0 }",
                        "wrong1 := [y | y > 1]", "some unknown1; not data.base.o[unknown1]", "data.base.xs[i9] == 1; not data.base.xs[j9] == i9",
                        "true with input as unknown1", "[unknown1, 1] != [1, 1]", "wrong1 = unknown1", "unknown1[0] == 1"],
    "type error": ["1 + \"a\" == 2", "count(3) == 3", "upper(1) == \"1\"", "[1, 2] = {\"a\": 1}", "\"a\" + 1 > 0", "sum([\"a\"]) > 0",
                   "concat(1, [\"a\"]) == \"\"", "wrong1 := {\"a\": 1}; wrong1.b == 1", "wrong1 := [1, 2]; wrong1.x", "1 = \"1\"", "abs(true) == 1",
                   "wrong1 := {1, 2}; wrong1[\"a\"]", "regex.match(1, \"a\")", "object.get([], 1, 2) == 2", "true.a == 1", "{1} - 1 == 0",
                   "json.patch({}, [{\"path\": \"a\"}]) == {}", "time.date(\"x\") == [1, 1, 1]", "array.slice({1}, 0, 1) == []"],
    "unknown function": ["nothing(1)", "strings.nothing(1) == 2", "foo.bar.baz(1, 2) > 1", "wrong1 := data.base.fun(1)", "data.p.nothing(2)"],
    "wrong arity": ["count([1], [2], 3)", "abs() == 1", "upper(\"a\", \"b\", \"c\")", "startswith(\"a\") == true", "time.now_ns(1, 2) > 1"],
    "assigned twice": ["wrong1 := 1; wrong1 := 2", "some wrong1; wrong1 := 2", "wrong1 == 1; wrong1 := 1", "input := 3", "data := 2; data == 2",
                       "some input in [1]; input == 1", "wrong1 := wrong1 + 1", "1 := 1", "input.x := 1", "[wrong1, wrong1] := [1, 1]",
                       "some wrong1, wrong1 in [1]", "some wrong1 in [wrong1]"],
    "hidden function": ["count := 1; wrong1 := count([1])", "some max in [1]; max([max])", "count := count([1])", "wrong1 := upper(\"a\"); upper := 1",
                        "plus = 1; wrong1 := 1 + 1", "lt := 2; 1 < lt", "wrong1 := [1 | count([1])]; count := 1", "time := 1; time.now_ns() > 1",
                        "every count in [1] { count([count]) }", "equal := 1; equal == 1", "sum = sum([1])", "some eq in [1]; eq = 1",
                        "wrong1 := [count | some count in [1]]; count(wrong1) == 1", "some _", "some wrong1, _; wrong1 = 1"],
    "bad with": ["true with foo as 1", "true with input.a as 1 with 3 as 2", "true with data as {}", "true with data.p as 1", "true with count as concat",
                 "true with http.send as {}", "true with walk as count", "true with input as data.base with input.a as 1", "true with plus as minus",
                 "true with 1 as 2", "count([1]) == 7 with count as 7", "true with data.p.nothing as 1", "true with input[\"a\"][x] as 1"],
    "odd but right": ["some unused1", "_ = 1", "wrong1 := 1", "1 == 1", "some unused1 in [1]", "every _ in [] { false }", "not false", "wrong1 = 1; wrong1 = 1",
                      "[_, _] = [1, 2]", "set() == set()", "{} != []", "null == null", "print(\"x\", input.n)", "trace(\"x\")", "input[_] = _"],
}

# Whole statements that are wrong beside the others.
WRONG_RULES = {
    "recursion": [["wrong1 := wrong2", "wrong2 := wrong1"], ["wrong1(x) := wrong1(x - 1)"], ["wrong1 contains x if some x in wrong1"],
                  ["wrong1 if not wrong2", "wrong2 if wrong1"], ["wrong1 := data.p"], ["wrong1[x] := y if { some x, y in data.p.wrong1 }"],
                  ["wrong1 := 1 if data.p[x]"], ["wrong1.a := wrong1.b", "wrong1.b := 1"], ["wrong1.a := wrong1[x]"]],
    "conflict": [["wrong1 := 1", "wrong1(x) := x"], ["wrong1 := 1", "wrong1 contains 2"], ["default wrong1 := 1", "default wrong1 := 2"],
                 ["wrong1(x) := x", "wrong1(x, y) := x"],
                 ["wrong1[k].x contains 1 if some k in [1]", "wrong1[k].x := 1 if some k in [2]"], ["wrong1[x] := 1 if x := 1", "wrong1 contains 2"], ["wrong1.a := 1", "wrong1 := {}"],
                 ["wrong1.a.b := 1", "wrong1.a := 2"], ["default wrong1 := input.x"], ["default wrong1 := [1 | true]"], ["wrong1.a[x] := 1 if x := 2", "wrong1.a.b.c := 2"],
                 ["default wrong1(x) := x"], ["default wrong1(1) := 2"], ["wrong1 := 1", "wrong1 := 2"], ["wrong1 := true", "wrong1 := true"], ["default wrong1(_) := 2"]],
    "hidden rule": [["wrong1 := 1", "wrong2 if { wrong3 := wrong1; wrong1 := 2 }"], ["wrong1 := [1]", "wrong2 if { some wrong1 in wrong1 }"],
                    ["wrong1 := [1]", "wrong2 := [wrong1 | some wrong1 in [2]]"], ["wrong1 := 1", "wrong2 if { wrong3 := [wrong1 | true]; wrong1 := 2 }"],
                    ["wrong1(x) := x", "wrong2 if { wrong1 := 3; wrong1(1) }"], ["wrong1(x) := x", "wrong2 := [wrong3 | wrong1 := 3; wrong3 := wrong1(1)]"],
                    ["wrong1(x) := x", "wrong2 if { wrong3 := [1 | wrong1(1)]; wrong1 := 3 }"], ["equal(x, y) := true", "wrong1 if 1 == 2"],
                    ["plus(x, y) := x", "wrong1 := 1 + 2"], ["count := 3", "wrong1 := count([1])"], ["equal := 1"], ["assign := 1"], ["internal := 1"],
                    ["wrong1(count) := count([1])"], ["wrong1(count) := 1 if count([1]) == 1"], ["wrong1 := 1 if { every wrong2 in wrong2 { true } }", "wrong2 := [1]"],
                    ["import data.base.xs", "wrong1 := [xs | some xs in xs]"], ["import data.base.xs", "wrong1 := [xs | some xs in data.base.xs]"]],
    "unsafe head": [["wrong1 := x"], ["wrong1 contains x if input.x"], ["wrong1[x] := 1 if input.x"], ["wrong1(x) := y"], ["wrong1[y][x] := 1 if x := 1"],
                    ["wrong1(x) := y if { x == y }"], ["wrong1 := x if { not x }"], ["wrong1 := input.xs[_]"], ["wrong1 := [x | x = input.xs[_]]"]],
    "syntax": [["wrong1 := "], ["wrong1 { true }"], ["wrong1 := 1 if"], ["wrong1 := 1 if { }"], ["wrong1 contains"], ["wrong1 := [1, 2"], ["wrong1 := {\"a\": }"],
               ["wrong1 := 1 else := 2"], ["wrong1 if { some }"], ["wrong1 if { every x { true } }"], ["wrong1 if { not }"], ["import foo"], ["import data.p as p.q"],
               ["wrong1 := 01"], ["wrong1 := \"\\x\""], ["wrong1 := 'a'"], ["wrong1 if { x := y := 1 }"], ["wrong1 := 1 == 2 == 3"], ["wrong1[1, 2] := 3"],
               ["if := 1"], ["wrong1 := in"], ["wrong1(x := 1) := 2"], ["wrong1 := {1, 2: 3}"], ["package p"], ["wrong1 := $\"{}\""], ["wrong1 := $\"{1\""],
               ["wrong1 := 1.2.3"], ["wrong1 := 1e"], ["wrong1 := .5"], ["wrong1 := -\"a\""], ["wrong1 := - 1"], ["wrong1 := 1 -1"], ["wrong1 := [1,]"], ["wrong1 := {1,}"],
               ["wrong1 := {\"a\": 1,}"], ["wrong1 := {,}"], ["wrong1 := ()"], ["wrong1 := (1, 2)"], ["wrong1 if { true, false }"], ["wrong1 if { true false }"],
               ["wrong1 := input.1"], ["wrong1 := input.if"], ["wrong1 := input[]"], ["wrong1 := a.b.c[d.e]"], ["wrong1.if := 1"], ["wrong1 := {x: x | x := 1}"]],
    "odd but right": [["import data.base as b", "wrong1 := b.n"], ["import input.o as oo", "wrong1 := oo"], ["import rego.v1"], ["import data.base.xs", "wrong1 := xs[0]"],
                      ["wrong1.a.b.c := 1", "wrong1.a.d := 2"], ["wrong1[1] := 2", "wrong1[\"x\"] := 3"], ["wrong1(x) if x > 1", "wrong1(x) if x < 0"],
                      ["wrong1 := x if x := 1", "wrong1 := y if y := 1"], ["default wrong1 := {\"a\": [1, {2}]}"], ["import future.keywords.in"], ["wrong1.x[input.s] := 1"],
                      ["wrong1[1](x) := x", "wrong2 := wrong1[1](3)"]],
}


def add_fault(g, case):
    """Puts a mistake that `g` picks into the case, and notes its kind."""
    module = g.pick(case["modules"])
    way = g.number(0, 9)
    if way < 5:
        kind = g.pick(sorted(WRONG_STATEMENTS))
        text = g.pick(WRONG_STATEMENTS[kind])
        bodies = [(lines, at) for lines in module for at, line in enumerate(lines) if line.endswith("{")]
        if bodies and g.chance(0.7):
            lines, at = g.pick(bodies)
            lines.insert(at + 1 if g.chance(0.5) else next(i for i in range(at, len(lines)) if lines[i].startswith("}")), "\t" + text)
        else:
            module.append(["faulty := 1 if {", "\t" + text, "}"])
    elif way < 9:
        kind = g.pick(sorted(WRONG_RULES))
        lines = [[line] for line in g.pick(WRONG_RULES[kind])]
        at = 1 if lines[0][0].startswith("import") else len(module)
        module[at:at] = lines
        if g.chance(0.5):
            case["queries"].append("data.p.wrong1")
    else:
        kind = "damage"
        damage(g, module)
    case["fault"] = kind


def damage(g, module):
    """Takes away, repeats or changes one character."""
    lines = g.pick(module)
    at = g.number(0, len(lines) - 1)
    line = lines[at]
    if not line:
        return
    place = g.number(0, len(line) - 1)
    new = g.pick(["", line[place] * 2, g.pick(list("()[]{},.:;=|&<>\"`!$%@#^*-+ x1"))])
    lines[at] = line[:place] + new + line[place + 1:]
