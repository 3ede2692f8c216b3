#!/usr/bin/env python3
"""The gallery: every transcript of examples/transcripts is what is printed when its commands are typed."""
import importlib.machinery
import importlib.util
import os
from pathlib import Path

from maestro_test import ROOT, case, main

LOADER = importlib.machinery.SourceFileLoader("gallery_player", str(ROOT / "tools" / "examples"))
PLAYER = importlib.util.module_from_spec(importlib.util.spec_from_loader("gallery_player", LOADER))
LOADER.exec_module(PLAYER)

# Each feature has its example, the definition that it plays, and what somebody who reads it must find there.
SCENES = {
    "failure-resolution": ("resolution.yaml", "failed (RESOLVED)"),
    "retry-from": ("retry-from.yaml", "run anew order.label"),
    "saga": ("saga.yaml", "Compensated step: trip.flight"),
    "branching": ("order-routing.yaml", "NOT_ON_ACTIVE_BRANCH"),
    "polling": ("polling.yaml", "2 polls"),
    "approval": ("approval.yaml", "resume_when does not hold"),
    "early-end": ("early-end.yaml", "Ending run early as succeeded"),
    "signals": ("signals.yaml", "waiting-signal -> running"),
    "order-fulfillment": ("order-fulfillment.yaml", "waiting-signal -> succeeded"),
}


def build_folder():
    return Path(os.environ.get("MAESTRO_BIN", ROOT / "build" / "maestro")).resolve().parent


def plays(name):
    def scene(t):
        path = PLAYER.SCENES / f"{name}.txt"
        definition, essence = SCENES[name]
        known = path.read_text()
        t.contains(known, definition)
        t.contains("\n".join(PLAYER.fitting(known)), essence)
        t.equal("\n".join(PLAYER.fitting(PLAYER.play(path, build_folder()))), "\n".join(PLAYER.fitting(known)))
    scene.__name__ = f"the_scene_{name.replace('-', '_')}_is_what_is_printed"
    return scene


for each in SCENES:
    case("")(plays(each))


@case("")
def every_scene_has_its_paragraph_and_its_test(t):
    words = (ROOT / "examples" / "README.md").read_text()
    found = sorted(path.stem for path in PLAYER.SCENES.glob("*.txt"))
    t.equal(found, sorted(SCENES))
    for name in found:
        t.contains(words, f"transcripts/{name}.txt")


main()
