#!/usr/bin/env python3
"""Stores of every format that was ever written: today's maestro verifies and replays them, and ends their open runs."""
import gzip
import json

from maestro_test import ROOT, case, main

GOLDEN = ROOT / "test" / "golden" / "store"


@case()
def a_store_of_any_format_is_verified_replayed_and_its_open_runs_end(t):
    formats = sorted(GOLDEN.glob("*.db.gz"))
    t.true(formats, "no store of any format is there")
    for file in formats:
        facts = json.loads((GOLDEN / file.name.replace(".db.gz", ".json")).read_text())
        path = t.folder / file.name.replace(".gz", "")
        path.write_bytes(gzip.decompress(file.read_bytes()))
        store = ("--store", f"sqlite:{path}")

        def ok(*args):
            result = t.maestro(*args, *store)
            t.equal(result.code, 0, f"{file.name}: maestro {' '.join(args)}: {result.err}")
            return result

        ok("ledger", "verify")
        ok("store", "verify")
        for flow, fact in facts.items():
            shown = ok("show", fact["run"], "--json").json()
            t.equal((shown["workflow"], shown["state"], shown["eventCount"]), (flow, fact["state"], fact["events"]))
            ok("replay", fact["run"], "--verify")
        ok("signal", facts["waiting"]["run"], "release")
        for flow in ("waiting", "paused", "killed"):
            t.true(facts[flow]["state"] not in ("succeeded", "failed"), f"{flow} was open")
            if ok("show", facts[flow]["run"], "--json").json()["state"] != "succeeded":
                ok("resume", facts[flow]["run"], "--quiet")
            t.equal(ok("show", facts[flow]["run"], "--json").json()["state"], "succeeded", flow)
            ok("replay", facts[flow]["run"], "--verify")
        ok("ledger", "verify")


main()
