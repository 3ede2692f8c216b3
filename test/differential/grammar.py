"""grammar - policies, inputs and base data by chance, from a seed.

    case = generate(seed, index)        the same case for the same two numbers, for ever

Terms are made by kind (num, str, arr:num, ...), so that most policies pass the type checker and most rules have a value;
input and base data follow one shape (FIELDS), so that references find something. A share of the policies gets one mistake
on purpose (faults.py), and a share of the arguments has a wrong value.

A case is a dict: `modules` is a list of modules, each a list of statements, each a list of lines (what the minimiser takes
away); `data`, `inputs`, `queries`, `strict` and `now_ns` are what both programs are given.
"""
import collections
import json
import random
import re

from calls import BUILTINS, BY_RESULT
from faults import add_fault
from pools import INTEGERS, LARGE, NUMBERS, POOLS, WORDS

FAULT_SHARE = 0.14              # of policies: have a mistake on purpose
STRICT_SHARE = 0.08             # of policies: a failing builtin ends the evaluation
WRONG_SHARE = 0.06              # of arguments: another kind than wanted
NOW_NS = 1700000000123456789

# What input and data.base look like.
FIELDS = {"n": "num", "m": "num", "k": "num", "s": "str", "t": "str", "b": "bool", "xs": "arr:num", "ws": "arr:str",
          "o": "obj:num", "os": "obj:str", "nest": "obj", "recs": "arr:obj", "mix": "arr", "g": "graph", "z": "any",
          "e": "arr:num"}
# Kinds that may stand for another one.
ACCEPTS = {
    "num": ["num", "int"], "int": ["int"], "str": ["str"], "bool": ["bool"],
    "arr": ["arr", "arr:num", "arr:str", "arr:obj"], "arr:num": ["arr:num"], "arr:str": ["arr:str"], "arr:obj": ["arr:obj"],
    "set": ["set", "set:str", "set:num"], "set:str": ["set:str"], "set:num": ["set:num"],
    "obj": ["obj", "obj:num", "obj:str", "graph"], "obj:num": ["obj:num"], "obj:str": ["obj:str"], "graph": ["graph"],
    "nums": ["arr:num", "set:num"], "strs": ["arr:str", "set:str", "str"],
    "scalar": ["num", "int", "str", "bool"],
}
ACCEPTS["coll"] = ACCEPTS["arr"] + ACCEPTS["set"] + ACCEPTS["obj"] + ["str"]
ITERABLE = ACCEPTS["arr"] + ACCEPTS["set"] + ACCEPTS["obj"]
ACCEPTS["any"] = sorted({kind for kinds in ACCEPTS.values() for kind in kinds} | {"any"})
ITEM = {"arr:num": "num", "arr:str": "str", "arr:obj": "obj", "set:num": "num", "set:str": "str", "obj:num": "num",
        "obj:str": "str", "graph": "arr:str"}
PLAIN_KINDS = ["num", "num", "str", "str", "bool", "arr:num", "arr:str", "arr", "set:num", "set:str", "set", "obj:num", "obj:str",
               "obj", "any"]
MEASURES = ["bound", "shift"]        # a large number would take all memory
COMPARISONS = ["==", "!=", "<", "<=", ">", ">="]


def text_literal(text):
    return json.dumps(text, ensure_ascii=False)


class Rule:
    """What later rules know of one: how it is named, what it is, how it is asked."""

    def __init__(self, name, kind, args=None):
        self.name, self.kind, self.args = name, kind, args


class Generator:
    def __init__(self, seed, index):
        self.random = random.Random(seed * 1000003 + index)
        self.rules, self.functions, self.vars = [], [], []
        self.name_count = 0
        self.package, self.aliases = "p", {}
        self.can_bind = True            # whether a reference may bring a new variable here

    # --- chance ---

    def chance(self, share):
        return self.random.random() < share

    def pick(self, items):
        return items[self.random.randrange(len(items))]

    def number(self, low, high):
        return self.random.randint(low, high)

    def fresh(self, prefix="v"):
        self.name_count += 1
        return f"{prefix}{self.name_count}"

    # --- terms ---

    def term(self, kind, depth):
        """A term of that kind; simple where depth is 0."""
        if self.chance(WRONG_SHARE / 2):
            return self.loose_term()
        if kind in POOLS and kind != "word":
            return self.pool_literal(kind) if self.chance(0.9) else self.term("str", depth - 1)
        if kind == "any" and self.chance(0.7):
            kind = self.pick(PLAIN_KINDS)
        made = self.shared_term(kind, depth) if self.chance(0.55) else None
        return made or getattr(self, "make_" + kind.replace(":", "_"))(depth)

    def loose_term(self):
        """A term whose kind nobody knows when the policy is compiled: for wrong arguments that are no type errors."""
        return self.pick([f"input.{name}" for name in FIELDS] + ["data.base.mix[0]", "data.base.mix[1]", "input.mix[2]",
                                                                  "input.missing", "data.base.missing.x", "input"])

    def shared_term(self, kind, depth):
        """A variable, a reference, a rule, a call: what has this kind already."""
        ways = [self.variable, self.variable, self.reference, self.rule_reference]
        if depth > 0:
            ways += [self.builtin_call, self.builtin_call, self.function_call]
        return self.pick(ways)(kind, depth)

    def variable(self, kind, depth):
        names = [name for name, of in self.vars if of in ACCEPTS.get(kind, [kind])]
        return self.pick(names) if names else None

    def reference(self, kind, depth):
        root = self.pick(["input", "input", "data.base"])
        accepted = ACCEPTS.get(kind, [kind])
        paths = [name for name, of in FIELDS.items() if of in accepted]
        deep = []
        if "num" in accepted:
            deep += ["xs[0]", "xs[1]", "o.a", "o[\"b\"]", "nest.a.x", "recs[0].id", "recs[1].score"]
        if "str" in accepted:
            deep += ["ws[0]", "os.a", "os.b", "recs[0].name", "recs[1].tags[0]", "g.a[0]"]
        if "arr:str" in accepted:
            deep += ["g.a", "g.b", "recs[0].tags"]
        if "obj:num" in accepted:
            deep += ["nest.a", "nest[\"b\"]"]
        if self.can_bind and self.chance(0.4):
            index = "_" if self.chance(0.5) else self.fresh("i")
            if "num" in accepted:
                deep = [f"xs[{index}]", f"o[{index}]", f"recs[{index}].id", f"nest[{index}].x", f"nest.a[{index}]"]
            elif "str" in accepted:
                deep = [f"ws[{index}]", f"os[{index}]", f"recs[{index}].name", f"g[{index}][0]", f"recs[0].tags[{index}]"]
        elif self.chance(0.2):
            chosen = self.variable("num" if self.chance(0.5) else "str", depth)
            if chosen and "num" in accepted:
                deep += [f"xs[{chosen}]", f"o[{chosen}]"]
        if not paths and not deep:
            return None
        path = self.pick(paths + deep)
        if "[" not in path and "." not in path and self.chance(0.2):
            return f"{root}[\"{path}\"]"
        return f"{root}.{path}"

    def rule_reference(self, kind, depth):
        accepted = ACCEPTS.get(kind, [kind])
        rules = [rule for rule in self.rules if rule.kind in accepted]
        if not rules:
            return None
        return self.name_of(self.pick(rules))

    def name_of(self, rule):
        package, _, name = rule.name.rpartition(".")
        if package == f"data.{self.package}" and self.chance(0.85):
            return name
        if package in self.aliases and self.chance(0.7):
            return f"{self.aliases[package]}.{name}"
        return rule.name

    def function_call(self, kind, depth):
        functions = [f for f in self.functions if f.kind in ACCEPTS.get(kind, [kind])]
        if not functions:
            return None
        function = self.pick(functions)
        return f"{self.name_of(function)}({', '.join(self.term(k, depth - 1) for k in function.args)})"

    def builtin_call(self, kind, depth):
        rows = [row for of in ACCEPTS.get(kind, [kind]) for row in BY_RESULT.get(of, [])]
        if not rows:
            return None
        return self.call_text(self.pick(rows), depth)

    def call_text(self, row, depth):
        name, kinds, _ = row
        return f"{name}({', '.join(self.argument(kind, depth - 1) for kind in kinds)})"

    def argument(self, kind, depth):
        if kind in MEASURES:
            return getattr(self, "make_" + kind)(depth)
        return self.loose_term() if self.chance(WRONG_SHARE) else self.term(kind, depth)

    def items(self, kind, depth, high=4):
        low = 0 if self.chance(0.03) else 1
        return [self.term(kind, depth - 1) for _ in range(self.number(low, high))]

    # --- literals of each kind ---

    def make_num(self, depth):
        if depth > 0 and self.chance(0.35):
            sign = self.pick(["+", "-", "*", "/", "%", "+", "-", "*"])
            kind = "int" if sign == "%" else "num"
            return f"({self.term(kind, depth - 1)} {sign} {self.term(kind, depth - 1)})"
        if depth > 0 and self.chance(0.2):
            return f"count({self.term('coll', depth - 1)})"
        return self.pick(INTEGERS if self.chance(0.75) else NUMBERS if self.chance(0.75) else LARGE)

    def make_int(self, depth):
        return self.pick(INTEGERS if self.chance(0.9) else LARGE[:6])

    def make_small(self, depth):
        return str(self.number(-2, 6)) if self.chance(0.93) else self.pick(["1.5", "1e1", "9223372036854775808"])

    def make_bound(self, depth):
        return str(self.number(-3, 9)) if self.chance(0.95) else self.pick(["1.5", "2.0", "\"1\"", "1e1"])

    def make_shift(self, depth):
        return str(self.number(-1, 70))

    def make_base(self, depth):
        return self.pick(["2", "8", "10", "16", "10", "3"])

    def make_str(self, depth):
        if depth > 0 and self.chance(0.12):
            return self.template_string(depth - 1)
        word = self.pick(WORDS)
        if self.chance(0.1) and "`" not in word and word.isprintable():
            return f"`{word}`"
        return text_literal(word)

    def template_string(self, depth):
        bind, self.can_bind = self.can_bind, False
        parts = []
        for _ in range(self.number(1, 3)):
            parts.append(self.pick(["", "a", " b ", "é", "\\{", "-"]))
            term = self.term(self.pick(["num", "str", "any"]), depth)
            parts.append("{" + (term if '"' not in term and "\\" not in term and "`" not in term else "input.n") + "}")
        self.can_bind = bind
        return f'$"{"".join(parts)}"'

    def make_word(self, depth):
        return text_literal(self.pick(WORDS[:16]))

    def make_bool(self, depth):
        if depth > 0 and self.chance(0.4):
            return f"({self.comparison(depth - 1)})"
        return self.pick(["true", "true", "false"])

    def make_null(self, depth):
        return "null"

    def make_any(self, depth):
        if depth > 0 and self.chance(0.4):
            return self.term(self.pick(PLAIN_KINDS), depth)
        return self.pick(["null", "{}", "[]", "set()", "[null, true]", "{\"a\": null}", "{[1]: 2}", "[[1, 2], {\"k\": {3}}]", "{1: \"x\", true: 2}",
                          "[1, \"1\", 1.0]", "{null, false}", "1", "\"x\""])

    def make_arr(self, depth):
        if depth > 0 and self.chance(0.3):
            return self.comprehension("[", "]", depth)
        return f"[{', '.join(self.items('any', depth))}]"

    def make_arr_num(self, depth):
        if depth > 0 and self.chance(0.3):
            return self.comprehension("[", "]", depth, "num")
        return f"[{', '.join(self.items('num', depth))}]"

    def make_arr_str(self, depth):
        if depth > 0 and self.chance(0.25):
            return self.comprehension("[", "]", depth, "str")
        return f"[{', '.join(self.items('str', depth))}]"

    def make_arr_obj(self, depth):
        return f"[{', '.join(self.items('obj', depth, 3))}]"

    def make_set(self, depth, kind="any"):
        if depth > 0 and self.chance(0.3):
            return self.comprehension("{", "}", depth, kind)
        if depth > 0 and self.chance(0.25):
            return f"({self.term('set', depth - 1)} {self.pick(['|', '&', '-'])} {self.term('set', depth - 1)})"
        bind, self.can_bind = self.can_bind, False      # OPA mixes up the sets that `{xs[i], 0}` makes one after the other
        items = self.items(kind, depth)
        self.can_bind = bind
        return "{" + ", ".join(items) + "}" if items else "set()"

    def make_set_num(self, depth):
        return self.make_set(depth, "num")

    def make_set_str(self, depth):
        return self.make_set(depth, "str")

    def make_set_set(self, depth):
        return "{" + ", ".join(self.items("set", depth, 3)) + "}"

    def make_obj(self, depth, kind="any"):
        if depth > 0 and self.chance(0.3):
            return self.object_comprehension(depth, kind)
        keys = [self.pick(["a", "b", "c", "k", "o", "xs", "x"]) for _ in range(self.number(0 if self.chance(0.03) else 1, 3))]
        members = [f"\"{key}\": {self.term(kind, depth - 1)}" for key in dict.fromkeys(keys)]
        if self.chance(0.12) and kind == "any":
            key = self.pick(["1", "null", "[1, 2]", "true", "{3}", "1.5", "input.s", "input.n"])
            members.append(f"{key}: {self.term('any', depth - 1)}")
        return "{" + ", ".join(members) + "}"

    def make_obj_num(self, depth):
        return self.make_obj(depth, "num")

    def make_obj_str(self, depth):
        return self.make_obj(depth, "str")

    def make_graph(self, depth):
        names = ["a", "b", "c", "d"]
        return json_text({name: [self.pick(names) for _ in range(self.number(0, 2))] for name in names})

    def make_names(self, depth):
        return self.pick(["[\"a\"]", "{\"a\", \"b\"}", "[\"a\", \"z\"]", "{\"c\"}", "set()"])

    def make_coll(self, depth):
        return self.term(self.pick(["arr", "set", "obj", "str", "arr:num", "set:str"]), depth)

    def make_nums(self, depth):
        return self.term(self.pick(["arr:num", "arr:num", "set:num"]), depth)

    def make_strs(self, depth):
        return self.term(self.pick(["arr:str", "str", "set:str"]), depth)

    def make_scalar(self, depth):
        return self.term(self.pick(["num", "bool"]), depth) if self.chance(0.4) else self.pick(
            ["null", "\"1\"", "\"-1.50\"", "\"1e3\"", "\"x\"", "\"0x10\"", "\"\"", "\" 1\"", "\"Inf\"", "\"1_0\"", "\".5\"", "\"5.\"", "\"+1\"", "\"00\"", "\"1e999\""])

    def make_key(self, depth):
        return self.pick(["\"a\"", "\"b\"", "\"xs\"", "1", "\"missing\"", "input.s", "[\"a\"]", "[\"xs\", 0]", "[]"])

    def make_keypath(self, depth):
        return self.pick(["[\"a\"]", "[\"a\", \"x\"]", "[\"xs\", 0]", "[\"recs\", 0, \"id\"]", "[]", "[\"z\", \"y\"]"])

    def make_keys(self, depth):
        return self.pick(["[\"a\"]", "{\"a\", \"b\"}", "{\"xs\": 1}", "[]", "{\"k\"}", "input.ws", "[1, \"a\"]"])

    def make_paths(self, depth):
        paths = [text_literal(self.pick(POOLS["path"])) if self.chance(0.8) else self.pick(["[\"a\"]", "[\"xs\", 0]", "[\"a\", \"b\"]", "[]"])
                 for _ in range(self.number(0, 3))]
        if self.chance(0.5) and paths:
            return "{" + ", ".join(paths) + "}"
        return f"[{', '.join(paths)}]"

    def make_patch(self, depth):
        steps = []
        for _ in range(self.number(0, 2)):
            op = self.pick(["add", "add", "replace", "remove", "test", "copy", "move", "nop"])
            path = self.pool_literal("pointer") if self.chance(0.85) else self.pick(["[\"a\"]", "[\"xs\", 0]", "[\"xs\", \"-\"]"])
            extra = f", \"value\": {self.term('any', depth - 1)}" if op in ("add", "replace", "test") else ""
            extra = f", \"from\": {self.pool_literal('pointer')}" if op in ("copy", "move") else extra
            steps.append(f"{{\"op\": \"{op}\", \"path\": {path}{extra}}}")
        return f"[{', '.join(steps)}]"

    def make_marshal(self, depth):
        return self.pick(["{}", "{\"pretty\": true}", "{\"pretty\": false}", "{\"indent\": \" \"}", "{\"prefix\": \"> \", \"indent\": \"--\"}",
                          "{\"pretty\": true, \"prefix\": \"\"}", "{\"other\": 1}"])

    def make_jsondoc(self, depth):
        return self.term("obj", depth) if self.chance(0.6) else self.pool_literal("json")

    def make_schema(self, depth):
        return self.pick(["{\"type\": \"object\"}", "{\"type\": \"object\", \"required\": [\"a\"]}", "{\"properties\": {\"a\": {\"type\": \"number\"}}}",
                          "{\"type\": \"nosuch\"}", "{\"properties\": {\"a\": {\"minimum\": 2}}}", "\"{}\"",
                          "{\"anyOf\": [{\"type\": \"string\"}, {\"required\": [\"k\"]}]}", "{\"minProperties\": 2}", "\"{\""])

    def make_cidrs(self, depth):
        return f"[{', '.join(self.pool_literal('cidr') for _ in range(self.number(1, 3)))}]" if self.chance(0.8) else self.pool_literal("cidr")

    def make_ips(self, depth):
        items = ", ".join(self.pool_literal("ip") for _ in range(self.number(1, 3)))
        return self.pick([f"[{items}]", "{" + items + "}", self.pool_literal("ip"), "{\"x\": \"10.1.2.3\", \"y\": \"192.168.0.1\"}"])

    def make_small_cidr(self, depth):
        return self.pick(["\"10.0.0.0/30\"", "\"192.168.0.5/32\"", "\"2001:db8::/126\"", "\"10.0.0.0\"", "\"10.0.0.9/29\""])

    def make_moment_of(self, depth):
        ns = self.pool_literal("weekday_ns")
        return ns if self.chance(0.4) else f"[{ns}, {self.pool_literal('zone')}]"

    def make_formatted_moment(self, depth):
        ns = self.pool_literal("weekday_ns")
        return self.pick([ns, f"[{ns}, {self.pool_literal('zone')}]", f"[{ns}, {self.pool_literal('zone')}, {self.pool_literal('layout')}]"])

    def make_template_pattern(self, depth):
        return self.pick(["\"urn:foo:{.*}\"", "\"a{b+}c\"", "\"{\"", "\"x<[a-c]>y\"", "\"abc\"", "\"{[0-9]+}-{a|b}\""])

    def make_brace(self, depth):
        return self.pick(["\"{\"", "\"{\"", "\"<\"", "\"\""])

    def make_brace2(self, depth):
        return self.pick(["\"}\"", "\"}\"", "\">\""])

    def pool_literal(self, kind):
        text = self.pick(POOLS[kind])
        if kind in ("weekday_ns", "delimiters"):
            return text
        if kind in ("regex", "glob") and self.chance(0.3) and "`" not in text:
            return f"`{text}`"
        return text_literal(text)

    # --- comprehensions ---

    def closure(self, count, depth):
        """Statements of a nested body, and what its variables are called from inside; they are gone behind it."""
        return self.statements(count, depth)

    def comprehension(self, opening, closing, depth, kind="any"):
        kept, bind, self.can_bind = list(self.vars), self.can_bind, True
        body = [self.iteration(depth - 1)] + self.closure(self.number(0, 2), depth - 1)
        head = self.simple_head(kind, depth - 1)
        self.vars, self.can_bind = kept, bind
        return f"{opening}{head} | {'; '.join(body)}{closing}"

    def object_comprehension(self, depth, kind):
        kept, bind, self.can_bind = list(self.vars), self.can_bind, True
        key, value = self.fresh("k"), self.fresh("w")
        source = self.term(self.pick(ITERABLE), depth - 1)
        self.vars += [(key, "any"), (value, "any")]
        body = [f"some {key}, {value} in {source}"] + self.closure(self.number(0, 1), depth - 1)
        head = self.simple_head(kind, depth - 1)
        self.vars, self.can_bind = kept, bind
        return f"{{{self.pick([key, key, value, key])}: {head} | {'; '.join(body)}}}"

    def simple_head(self, kind, depth):
        """What a comprehension collects; a union in it would need parentheses."""
        chosen = self.variable(kind, depth) if self.chance(0.6) else None
        return chosen or self.term(kind, max(depth, 0))

    # --- statements ---

    def statements(self, count, depth):
        return [self.statement(depth) for _ in range(count)]

    def statement(self, depth):
        ways = [self.assignment] * 5 + [self.condition] * 4 + [self.iteration] * 4 + [self.negation] * 2 + [self.unification] * 2
        if depth > 0:
            ways += [self.membership, self.replacing, self.universal, self.walking, self.bare_reference, self.calling, self.declaration]
        text = self.pick(ways)(depth)
        if depth > 0 and self.chance(0.04):
            text += self.replacement(depth)
        return f"true; {text}" if text.startswith("-") else text        # or it would go on from the line before

    def assignment(self, depth):
        kind = self.pick(PLAIN_KINDS)
        name = self.fresh()
        text = f"{name} {':=' if self.chance(0.85) else '='} {self.term(kind, depth)}"
        self.vars.append((name, kind))
        return text

    def comparison(self, depth):
        kind = self.pick(["num", "num", "str", "any", "arr:num", "set:str", "obj:num"])
        signs = COMPARISONS if kind != "any" else COMPARISONS[1:]       # of two kinds == is a type error
        return f"{self.term(kind, depth)} {self.pick(signs)} {self.term(kind, depth)}"

    def condition(self, depth):
        """Mostly one that holds: a rule of many statements would never be defined otherwise."""
        roll = self.random.random()
        if roll < 0.2:
            return self.comparison(depth)
        if roll < 0.45:
            return f"{self.term('num', depth)} {self.pick(['!= 17', '< 1000000', '> -1000000', '>= -5', '<= 99'])}"
        if roll < 0.6:
            return self.term("str", depth) + self.pick([' != "nope"', " != input.s", ' != ""', " != null"])
        if roll < 0.7:
            return f"count({self.term('coll', depth)}) {self.pick(['>= 0', '> 0', '< 9', '!= 1'])}"
        if roll < 0.8:
            return f"is_{self.pick(['number', 'string', 'array', 'object', 'set', 'boolean', 'null'])}({self.term('any', depth)})"
        return self.term("bool", depth)

    def iteration(self, depth):
        kind = self.pick(ITERABLE)
        source = self.term(kind, depth)
        item = self.fresh("e")
        if self.chance(0.4):
            key = self.fresh("k")
            text = f"some {key}, {item} in {source}"
            self.vars.append((key, "num" if kind.startswith("arr") else "str" if kind in ("obj:num", "obj:str", "graph") else "any"))
        elif self.chance(0.12):
            other = self.fresh("e")
            text = f"some [{item}, {other}] in {self.pick(['[[1, 2], [3, 4]]', '{[1, 2], [2, 3, 4]}', 'input.mix', '[input.xs]'])}"
            self.vars.append((other, "any"))
            kind = "arr"
        else:
            text = f"some {item} in {source}"
        self.vars.append((item, ITEM.get(kind, "any")))
        return text

    def declaration(self, depth):
        """Variables that are declared first and found by a reference."""
        index, item = self.fresh("i"), self.fresh("w")
        field = self.pick(["xs", "ws", "o", "os", "nest", "recs", "mix"])
        kind = ITEM.get(FIELDS[field], "any")
        self.vars += [(index, "any"), (item, kind)]
        source = f"{self.pick(['input', 'data.base'])}.{field}[{index}]"
        return f"some {index}, {item}; " + self.pick([f"{item} = {source}", f"{source} = {item}", f"[{item}, {index}] = [{source}, _]"])

    def nested(self, make, depth):
        """Text whose new variables may not be seen outside."""
        kept, bind, self.can_bind = list(self.vars), self.can_bind, False
        text = make(depth)
        self.vars, self.can_bind = kept, bind
        return text

    def negation(self, depth):
        make = self.pick([self.comparison, lambda d: self.term("bool", d), lambda d: self.term("any", d), self.membership])
        return f"not {self.nested(make, depth)}"

    def membership(self, depth):
        if self.chance(0.3):
            return f"{self.term('any', 0)}, {self.term('any', 0)} in {self.term(self.pick(ITERABLE), depth)}"
        kind = self.pick(["num", "str"])
        item = self.term(kind, 0)
        if self.chance(0.5):
            return f"{item} in [{item}, {self.term('any', 0)}]"
        return f"{item} in {self.term(self.pick(['arr:' + kind, 'set:' + kind, 'obj:' + kind]), depth)}"

    def universal(self, depth):
        kept, bind = list(self.vars), self.can_bind
        kind = self.pick(ITERABLE)
        source = self.nested(lambda d: self.term(kind, d), depth)
        key, item = self.fresh("k"), self.fresh("e")
        names = item
        if self.chance(0.4):
            names = f"{key}, {item}"
            self.vars.append((key, "any"))
        self.vars.append((item, ITEM.get(kind, "any")))
        self.can_bind = True
        body = "; ".join([self.condition(depth - 1)] + self.closure(self.number(0, 1), depth - 1))
        self.vars, self.can_bind = kept, bind
        return f"every {names} in {source} {{ {body} }}"

    def unification(self, depth):
        a, b = self.fresh("u"), self.fresh("u")
        kind_a, kind_b = self.pick(PLAIN_KINDS), self.pick(PLAIN_KINDS)
        left, right = self.term(kind_a, depth - 1), self.term(kind_b, depth - 1)
        sign = self.pick(["=", "=", ":="])
        shapes = [(f"[{a}, {b}]", f"[{left}, {right}]"), (f"{{\"k\": {a}, \"l\": {b}}}", f"{{\"k\": {left}, \"l\": {right}}}"),
                  (f"[{a}, [{b}, _]]", f"[{left}, [{right}, 1]]"), (f"[{a}, _]", "input.xs"), (f"{{\"id\": {a}}}", f"{{\"id\": {left}}}")]
        if sign == "=":
            shapes += [(f"[{a}, [{b}, 1]]", f"[{left}, [{right}, 1]]"), (f"[{a}, {right}]", f"[{left}, {b}]"), (f"{{\"k\": [{a}, {{\"m\": {b}}}]}}", f"{{\"k\": [{left}, {{\"m\": {right}}}]}}"),
                       (f"[{left}, {b}]", f"[{a}, {a}]"), (f"[{a}, {b}]", "input.mix[_]"), (f"{{\"id\": {a}, \"name\": {b}, \"tags\": _, \"score\": _}}", "input.recs[_]")]
        first, second = self.pick(shapes)
        self.vars.append((a, kind_a if first.startswith(f"[{a}, {b}") else "any"))
        if b in first + second:
            self.vars.append((b, "any"))
        if sign == "=" and self.chance(0.3):
            first, second = second, first
        return f"{first} {sign} {second}"

    def walking(self, depth):
        a, b = self.fresh("path"), self.fresh("node")
        pattern = self.pick([f"[{a}, {b}]", f"[_, {b}]", f"[{a}, {b}]"])
        text = f"walk({self.term(self.pick(['obj', 'arr', 'any']), depth - 1)}, {pattern})"
        if a in pattern:
            self.vars.append((a, "arr"))
        self.vars.append((b, "any"))
        return text

    def bare_reference(self, depth):
        return self.reference(self.pick(["num", "str", "arr", "obj"]), depth) or "true"

    def calling(self, depth):
        """A call with its result as the last argument."""
        row = self.pick([row for row in BUILTINS if row[2] in ("num", "str", "arr", "any", "set")])
        name = self.fresh()
        arguments = ", ".join([self.argument(kind, depth - 1) for kind in row[1]] + [name])
        self.vars.append((name, row[2]))
        return f"{row[0]}({arguments})"

    # --- with ---

    def replacing(self, depth):
        make = self.pick([self.comparison, self.condition, self.assignment])
        return make(depth) + self.replacement(depth)

    def replacement(self, depth):
        texts = []
        bind, self.can_bind = self.can_bind, False
        for _ in range(1 if self.chance(0.75) else 2):
            name = self.pick(sorted(FIELDS))
            ways = [f"input.{name} as {self.term(FIELDS[name], depth - 1)}", f"data.base.{name} as {self.term(FIELDS[name], depth - 1)}",
                    f"input as {self.term('obj', depth - 1)}", f"input.new.deep as {self.term('any', depth - 1)}", "time.now_ns as 12345",
                    f"count as {self.number(0, 9)}", "upper as lower", f"data.base as {self.term('obj', depth - 1)}",
                    f"data.extra.x as {self.term('any', depth - 1)}", f"input.xs[0] as {self.term('num', 0)}"]
            if self.rules:
                rule = self.pick(self.rules)
                ways += [f"{rule.name} as {self.term(rule.kind if rule.kind != 'any' else 'num', depth - 1)}"] * 2
            if self.functions:
                function = self.pick(self.functions)
                other = [f for f in self.functions if len(f.args) == len(function.args)]
                ways += [f"{function.name} as {self.pick(other).name}", f"{function.name} as {self.term(function.kind, depth - 1)}"]
                if len(function.args) == 1:
                    ways += [f"{self.pick(['count', 'abs', 'lower', 'is_string', 'json.marshal'])} as {function.name}"]
            texts.append(self.pick(ways))
        self.can_bind = bind
        return "".join(f" with {text}" for text in texts)

    # --- rules ---

    def rule(self):
        """The statements of one rule. A variable that `some` declares and nobody uses would be a mistake."""
        statements = self.rule_statements()
        names = [re.findall(r"\b[ke]\d+\b", line) for lines in statements for line in lines]
        counts = collections.Counter(name for found in names for name in found)
        return [[re.sub(r"\b[ke]\d+\b", lambda m: "_" if counts[m.group()] == 1 else m.group(), line) for line in lines]
                for lines in statements]

    def rule_statements(self):
        self.vars, self.can_bind = [], True
        ways = [self.complete] * 5 + [self.partial_set] * 3 + [self.partial_object] * 3 + [self.function] * 3 + [self.ref_head] * 2
        return self.pick(ways)()

    def body(self, low=0, high=3):
        return self.statements(self.number(low, high), 2)

    @staticmethod
    def lines(head, body, before_else=""):
        if not body:
            return [f"{before_else}{head}"]
        return [f"{before_else}{head} if {{"] + ["\t" + text for text in body] + ["}"]

    def complete(self):
        name, kind = self.fresh("r"), self.pick(PLAIN_KINDS)
        out = []
        if self.chance(0.3):
            out.append([f"default {name} := {self.constant(kind)}"])
        clauses = 1 if self.chance(0.75) else 2
        shared = self.constant(kind) if clauses > 1 and self.chance(0.7) else None
        for _ in range(clauses):
            self.vars = []
            body = self.body(1 if clauses > 1 else 0)
            lines = self.lines(f"{name} {self.pick([':=', ':=', ':=', '='])} {shared or self.head_term(kind)}", body)
            while body and self.chance(0.3):
                self.vars = []
                body = self.body(0, 2)
                more = self.lines(f"else := {self.head_term(kind)}", body)
                lines[-1] += " " + more[0]
                lines += more[1:]
            out.append(lines)
        if self.chance(0.12):
            self.vars = []
            out = [self.lines(name, self.body(1))]
            kind = "bool"
        self.rules.append(Rule(f"data.{self.package}.{name}", kind))
        return out

    def head_term(self, kind):
        chosen = self.variable(kind, 0) if self.chance(0.6) else None
        return chosen or self.term(kind, 2)

    def constant(self, kind):
        kept, self.vars = self.vars, []
        shared, functions = self.rules, self.functions
        self.rules, self.functions, self.can_bind = [], [], False
        texts = {"num": self.pick(INTEGERS), "str": text_literal(self.pick(WORDS)), "bool": "false", "any": "null"}
        text = texts.get(kind) or {"arr": "[1, 2]", "set": "{1}", "obj": "{\"a\": 1}"}[kind[:3]]
        if kind.endswith(":str"):
            text = {"arr": "[\"x\"]", "set": "{\"x\"}", "obj": "{\"a\": \"x\"}"}[kind[:3]]
        self.vars, self.rules, self.functions, self.can_bind = kept, shared, functions, True
        return text

    def partial_set(self):
        name, kind = self.fresh("r"), self.pick(["num", "str", "any"])
        out = []
        for _ in range(self.number(1, 2)):
            self.vars = []
            body = [self.iteration(2)] + self.body(0, 2)
            out.append(self.lines(f"{name} contains {self.head_term(kind)}", body))
        self.rules.append(Rule(f"data.{self.package}.{name}", "set" if kind == "any" else f"set:{kind}"))
        return out

    def partial_object(self):
        name, kind = self.fresh("r"), self.pick(["num", "str", "any"])
        out = []
        for _ in range(self.number(1, 2)):
            self.vars = []
            key = self.fresh("k")
            item = self.fresh("e")
            body = [f"some {key}, {item} in {self.term(self.pick(ITERABLE), 2)}"]
            self.vars += [(key, "any"), (item, "any")]
            body += self.body(0, 2)
            out.append(self.lines(f"{name}[{key if self.chance(0.8) else self.head_term('str')}] := {self.head_term(kind)}", body))
        self.rules.append(Rule(f"data.{self.package}.{name}", "obj" if kind == "any" else f"obj:{kind}"))
        return out

    def ref_head(self):
        name = self.fresh("r")
        out = []
        key, item = self.fresh("k"), self.fresh("e")
        style = self.number(0, 4)
        for turn in range(self.number(1, 3)):
            self.vars = []
            body = [f"some {key}, {item} in {self.term(self.pick(ITERABLE), 2)}"]
            self.vars += [(key, "any"), (item, "any")]
            body += self.body(0, 1)
            value = self.head_term("any")
            if style == 0:
                self.vars = []
                out.append(self.lines(f"{name}.{self.pick(['a', 'b', 'c'])}{turn}.x := {self.head_term('any')}", self.body(0, 2)))
            elif style == 1:
                out.append(self.lines(f"{name}.{self.pick(['a', 'b'])}[{key}] := {value}", body))
            elif style == 2:
                out.append(self.lines(f"{name}[{key}].x contains {value}", body))
            elif style == 3:
                second = self.pick(['"y"', item, '"z"', key])
                out.append(self.lines(f"{name}[{key}][{second}] := {value}", body))
            else:
                out.append(self.lines(f"{name}.s{turn} contains {value}", body))
        self.rules.append(Rule(f"data.{self.package}.{name}", "obj"))
        return out

    def function(self):
        name, kind = self.fresh("f"), self.pick(["num", "str", "bool", "any", "arr", "obj"])
        kinds = [self.pick(["num", "str", "any", "arr", "obj"]) for _ in range(self.number(1, 3))]
        out = []
        for _ in range(self.number(1, 2)):
            self.vars = []
            heads = []
            for of in kinds:
                arg = self.fresh("x")
                roll = self.random.random()
                if roll < 0.12:
                    heads.append(self.constant(of))
                elif roll < 0.18:
                    heads.append("_")
                elif roll < 0.26 and of in ("arr", "any"):
                    other = self.fresh("x")
                    heads.append(f"[{arg}, {other}]")
                    self.vars += [(arg, "any"), (other, "any")]
                elif roll < 0.32 and of in ("obj", "any"):
                    heads.append(f"{{\"a\": {arg}}}")
                    self.vars.append((arg, "any"))
                else:
                    heads.append(arg)
                    self.vars.append((arg, of))
            arguments = list(self.vars)
            body = self.body(0, 2)
            lines = self.lines(f"{name}({', '.join(heads)}) := {self.head_term(kind)}", body)
            while body and self.chance(0.25):
                self.vars = list(arguments)
                body = self.body(0, 2)
                more = self.lines(f"else := {self.head_term(kind)}", body)
                lines[-1] += " " + more[0]
                lines += more[1:]
            out.append(lines)
        if self.chance(0.15):
            out.insert(0, [f"default {name}({', '.join(['_'] * len(kinds))}) := {self.constant(kind)}"])
        self.functions.append(Rule(f"data.{self.package}.{name}", kind, kinds))
        return out

    # --- documents ---

    def json_number(self):
        text = self.pick(INTEGERS if self.chance(0.7) else NUMBERS if self.chance(0.8) else LARGE)
        return RawNumber(text)

    def json_of(self, kind):
        if self.chance(0.03):
            kind = self.pick(PLAIN_KINDS)
        if kind == "num":
            return self.json_number()
        if kind == "str":
            return self.pick(WORDS)
        if kind == "bool":
            return self.chance(0.6)
        if kind in ("arr:num", "set:num"):
            return [self.json_number() for _ in range(self.number(0, 4))]
        if kind in ("arr:str", "set:str"):
            return [self.pick(WORDS) for _ in range(self.number(0, 4))]
        if kind == "obj:num":
            return {key: self.json_number() for key in ["a", "b", "c"][:self.number(0, 3)]}
        if kind == "obj:str":
            return {key: self.pick(WORDS) for key in ["a", "b", "c"][:self.number(0, 3)]}
        if kind == "obj":
            return {key: {"x": self.json_number(), "y": self.json_number()} for key in ["a", "b", "c"][:self.number(0, 3)]}
        if kind == "arr:obj":
            return [{"id": self.json_number(), "name": self.pick(WORDS), "score": self.json_number(),
                     "tags": [self.pick(WORDS) for _ in range(self.number(0, 2))]} for _ in range(self.number(0, 3))]
        if kind == "graph":
            names = ["a", "b", "c", "d"]
            return {name: [self.pick(names) for _ in range(self.number(0, 2))] for name in names}
        return self.pick([None, True, RawNumber("1"), "x", [RawNumber("1"), "a"], {"a": None}, [[RawNumber("1"), RawNumber("2")], []], {}])

    def document(self):
        fields = {name: self.json_of(kind) for name, kind in FIELDS.items() if not self.chance(0.06)}
        if "mix" in fields:
            fields["mix"] = [self.json_of(self.pick(PLAIN_KINDS)) for _ in range(self.number(0, 4))]
        if "e" in fields and self.chance(0.8):
            fields["e"] = []
        return fields

    # --- a whole case ---

    def case(self, index_text):
        modules = []
        packages = self.pick([["p"], ["p"], ["p"], ["p", "q"], ["p", "q.sub"], ["p", "base.made"]])
        for package in packages:
            self.package, self.aliases = package, {}
            imports = [self.pick_import()] if package != "p" and self.chance(0.5) else []
            statements = []
            for _ in range(self.number(2, 5)):
                statements += self.rule()
            if self.chance(0.2):
                self.random.shuffle(statements)
            modules.append([[f"package {package}"]] + imports + statements)
        strict = self.chance(STRICT_SHARE)
        case = {"id": index_text, "modules": modules, "data": {"base": self.document()}, "queries": self.queries(packages),
                "inputs": [self.document() for _ in range(2)], "strict": strict, "now_ns": NOW_NS, "fault": None}
        if self.chance(0.05):
            case["inputs"][1] = None
        if self.chance(FAULT_SHARE):
            add_fault(self, case)
        return case

    def pick_import(self):
        """One of the first package, by its name or by another."""
        alias = self.pick(["p", "first"])
        self.aliases = {"data.p": alias}
        return ["import data.p" if alias == "p" else f"import data.p as {alias}"]

    def queries(self, packages):
        found = [rule.name for rule in self.rules]
        for rule in self.rules:
            if rule.kind[:3] in ("set", "obj", "arr") and self.chance(0.2):
                found.append(f"{rule.name}[x]")
            if rule.kind[:3] in ("set", "obj") and self.chance(0.15):
                key = self.pick(['"a"', "1", '"x"', "input.s", "0"])
                found.append(f"{rule.name}[{key}]")
        self.vars, self.rules, self.can_bind, self.package, self.aliases = [], [], False, "none", {}
        for function in self.functions:
            found.append(f"{function.name}({', '.join(self.term(kind, 1) for kind in function.args)})")
        found.append(self.pick([f"data.{package}" for package in packages] + ["data.p[x]", "x := data.p; y := count(x)", "data"]))
        return found


class RawNumber:
    """A number that JSON shows as it was written."""

    def __init__(self, text):
        self.text = text


def json_text(value):
    if isinstance(value, RawNumber):
        return value.text
    if isinstance(value, list):
        return f"[{', '.join(json_text(item) for item in value)}]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{text_literal(key)}: {json_text(item)}" for key, item in value.items()) + "}"
    return json.dumps(value, ensure_ascii=False)


def generate(seed, index):
    return Generator(seed, index).case(f"{seed}:{index}")


def module_text(statements):
    return "\n\n".join("\n".join(lines) for lines in statements) + "\n"


def case_line(case):
    """The case as both programs read it."""
    sent = {key: case[key] for key in ("id", "data", "queries", "inputs", "strict", "now_ns", "plain", "every", "read") if key in case}
    sent["modules"] = [module_text(statements) for statements in case["modules"]]
    return json_text(sent)
