"""explained - the differences that are known and meant, by precise rules.

explain(difference) is the name of the reason, as docs/policy.md has it under "Where Maestro differs from OPA", or None.
"""

import re
from decimal import Decimal

from minimise import groups

REASONS = []


def reason(name):
    def register(function):
        REASONS.append((name, function))
        return function
    return register


def explain(difference):
    for name, holds in REASONS:
        if holds(difference):
            return name
    return None


def failed(outcome):
    return "errors" in outcome


def codes(outcome):
    return sorted({error["code"] for error in outcome.get("errors", [])})


def texts(outcome):
    return " ".join(error["text"] for error in outcome.get("errors", []))


def replaced(value, change):
    """The value with `change` applied to each object in it, inside first."""
    if isinstance(value, list):
        return [replaced(item, change) for item in value]
    if isinstance(value, dict):
        return change({key: replaced(item, change) for key, item in value.items()})
    return value


def lines_of(d):
    return [line for module in d.case["modules"] for lines in module for line in lines] + d.case["queries"]


def agrees(d, **question):
    """OPA answers as Maestro does where it is asked otherwise."""
    return d.alike(d.ours, d.ask(**question))


@reason("OPA's index")
def index_decides(d):
    """OPA passes over rules by its index, and ends early; both change what it answers, errors for the most part."""
    return bool(d.query) and agrees(d, plain=True)


@reason("`not true` as a body")
def true_bodies(d):
    """OPA loses a body that is nothing but `not true` or `true with ...`."""
    pattern = r"\bnot true\b|\btrue(?= with )"
    if not any(re.search(pattern, line) for line in lines_of(d)):
        return False
    return agrees(d, plain=True, rewrite=lambda line: re.sub(pattern, lambda m: m.group().replace("true", "1 == 1"), line))


@reason("functions replaced for `every`")
def every_with(d):
    """OPA refuses `every ... { ... } with f as ...` where f is a function."""
    found = re.findall(r"function (\S+) used as reference, not called", texts(d.theirs))
    return bool(found) and not failed(d.ours) and all(
        any(re.search(r"\bevery\b.* with .*\b" + re.escape(name.split(".")[-1]) + r"\b", line) for line in lines_of(d)) for name in found)


@reason("types of a replaced input")
def input_types(d):
    """OPA derives the type of `input` from what `with` puts there, and refuses more; it does not where that goes elsewhere."""
    if d.query or failed(d.ours) or not any(" with input" in line for line in lines_of(d)):
        return False
    return agrees(d, rewrite=lambda line: line.replace(" with input", " with data.elsewhere"))


@reason("packages of nothing but functions")
def functions_alone(d):
    """`data.p[x]` is a type error in OPA where p has functions alone; in Maestro it is undefined."""
    is_whole = re.fullmatch(r"data\.[a-z.]+\[x\]", d.query or "")
    return bool(is_whole) and "match error" in texts(d.theirs) and not failed(d.ours) and "answers" not in d.ours


@reason("functions of which the result is known")
def known_result(d):
    """Where the result of a function is known before the call, OPA looks for that result alone and notices no conflict."""
    whole = re.fullmatch(r"(.*)\[([^\]]*)\]", d.query or "")
    if not whole or "functions must not" not in texts(d.ours):
        return False
    return agrees(d, plain=True, query=f"whole := {whole.group(1)}; whole[{whole.group(2)}]")


@reason("texts that are no JSON numbers")
def loose_numbers(d):
    """OPA's to_number keeps the text it was given, `5.` or `1_0`, which then is a number that JSON cannot hold."""
    def plain(text):
        text = re.sub(r"^(-?)0+(?=\d)", r"\1", text.replace("_", "").lstrip("+").removesuffix("."))
        return "0" + text if text.startswith(".") else text

    def plain_number(found):
        return d.number(plain(found["$number"])) if list(found) == ["$number"] else found
    if failed(d.ours):
        return False
    if "$number" in str(d.theirs):
        return d.alike(d.ours, replaced(d.theirs, plain_number))
    pattern = r'\bto_number\("([+._0-9]+)"\)'
    return any(re.search(pattern, line) for line in lines_of(d)) and agrees(
        d, plain=True, rewrite=lambda line: re.sub(pattern, lambda m: f'to_number("{plain(m.group(1))}")', line))


@reason("keys that OPA keeps twice")
def repeated_keys(d):
    """An object of OPA may come to hold the same key twice, with equal values: `{"b": 1, input.s: 1}`."""
    def once(found):
        if list(found) != ["$object"]:
            return found
        pairs = found["$object"]
        return {"$object": [pair for at, pair in enumerate(pairs) if pair not in pairs[:at]]}
    if failed(d.ours) or failed(d.theirs):
        return False
    if any(re.search(r"[{,] *(input\.\w+|[a-z]\w*): ", line) for line in lines_of(d)) and "answers" in d.theirs:
        answers = d.theirs["answers"]
        if d.alike(d.ours, {"answers": [one for at, one in enumerate(answers) if one not in answers[:at]]}):
            return True
    return "$object" in str(d.theirs) and d.alike(d.ours, replaced(d.theirs, once))


@reason("sets that are written with variables")
def written_sets(d):
    """OPA goes through a set that a policy writes, `{7, x}`, by its terms and not by its values: in another order, and
    through equal ones twice; it also knows less of their types. In `({7, x} | set())` it goes by the values."""
    if all(line == with_made_sets(line) for line in lines_of(d)):
        return False
    return agrees(d, plain=True, rewrite=with_made_sets, query=d.query and with_made_sets(d.query))


def outside(text):
    """The text without what stands in brackets."""
    while (shorter := re.sub(r"\([^()\[\]{}]*\)|\[[^()\[\]{}]*\]|\{[^()\[\]{}]*\}", "", text)) != text:
        text = shorter
    return text


def with_made_sets(line):
    at = len(line)
    while True:
        begin, end, parts = max(((b, e, p) for b, e, p in groups(line) if b < at), default=(-1, 0, []))
        if begin < 0:
            return line
        at = begin
        items = [re.sub(r"\"(\\.|[^\"])*\"|`[^`]*`", "", line[start:stop]) for start, stop in parts]
        is_list = all(line[stop] in ",}" for _, stop in parts) and not any(":" in outside(item) for item in items)
        is_term = re.search(r"(^|\bin|[(,\[{:=|&<>-])\s*$", line[:begin])
        is_open = any(re.search(r"[a-z_]", re.sub(r"\b(true|false|null|set\(\))", "", item)) for item in items)
        if line[begin] == "{" and is_list and is_term and is_open:
            line = f"{line[:begin]}({line[begin:end]} | set()){line[end:]}"


@reason("variables in templates")
def template_variables(d):
    """OPA refuses a variable in a template that gets its values by going through something written with variables,
    `some e in [input.xs[i]]`, and knows nothing of the types of variables in templates. Without templates both agree."""
    if not any('$"' in line for line in lines_of(d)):
        return False
    if "is undeclared" not in texts(d.theirs) and (failed(d.theirs) or codes(d.ours) != ["rego_type_error"]):
        return False
    return agrees(d, rewrite=lambda line: re.sub(r"\$\"(\\.|[^\"\\])*\"", '"t"', line))


@reason("equal numbers in sets that are written with variables")
def written_numbers(d):
    """Of 1 and 1.0 in one set the first stays; in a set that a policy writes with variables, which one is the first depends on
    the names that OPA gives them."""
    if failed(d.ours) or failed(d.theirs) or all(line == with_made_sets(line) for line in lines_of(d)):
        return False
    return d.alike(plain_numbers(d.ours), plain_numbers(d.theirs))


def plain_numbers(value):
    if isinstance(value, list):
        return [plain_numbers(item) for item in value]
    if isinstance(value, dict):
        return {key: plain_numbers(item) for key, item in value.items()}
    return type(value)(f"{Decimal(value).normalize():f}") if type(value).__name__ == "Number" else value


@reason("the order of evaluation")
def order(d):
    """A body has something that fails and something that is undefined, or two things that fail; whichever is evaluated first
    decides. Where the one that failed stands in a rule, the other engine fails there too when asked for that rule alone."""
    if all(code.startswith("eval_") for code in codes(d.ours) + codes(d.theirs)) and failed(d.ours) and failed(d.theirs):
        return d.case["strict"]
    for outcome, other, ask in ((d.ours, d.theirs, lambda q: d.ask(plain=True, query=q)), (d.theirs, d.ours, d.ask_maestro)):
        error = outcome["errors"][0] if failed(outcome) else {"code": ""}
        rule = d.rule_at(error) if error["code"].startswith("eval_") else None
        alone = ask(rule) if rule else None
        if alone and failed(alone) and alone["errors"][0]["code"] == error["code"]:
            return True
    return False


@reason("what is wrong with a variable")
def variable_mistakes(d):
    """Both refuse the same variable, one because it is unsafe, the other because it is named before it is declared, or never."""
    pattern = r"var (\w+) (?:is unsafe|is undeclared|assigned before|referenced above|declared above)"
    ours, theirs = (set(re.findall(pattern, texts(outcome))) for outcome in (d.ours, d.theirs))
    return bool(ours & theirs) and set(codes(d.ours) + codes(d.theirs)) <= {"rego_unsafe_var_error", "rego_compile_error"}


@reason("targets of `with` that have variables")
def with_variables(d):
    """`with input[x] as ...` is refused by both: here for its path, there because x is unsafe."""
    return ("with keyword target must reference" in texts(d.ours) and "is unsafe" in texts(d.theirs)
            and any(re.search(r" with (input|data)\S*\[[a-z]\w*\]", line) for line in lines_of(d)))


@reason("unsafe variables in `with`")
def with_unsafe(d):
    """Behind an expression that holds a comprehension OPA does not notice that the value of `with` has an unsafe variable."""
    if codes(d.ours) != ["rego_unsafe_var_error"] or failed(d.theirs):
        return False
    found = set(re.findall(r"var (\w+) is unsafe", texts(d.ours)))
    return any(re.search(r" \| .* with .* as .*\b" + name + r"\b", line) for name in found for line in lines_of(d))


@reason("OPA stops with a panic")
def panics(d):
    return codes(d.theirs) == ["panic"] and codes(d.ours) == []


@reason("types of constants")
def constant_types(d):
    """Maestro knows the type of a variable that was assigned a constant where OPA has lost it, and refuses a reference that is
    undefined in OPA."""
    return bool(d.query) and codes(d.ours) == ["rego_type_error"] and "undefined ref" in texts(d.ours) and d.theirs == {}
