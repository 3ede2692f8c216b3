"""explained - the differences that are known and meant, by precise rules.

explain(difference) is the name of the reason, as docs/policy.md has it under "Where Maestro differs from OPA", or None.
"""

import re
from decimal import Decimal

from grammar import RawNumber
from minimise import groups

REASONS = []


def reason(name):
    def register(function):
        REASONS.append((name, function))
        return function
    return register


def explain(difference):
    return explain_once(difference) or explain_twice(difference)


def explain_once(difference):
    for name, holds in REASONS:
        if holds(difference):
            return name
    return None


def explain_twice(d):
    """A difference of two reasons: OPA answers otherwise where the policy is written without the one, and the other explains
    what is left."""
    for name, rewrite in REWRITES if d.query else REWRITES + COMPILING_REWRITES:
        if all(line == rewrite(line) for line in lines_of(d)):
            continue
        again = d.again(rewrite)
        if d.alike(d.theirs, again.theirs) and texts(d.theirs) == texts(again.theirs):
            continue
        if explain_once(again):
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
    """OPA passes over rules by its index, and ends early; both change what it answers, errors for the most part. Its index also
    loses rules that hold, `r if input.k in [input.j, 3]`, while another rule would fail if it did not end early."""
    return bool(d.query) and (agrees(d, plain=True) or agrees(d, every=True))


@reason("data as arguments")
def lazy_documents(d):
    """OPA gives builtins objects of its store that are not yet read, with which json.filter fails. Where the store has been read
    it does not."""
    return bool(d.query) and any("json.filter(" in line for line in lines_of(d)) and agrees(d, plain=True, read=True)


@reason("`not true` as a body")
def true_bodies(d):
    """OPA loses a body that is nothing but `not true` or `true with ...`."""
    if all(line == with_tested_truth(line) for line in lines_of(d)):
        return False
    return any(agrees(d, plain=plain, rewrite=with_tested_truth) for plain in (True, False))


def with_tested_truth(line):
    pattern = r"\bnot true\b|(?:(?<=^\t)|(?<=[;|{] ))true(?= with )"
    return re.sub(pattern, lambda m: m.group().replace("true", "1 == 1"), line)


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
    return agrees(d, rewrite=with_input_elsewhere)


def with_input_elsewhere(line):
    return line.replace(" with input", " with data.elsewhere")


@reason("packages of nothing but functions")
def functions_alone(d):
    """`data.p[x]` is a type error in OPA where p has functions alone; in Maestro it is undefined."""
    return is_package_scan(d) and "answers" not in d.ours


@reason("packages of functions and little else")
def functions_beside(d):
    """`data.p[x]` is a type error in OPA, too, where p has several functions beside its rules, with some combinations of types.
    What Maestro finds there is what OPA has in `data.p`."""
    if not is_package_scan(d) or not any(re.match(r"[a-z]\w*\(", line) for line in lines_of(d)):
        return False
    values = [answer["values"][0] for answer in d.ask(plain=True, query=d.query.removesuffix("[x]")).get("answers", [])]
    if len(values) != 1 or not isinstance(values[0], dict):
        return False
    return d.alike(d.ours, {"answers": [{"bindings": {"x": key}, "values": [value]} for key, value in values[0].items()
                                        if value is not False]})


def is_package_scan(d):
    """OPA alone refuses `data.p[x]`, for its types."""
    is_scan = re.fullmatch(r"data\.[a-z.]+\[x\]", d.query or "")
    return bool(is_scan) and "match error" in texts(d.theirs) and not failed(d.ours)


@reason("functions of which the result is known")
def known_result(d):
    """Where the result of a function is known before the call, OPA looks for that result alone: it passes over the bodies that
    give another, and notices no conflict, between them or inside of them."""
    whole = re.fullmatch(r"(.*)\[([^\]]*)\]", d.query or "")
    if not whole or codes(d.ours) != ["eval_conflict_error"] or not any(re.match(r"f\d+\(", line) for line in lines_of(d)):
        return False
    return agrees(d, plain=True, query=f"whole := {whole.group(1)}; whole[{whole.group(2)}]")


@reason("texts that are no JSON numbers")
def loose_numbers(d):
    """OPA's to_number keeps the text it was given, `5.` or `1_0`, which then is a number that JSON cannot hold."""
    def plain(text):
        text = re.sub(r"^(-?)0+(?=\d)", r"\1", text.replace("_", "").lstrip("+").removesuffix("."))
        return "0" + text if text.startswith(".") else text

    def plain_found(found):
        return d.number(plain(found["$number"])) if list(found) == ["$number"] else found
    if failed(d.ours):
        return False
    if "$number" in str(d.theirs) and any(d.alike(d.ours, replaced(found, plain_found)) for found in (d.theirs, d.ask(plain=True))):
        return True
    pattern = r'\bto_number\("([+._0-9]+)"\)'
    return any(re.search(pattern, line) for line in lines_of(d)) and agrees(
        d, plain=True, rewrite=lambda line: re.sub(pattern, lambda m: f'to_number("{plain(m.group(1))}")', line))


@reason("objects that are written with variables")
def written_objects(d):
    """OPA goes through an object that a policy writes with computed keys, `{"b": 1, input.s: 2}`, by its terms: in another order,
    and where two keys are equal it has both, finds the one and shows the other. As a comprehension the object is a value, or has
    a conflict, which tells that keys are equal."""
    conflict = "object keys must be unique"
    if all(line == with_made_objects(line) for line in lines_of(d)) or conflict in texts(d.theirs):
        return False
    other = d.ask(plain=True, rewrite=with_made_objects, query=d.query and with_made_objects(d.query))
    return d.alike(d.ours, other) or conflict in texts(other)


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


def plain_text(text):
    """The text without its strings and without words that are constants."""
    return re.sub(r"\"(\\.|[^\"])*\"|`[^`]*`|\b(true|false|null|set\(\))", "", text)


def in_templates(line, change):
    """The line with `change` applied to what stands in the braces of its templates."""
    def expressions(text):
        found, depth, begin = "", 0, 0
        for at, char in enumerate(text):
            if char == "{" and (depth or text[at - 1:at] != "\\"):
                depth += 1
                if depth == 1:
                    found, begin = found + text[begin:at + 1], at + 1
            elif char == "}" and depth:
                depth -= 1
                if not depth:
                    found, begin = found + change(text[begin:at]), at
        return found + text[begin:]
    return re.sub(r'(?<=\$")(?:\\.|[^"\\])*(?=")', lambda m: expressions(m.group()), line)


def with_made(line, make):
    """The line with what `make` has for its braces, the last ones first: by their place, text and items."""
    line = in_templates(line, lambda text: with_made(text, make))
    at = len(line)
    while True:
        begin, end, parts = max(((b, e, p) for b, e, p in groups(line) if b < at), default=(-1, 0, []))
        if begin < 0:
            return line
        at = begin
        is_list = all(line[stop] in ",}" for _, stop in parts)
        is_term = re.search(r"(^|\bin|[(,\[{:=|&<>-])\s*$", line[:begin])
        if line[begin] == "{" and is_list and is_term:
            line = line[:begin] + make(begin, line[begin:end], [line[start:stop] for start, stop in parts]) + line[end:]


def is_open(text):
    """Whether it has to be evaluated: it has names or operators."""
    return bool(re.search(r"[a-z_]| [-+*/%&|<>=!]+ ", plain_text(text)))


def with_made_sets(line):
    def make(_, text, items):
        is_set = not any(":" in outside(plain_text(item)) for item in items)
        return f"({text} | set())" if is_set and any(is_open(item) for item in items) else text
    return with_made(line, make)


def with_made_objects(line):
    def make(begin, text, items):
        pairs = [split_pair(item) for item in items]
        if not all(pairs) or not any(is_open(key) for key, _ in pairs):
            return text
        listed = ", ".join(f"[{key}, {value}]" for key, value in pairs)
        return f"[{{key{begin}: value{begin} | some [key{begin}, value{begin}] in [{listed}]}}, [{listed}]][0]"
    return with_made(line, make)


def split_pair(item):
    """Key and value of an item of an object; None for anything else."""
    hidden = outside_kept(item)
    at = hidden.find(":")
    return (item[:at].strip(), item[at + 1:].strip()) if at >= 0 and hidden[at + 1:at + 2] != "=" else None


@reason("variables in templates")
def template_variables(d):
    """OPA refuses a variable in a template that gets its values by going through something written with variables,
    `some e in [input.xs[i]]`, and knows nothing of the types of variables in templates. Without templates both agree."""
    if not any('$"' in line for line in lines_of(d)):
        return False
    if "is undeclared" not in texts(d.theirs) and (failed(d.theirs) or codes(d.ours) != ["rego_type_error"]):
        return False
    return agrees(d, rewrite=without_templates)


def without_templates(line):
    return re.sub(r"\$\"(\\.|[^\"\\])*\"", '"t"', line)


@reason("equal numbers in sets that are written with variables")
def written_numbers(d):
    """Of 1 and 1.0, or 0 and -0, in one set the first stays; in a set that a policy writes with variables, which one is the first
    depends on the names that OPA gives them. Both agree where the set is made of a list."""
    if failed(d.ours) or failed(d.theirs) or all(line == with_listed_sets(line) for line in lines_of(d)):
        return False
    if not d.alike(plain_numbers(d.ours), plain_numbers(d.theirs)):
        return False
    again = d.again(with_listed_sets)
    return d.alike(again.ours, again.theirs)


def with_listed_sets(line):
    def make(begin, text, items):
        is_set = not any(":" in outside(plain_text(item)) for item in items)
        return f"{{e{begin} | some e{begin} in [{text[1:-1]}]}}" if is_set and any(is_open(item) for item in items) else text
    return with_made(line, make)


def plain_numbers(value):
    if isinstance(value, list):
        return [plain_numbers(item) for item in value]
    if isinstance(value, dict):
        return {key: plain_numbers(item) for key, item in value.items()}
    if isinstance(value, RawNumber):
        return RawNumber(plain_number(value.text))
    return type(value)(plain_number(value)) if type(value).__name__ == "Number" else value


def plain_number(text):
    return f"{Decimal(text).normalize() + 0:f}"


@reason("equal results of a function")
def function_numbers(d):
    """A function that gives 1000 and 1e3 has no conflict; a call in OPA gets the first one, and those behind it the last one.
    Where each number is written in one way only, both agree."""
    calls = [line for line in lines_of(d) if re.search(r"(?<!^)\bf\d+\(", line)]
    if failed(d.ours) or failed(d.theirs) or not calls or not d.alike(plain_numbers(d.ours), plain_numbers(d.theirs)):
        return False
    for rewrite in (with_plain_numbers, with_added_zero):
        again = d.again(rewrite, plain_numbers)
        if d.alike(again.ours, again.theirs):
            return True
    return False


def with_added_zero(line):
    """The line of a function that gives a number: -0 becomes 0."""
    return re.sub(r"^(f\d+\(.*?\) :?= )(.+?)( if \{)?$", r"\1(\2) + 0\3", line)


def with_plain_numbers(line):
    return re.sub(r"(?<![\w.\"'-])\d+(?:\.\d+)?(?:[eE]-?\d+)?(?![\w.])", lambda m: plain_number(m.group()), line)


@reason("dates beyond the calendar")
def far_dates(d):
    """`time.add_date` of more years, months or days than OPA can count begins anew at the other end; not where the numbers are
    kept within a billion."""
    if not any("time.add_date(" in line for line in lines_of(d)):
        return False
    return any(agrees(d, plain=plain, rewrite=with_near_dates, query=d.query and with_near_dates(d.query)) for plain in (True, False))


def with_near_dates(line):
    """The line with the years, months and days of its calls of time.add_date kept within bounds."""
    at = len(line)
    while (begin := line.rfind("time.add_date(", 0, at)) >= 0:
        at = begin
        _, end, parts = min(((b, e, p) for b, e, p in groups(line) if b > begin), default=(0, 0, []))
        if not parts:
            continue
        args = [line[start:stop].strip() for start, stop in parts]
        near = [args[0]] + [f"max([-1000000000, min([1000000000, {arg}])])" for arg in args[1:]]
        line = f"{line[:begin]}time.add_date({', '.join(near)}){line[end:]}"
    return line


@reason("the order of evaluation")
def order(d):
    """A body has something that fails and something that is undefined, or two things that fail; whichever is evaluated first
    decides. Where builtins that fail are undefined, in no strict mode, nothing is left of it unless it is a conflict; where
    one program alone fails, the other one fails, too, when asked for the rule in which that happened."""
    if not failed(d.ours) and not failed(d.theirs):
        return False
    is_builtin = set(codes(d.ours) + codes(d.theirs)) != {"eval_conflict_error"}
    if d.case["strict"] and is_builtin and not d.alike(*(d.ask(program, plain=True, strict=False) for program in (0, 1))):
        return False
    plain = d.ask(plain=True)
    if failed(d.ours) and failed(plain):
        return d.case["strict"] and place_of(d.ours) != place_of(plain)
    is_ours = failed(d.ours)
    error = (d.ours if is_ours else d.theirs)["errors"][0]
    rule = d.rule_at(error) if error["code"].startswith("eval_") else None
    found = codes(d.ask(1 if is_ours else 0, plain=True, query=rule)) if rule else []
    # It may fail in several ways.
    may_vary = d.case["strict"] and is_builtin and bool(found) and all(code.startswith("eval_") for code in found)
    return error["code"] in found or may_vary


def place_of(outcome):
    """The line and the function in which it failed."""
    error = outcome["errors"][0]
    return error["file"], int(error["row"]), error["text"].split(":")[0]


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


@reason("unsafe variables beside comprehensions")
def unsafe_beside(d):
    """In an expression that holds a comprehension OPA does not notice an unsafe variable, and may go on to its types. Without the
    comprehension it does."""
    if codes(d.ours) != ["rego_unsafe_var_error"] or not set(codes(d.theirs)) <= {"rego_type_error", "rego_recursion_error"}:
        return False
    found = unsafe_names(d.ours) - {"_"}
    return agrees(d, rewrite=lambda line: without_comprehensions(line, found) if found & names_in(line) else line)


@reason("indexes beside comprehensions")
def index_beside(d):
    """OPA refuses a variable, though it is safe, in an expression where it is an index and stands in a comprehension, too:
    `input.o[k] == [k | true]`. Where the index is written otherwise both agree."""
    found = unsafe_names(d.theirs)
    if not found or codes(d.theirs) != ["rego_unsafe_var_error"] or found & unsafe_names(d.ours):
        return False
    pattern = r"(?<=[\w\]])\[(" + "|".join(sorted(found)) + r")\]"
    return agrees(d, rewrite=lambda line: re.sub(pattern, r'[{"is": \1}.is]', line) if " | " in line else line)


@reason("indexes beside calls")
def index_beside_call(d):
    """OPA refuses a variable that is an index and stands in a call of the same expression, `[k + 1, input.o[k]]`, though the index
    gives it its values, as it does in `k + 1 = input.o[k]`. Where the reference stands before the expression as well, both agree."""
    found = unsafe_names(d.theirs)
    if d.query or codes(d.theirs) != ["rego_unsafe_var_error"] or not found or found & unsafe_names(d.ours):
        return False
    pattern = r"\b(?:input|data)[\w.]*\[(?:" + "|".join(sorted(found)) + r")\]"
    changed = [line for line in lines_of(d) if re.match(r"\t\w", line) and re.search(pattern, line)]
    return bool(changed) and agrees(d, rewrite=lambda line: (
        f"\t{'; '.join(re.findall(pattern, line))}; {line[1:]}" if line in changed else line))


def unsafe_names(outcome):
    return set(re.findall(r"var (\w+) is unsafe", texts(outcome)))


def names_in(line):
    return set(re.findall(r"\w+", line))


def without_comprehensions(line, names):
    """The line with an empty array for each comprehension that has none of the names."""
    while True:
        found = [(begin, end) for begin, end, parts in groups(line)
                 if line[begin] in "[{" and line[parts[0][1]] == "|" and not names & names_in(line[begin:end])]
        if not found:
            return line
        begin, end = max(found)
        line = f"{line[:begin]}[]{line[end:]}"


@reason("OPA stops with a panic")
def panics(d):
    return codes(d.theirs) == ["panic"] and codes(d.ours) == []


@reason("types of constants")
def constant_types(d):
    """Maestro knows the type of a variable that was assigned a constant where OPA has lost it, and refuses what never holds. Where
    the constant itself is written OPA refuses it, too."""
    if codes(d.ours) != ["rego_type_error"] or failed(d.theirs):
        return False
    pattern = r"\b(v\d+) := (\"(?:\\.|[^\"\\])*\"|`[^`]*`|-?[0-9.]+|true|false|null)(?: with .*)?$"
    known = dict(pair for line in lines_of(d) for pair in re.findall(pattern, line))
    return bool(known) and agrees(d, rewrite=lambda line: line if re.search(pattern, line) else re.sub(
        r"\bv\d+\b", lambda m: known.get(m.group(), m.group()), line))


@reason("types that other rules change")
def changed_types(d):
    """Where a rule gives what another one gives, `r2 := r1`, OPA may change the type of the other, too, and take for possible
    what never holds. Without the rules that the question does not need it refuses it."""
    return bool(d.query) and codes(d.ours) == ["rego_type_error"] and d.theirs == {} and agrees(d, alone=True)


@reason("comprehensions inside comprehensions")
def nested_comprehensions(d):
    """OPA looks at the types of a comprehension inside another one a second time, without what the outer one says of its
    variables, and refuses `{1 | some e in data.xs; [2 | 1 in {"k": e, "a": "x"}]}`. Where the outer one is written as a
    body it does not."""
    if set(codes(d.theirs)) != {"rego_type_error"} or failed(d.ours):
        return False
    return any(line != as_body(line) for line in lines_of(d)) and agrees(d, rewrite=as_body)


def as_body(line):
    """The line with the outermost comprehensions that hold others as expressions before it."""
    while True:
        found = [(begin, end, parts[0]) for begin, end, parts in groups(line) if line[begin] in "[{" and line[parts[0][1]] == "|"]
        outer = [one for one in found if any(one[0] < begin and end <= one[1] for begin, end, _ in found)]
        if not outer:
            return line
        begin, end, (start, stop) = min(outer)
        body, value = line[stop + 1:end - 1].strip(), line[begin] + line[start:stop].strip() + line[end - 1]
        if line.startswith("\t"):
            line = f"\t{body}; {line[1:begin]}{value}{line[end:]}"
        elif line.endswith("{") and begin < len(line) - 1:
            line = f"{line[:begin]}{value}{line[end:]} {body}"
        elif " if " not in line:
            line = f"{line[:begin]}{value}{line[end:]} if {{ {body} }}"
        else:
            return line


@reason("rules that replace functions")
def unread_replacements(d):
    """Where a call that a rule replaces stands as an expression, `f(x) with f as r`, OPA takes it for true whatever the rule
    gives; not where the result is given a name."""
    pattern = r"^\t(not )?(?!some |every )((?:(?! :?= ).)+)(?= with [\w.]+ as (?:[\w.]+\.)?r\d+\b)(.*)$"

    def named(found):
        value = f"[{found.group(2)}][0] != false"
        return f"\t{f'count([1 | {value}]) == 0' if found.group(1) else value}{found.group(3)}"
    if not d.query or not any(re.search(pattern, line) for line in lines_of(d)):
        return False
    return agrees(d, plain=True, rewrite=lambda line: re.sub(pattern, named, line))


@reason("operands that OPA has not evaluated")
def open_operands(d):
    """OPA puts some expressions of a comprehension before those that they need, and fails with an error that it calls an internal
    one; there is nothing to compare."""
    return codes(d.theirs) == ["eval_internal_error"] and "that requires evaluation" in texts(d.theirs) and not failed(d.ours)


@reason("arguments in the values of `with`")
def typed_arguments(d):
    """An argument of a function has no type, and both refuse what is made of it. Where it also stands in the value of a `with`
    OPA may not; it does where that value is another one."""
    if d.query or codes(d.ours) != ["rego_type_error"] or failed(d.theirs):
        return False
    if all(line == with_other_values(line) for line in lines_of(d)):
        return False
    again = d.again(with_other_values)
    return codes(again.ours) == codes(again.theirs) == ["rego_type_error"]


def with_other_values(line):
    """The line of a function with 1 for each array, set or object that a `with` puts somewhere."""
    for begin, end, _ in sorted(groups(line), reverse=True) if re.match(r"f\d+\(", line) else []:
        if re.search(r" with \S+ as $", line[:begin]):
            line = f"{line[:begin]}1{line[end:]}"
    return line


def outside_kept(text):
    """The text with underscores for its strings and for what stands in brackets."""
    for pattern in (r"\"(\\.|[^\"])*\"|`[^`]*`", r"\([^()\[\]{}]*\)|\[[^()\[\]{}]*\]|\{[^()\[\]{}]*\}"):
        while (shorter := re.sub(pattern, lambda m: "_" * len(m.group()), text)) != text:
            text = shorter
    return text


@reason("keys of the same hash")
def lost_keys(d):
    """OPA loses a key of an object comprehension, or has it twice, where it comes twice and another has the same hash, as true and 1,
    `[]` and `{}`, 3 and `{1: 2}` have. Where the pairs are made a set first each key comes once. They are read out of arrays, since an argument
    by itself has no type."""
    if failed(d.ours) or failed(d.theirs) or all(line == with_pairs(line) for line in lines_of(d)):
        return False
    return agrees(d, plain=True, rewrite=with_pairs, query=d.query and with_pairs(d.query))


def with_pairs(line):
    """The line with object comprehensions that go through the set of their pairs."""
    if line.startswith("}"):
        return "}" + with_pairs(line[1:])
    line = in_templates(line, with_pairs)
    at = len(line)
    while True:
        begin, end, parts = max(((b, e, p) for b, e, p in groups(line) if b < at), default=(-1, 0, []))
        if begin < 0:
            return line
        at = begin
        pair = split_pair(line[parts[0][0]:parts[0][1]]) if line[begin] == "{" and line[parts[0][1]] == "|" else None
        if pair:
            made = f"{{[[{pair[0]}][0], [{pair[1]}][0]] |{line[parts[0][1] + 1:end]}"
            line = f"{line[:begin]}{{k{begin}: v{begin} | some [k{begin}, v{begin}] in {made}}}{line[end:]}"


@reason("items that are kept twice")
def kept_twice(d):
    """OPA keeps two equal items in a set where one is the document of a rule that makes sets under keys, `r[k].x contains 1`, as
    it was made, and the other a copy of it. The set of which it says so shows them both."""
    is_made = any(re.match(r"r\d+\S*\[.*\]\S* contains ", line) for line in lines_of(d))
    if not d.query or not is_made or failed(d.ours) or failed(d.theirs):
        return False
    whole = d.ask(plain=True, query=d.query.removesuffix("[x]"))
    return whole != without_repeats(whole) and d.alike(d.ours, without_repeats(d.theirs))


def without_repeats(outcome):
    """The outcome with each answer once, and each item of its sets."""
    def once(items):
        return [item for at, item in enumerate(items) if item not in items[:at]]
    found = replaced(outcome, lambda one: {"$set": once(one["$set"])} if list(one) == ["$set"] else one)
    return {**found, "answers": once(found["answers"])} if "answers" in found else found


# What is written otherwise where a difference has two reasons, of which this is one.
REWRITES = (("objects that are written with variables", with_made_objects), ("sets that are written with variables", with_made_sets),
            ("variables in templates", without_templates), ("`not true` as a body", with_tested_truth))
# The same where compiling alone is compared: written so, a policy has other answers.
COMPILING_REWRITES = (("types of a replaced input", with_input_elsewhere),)
