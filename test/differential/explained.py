"""explained - the differences that are known and meant, by precise rules.

explain(difference) is the name of the reason, as docs/policy.md has it under "Where Maestro differs from OPA", or None.
"""

import re

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


def texts(outcome):
    return " ".join(error["text"] for error in outcome.get("errors", []))


def replaced(value, change):
    """The value with `change` applied to each object in it, inside first."""
    if isinstance(value, list):
        return [replaced(item, change) for item in value]
    if isinstance(value, dict):
        return change({key: replaced(item, change) for key, item in value.items()})
    return value


@reason("OPA's index")
def index_decides(d):
    """OPA passes over rules by its index, and ends early; both change what it answers, errors for the most part. It answers
    as Maestro does where they are turned off."""
    plain = d.ask(plain=True)
    return plain is not None and d.alike(d.ours, plain)


@reason("`not true` as a body")
def not_true(d):
    """OPA loses a body that is nothing but `not true`. It answers as Maestro does where that is written otherwise."""
    pattern = r"\bnot true\b"
    if not any(re.search(pattern, line) for module in d.case["modules"] for lines in module for line in lines):
        return False
    other = d.ask(plain=True, rewrite=lambda line: re.sub(pattern, "not 1 == 1", line))
    return other is not None and d.alike(d.ours, other)


@reason("texts that are no JSON numbers")
def loose_numbers(d):
    """OPA's to_number keeps the text it was given, `5.` or `1_0`, which then is a number that JSON cannot hold."""
    if "answers" not in d.ours or "$number" not in str(d.theirs):
        return False

    def plain_number(found):
        if list(found) != ["$number"]:
            return found
        text = re.sub(r"^(-?)0+(?=\d)", r"\1", found["$number"].replace("_", "").lstrip("+").removesuffix("."))
        return d.number("0" + text if text.startswith(".") else text)
    return d.alike(d.ours, replaced(d.theirs, plain_number))


@reason("keys that OPA keeps twice")
def repeated_keys(d):
    """An object of OPA may come to hold the same key twice, with equal values."""
    def once(found):
        if list(found) != ["$object"]:
            return found
        pairs = found["$object"]
        return {"$object": [pair for at, pair in enumerate(pairs) if pair not in pairs[:at]]}
    return "$object" in str(d.theirs) and not failed(d.ours) and d.alike(d.ours, replaced(d.theirs, once))


@reason("sets that are written with variables")
def written_sets(d):
    """OPA goes through a set that a policy writes, `{7, x}`, by its terms and not by its values: in another order, and
    through equal ones twice. That shows where a comprehension makes an array of it."""
    lines = [line for module in d.case["modules"] for statement in module for line in statement] + d.case["queries"]
    if failed(d.ours) or failed(d.theirs) or not any(has_open_set(line) for line in lines):
        return False
    return as_bags(d.ours) == as_bags(d.theirs)


def has_open_set(line):
    for begin, _, parts in groups(line):
        items = [re.sub(r"\"(\\.|[^\"])*\"|`[^`]*`", "", line[start:stop]) for start, stop in parts]
        if line[begin] == "{" and not any(":" in item or "|" in item for item in items):
            if any(re.search(r"[a-z_]", re.sub(r"\b(true|false|null|set\(\))", "", item)) for item in items):
                return True
    return False


def as_bags(value):
    """Arrays sorted and without repetitions."""
    if isinstance(value, list):
        return repr(sorted({as_bags(item) for item in value}))
    if isinstance(value, dict):
        return repr(sorted((key, as_bags(item)) for key, item in value.items()))
    return repr(value)
