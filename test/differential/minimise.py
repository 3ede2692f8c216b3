"""minimise - a smaller case that still differs in the same way.

Takes away statements, lines, members of input and data, then parts of terms, as long as the difference stays. `differs` is
a function of a case; what it says for the first one is taken for granted.
"""
import copy
import re

from grammar import RawNumber

ATTEMPT_COUNT_MAX = 3000
PLAIN = ["1", "\"a\"", "[]", "true"]
CLOSING = {"(": ")", "[": "]", "{": "}"}


class Minimiser:
    def __init__(self, case, differs):
        self.case, self.differs, self.attempts = case, differs, 0

    def attempt(self, change):
        """Keeps what `change` makes of a copy if that still differs; tells whether it did."""
        if self.attempts >= ATTEMPT_COUNT_MAX:
            return False
        self.attempts += 1
        changed = copy.deepcopy(self.case)
        change(changed)
        if not self.differs(changed):
            return False
        self.case = changed
        return True

    def run(self):
        before = None
        while before != self.size() and self.attempts < ATTEMPT_COUNT_MAX:
            before = self.size()
            self.statements()
            self.lines()
            self.documents()
            self.terms()
            self.queries()
        return self.case

    def size(self):
        return len(str([self.case["modules"], self.case["queries"]])) + count_members([self.case["data"], self.case["inputs"]])

    def statements(self):
        for m in reversed(range(len(self.case["modules"]))):
            for s in reversed(range(1, len(self.case["modules"][m]))):
                self.attempt(lambda c: c["modules"][m].pop(s))
            if len(self.case["modules"][m]) == 1 and len(self.case["modules"]) > 1:
                self.attempt(lambda c: c["modules"].pop(m))

    def lines(self):
        for m, module in enumerate(self.case["modules"]):
            for s in range(len(module)):
                for at in reversed(range(len(self.case["modules"][m][s]))):
                    self.attempt(lambda c: c["modules"][m][s].pop(at))
                if len(self.case["modules"][m][s]) == 2:        # a head without its body
                    self.attempt(lambda c: c["modules"][m][s].__setitem__(slice(0, 2), [c["modules"][m][s][0].removesuffix(" if {")]))

    def documents(self):
        for root in ("data", "inputs"):
            for path in sorted(member_paths(self.case[root]), key=len):
                self.attempt(lambda c: remove_member(c[root], path))

    def terms(self):
        for m, module in enumerate(self.case["modules"]):
            for s, lines in enumerate(module):
                for at in range(len(lines)):
                    self.text(lambda c: c["modules"][m][s], at)

    def queries(self):
        for at in range(len(self.case["queries"])):
            self.text(lambda c: c["queries"], at)

    def text(self, where, at):
        """Tries smaller versions of one line until none is left."""
        again = True
        while again:
            again = False
            for smaller in smaller_texts(where(self.case)[at]):
                if self.attempt(lambda c: where(c).__setitem__(at, smaller)):
                    again = True
                    break


def count_members(value):
    if isinstance(value, dict):
        return 1 + sum(count_members(item) for item in value.values())
    if isinstance(value, list):
        return 1 + sum(count_members(item) for item in value)
    return 1


def member_paths(value, path=()):
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        if path or not isinstance(value, list):         # the list of inputs stays
            yield (*path, key)
        if not isinstance(item, RawNumber):
            yield from member_paths(item, (*path, key))


def remove_member(root, path):
    for key in path[:-1]:
        root = root[key] if isinstance(root, dict) and key in root or isinstance(root, list) and key < len(root) else {}
    if isinstance(root, dict):
        root.pop(path[-1], None)
    elif isinstance(root, list) and path[-1] < len(root):
        root.pop(path[-1])


def groups(text):
    """Places of brackets that belong together, and where their parts begin and end; strings are left alone."""
    stack, found, at = [], [], 0
    while at < len(text):
        if text[at] in "\"`":
            end = at + 1
            while end < len(text) and text[end] != text[at]:
                end += 2 if text[end] == "\\" and text[at] == '"' else 1
            at = end
        elif text[at] in CLOSING:
            stack.append((at, [at + 1]))
        elif stack and text[at] in ",;|" :
            stack[-1][1].append(at + 1)
        elif stack and text[at] == CLOSING[text[stack[-1][0]]]:
            begin, starts = stack.pop()
            ends = [start - 1 for start in starts[1:]] + [at]
            found.append((begin, at + 1, list(zip(starts, ends))))
        at += 1
    return found


def smaller_texts(text):
    for begin, end, parts in sorted(groups(text), key=lambda g: g[0] - g[1]):
        name = re.search(r"[A-Za-z0-9_.]*$", text[:begin]).start() if text[begin] != "{" else begin
        for plain in PLAIN:
            if len(plain) < end - name:
                yield text[:name] + plain + text[end:]
                if name != begin and len(plain) < end - begin:
                    yield text[:begin] + plain + text[end:]
        for start, stop in parts:
            part = text[start:stop].strip()
            if part:
                yield text[:name] + part + text[end:]
        if len(parts) > 1:
            for k in range(len(parts)):
                kept = [text[start:stop].strip() for i, (start, stop) in enumerate(parts) if i != k]
                separator = "; " if ";" in text[begin:end] and "|" not in text[begin:end] else ", "
                if "|" in text[begin:end] and len(kept) > 1:
                    kept = [f"{kept[0]} | {kept[1]}"] + kept[2:]
                    separator = "; "
                yield text[:begin + 1] + separator.join(kept) + text[end - 1:]
    with_at = text.rfind(" with ")
    if with_at > 0:
        yield text[:with_at]
