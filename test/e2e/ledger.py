#!/usr/bin/env python3
"""The program that verifies an exported ledger without maestro, on the ledger in test/golden and on damaged copies of it."""
import base64
import hashlib
import json

from maestro_test import MAESTRO, ROOT, SANITIZED, case, main

VERIFY = MAESTRO.parent / "ledger-verify"
GOLDEN = ROOT / "test" / "golden" / "ledger"
LEDGER = (GOLDEN / "ledger-1.jsonl").read_bytes()
ANCHOR = (GOLDEN / "anchor-1.json").read_bytes()
KEY = json.loads(ANCHOR)["publicKey"]
LINES = LEDGER.splitlines(keepends=True)
# Every byte of the file is changed in the unit tests; a share of them here, since each takes a process.
STEP, SHARE = (211, 7) if SANITIZED else (7, 3)


def verify(t, ledger, *args):
    return t.run(VERIFY, t.write("ledger.jsonl", ledger), *args)


def damaged(t, ledger, what, *args):
    result = verify(t, ledger, *args)
    return t.true(result.code in (1, 65), f"{what}: exit {result.code}\n{result.out}{result.err}")


def blake2b(*parts, key=b""):
    return hashlib.blake2b(b"".join(parts), digest_size=32, key=key).digest()


@case("proves: F-097")
def a_sound_ledger_is_verified(t):
    result = verify(t, LEDGER)
    t.equal(result.code, 0)
    t.equal(result.out, "record 4: its payload was erased\n"
                        "ok: 11 records, 37 events, 3 runs, 1 records without payloads\n")
    t.equal(t.run(VERIFY, "-", stdin=LEDGER).code, 0, "from standard input")
    t.equal(verify(t, LEDGER.rstrip(b"\n")).code, 0, "without the end of the last line")


@case("proves: F-097")
def every_byte_that_is_changed_is_found(t):
    for at in range(0, len(LEDGER) - 1, STEP):
        changed = bytearray(LEDGER)
        changed[at] ^= 1 << at % 8
        if not damaged(t, bytes(changed), f"byte {at}"):
            break


@case("proves: F-097")
def every_line_removed_repeated_exchanged_or_cut_is_found(t):
    for i in range(len(LINES)):
        damaged(t, b"".join(LINES[:i] + LINES[i + 1:]), f"without line {i}")
        damaged(t, b"".join(LINES[:i + 1] + LINES[i:]), f"line {i} twice")
        damaged(t, b"".join(LINES[:i]), f"cut before line {i}")
        for k in range(i + 1, len(LINES), SHARE):
            damaged(t, b"".join(LINES[:i] + [LINES[k]] + LINES[i + 1:k] + [LINES[i]] + LINES[k + 1:]), f"lines {i} and {k}")


def rewritten(change):
    """The ledger with one record changed and every hash, head and digest after it written anew."""
    zero, heads, log, out = bytes(32), {}, bytes(32), []
    rows = [json.loads(line) for line in LINES]
    for row in rows[1:-1]:
        if row["kind"] == "record":
            record = change(row["position"], base64.b64decode(row["record"]))
            row["record"] = base64.b64encode(record).decode()
            heads[row["runNo"]] = blake2b(b"maestro record", heads.get(row["runNo"], zero), record)
            row["hash"] = heads[row["runNo"]].hex()
            log = blake2b(b"maestro log", log, heads[row["runNo"]])
        else:
            row["head"] = heads[row["runNo"]].hex()
    rows[0]["head"] = rows[-1]["head"] = log.hex()
    for row in rows[:-1]:
        out.append(json.dumps(row, separators=(",", ":"), ensure_ascii=False).encode() + b"\n")
    rows[-1]["digest"] = blake2b(*out).hex()
    return b"".join(out) + json.dumps(rows[-1], separators=(",", ":")).encode() + b"\n"


@case("proves: F-097")
def the_documented_hashes_are_those_of_another_implementation(t):
    """Python's BLAKE2b over the bytes gives the hashes that are in the file."""
    t.equal(rewritten(lambda position, record: record), LEDGER, "the ledger written again")
    for line in LINES[1:-1]:
        row = json.loads(line)
        if row["kind"] != "record" or not row["payload"]:
            continue
        payload = base64.b64decode(row["payload"])
        record = base64.b64decode(row["record"])
        first = payload[16:payload.index(b"}}", 16) + 2] if b"}}" in payload else payload[16:]
        t.true(blake2b(first, key=payload[:16]) in record, f"no digest of the payload in record {row['position']}")


@case("proves: F-097")
def a_ledger_rewritten_whole_is_found_by_an_anchor_alone(t):
    changed = rewritten(lambda position, record: record.replace(b"user:ben", b"user:eve"))
    t.equal(verify(t, changed).code, 0, "the chain is whole again")
    anchor = t.write("anchor.json", ANCHOR)
    result = verify(t, changed, "--anchor", anchor, "--key", KEY)
    t.equal(result.code, 1)
    t.contains(result.out, "record 11: the log up to here is not the one that was anchored")
    result = verify(t, LEDGER, "--anchor", anchor, "--key", KEY)
    t.equal(result.code, 0)


@case("proves: F-097")
def anchors_are_not_believed_without_their_key(t):
    anchor = t.write("anchor.json", ANCHOR)
    result = verify(t, LEDGER, "--anchor", anchor)
    t.equal(result.code, 0)
    t.contains(result.out, "the anchor's key was not demanded")
    result = verify(t, LEDGER, "--anchor", anchor, "--key", "0" * 64)
    t.equal(result.code, 1)
    t.contains(result.out, "signed by another key")
    for at in range(0, len(ANCHOR) - 1, SHARE):
        changed = bytearray(ANCHOR)
        changed[at] ^= 1 << at % 8
        bad = verify(t, LEDGER, "--anchor", t.write("bad.json", bytes(changed)), "--key", KEY)
        if not t.true(bad.code in (1, 65), f"byte {at} of the anchor: exit {bad.code}\n{bad.out}{bad.err}"):
            break


@case()
def refusals_have_their_exit_codes(t):
    t.equal(t.run(VERIFY).code, 2, "no file")
    t.equal(t.run(VERIFY, "a", "b").code, 2, "two files")
    t.equal(t.run(VERIFY, "a", "--key", KEY).code, 2, "a key without an anchor")
    t.equal(t.run(VERIFY, "--unknown").code, 2, "an unknown option")
    t.equal(t.run(VERIFY, "nowhere.jsonl").code, 69, "a missing file")
    t.equal(verify(t, b"").code, 65, "an empty file")
    t.equal(verify(t, b"hello\n").code, 65, "another file")
    t.equal(verify(t, b'{"kind":"header","format":"maestro-ledger/2"}\n').code, 65, "a newer format")
    t.equal(verify(t, LEDGER, "--anchor", t.write("no.json", b"{}")).code, 65, "no anchor")


@case()
def the_verifier_is_short_and_stands_alone(t):
    """It can be read in an hour, and shares no line with what it verifies."""
    text = (ROOT / "tools" / "ledger_verify.c").read_text()
    t.true(text.count("\n") < 500, f"{text.count(chr(10))} lines")
    t.lacks(text, '#include "', "its includes")


main()
