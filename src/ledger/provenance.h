/* provenance.h - what led to what: tasks, jobs, the run, its trigger, its signals, as a graph that is asked in both directions.
 *
 * Every edge leads from something to what it came from: a task to its job, the tasks it needed and the signal that released it;
 * a job to the run; the run to its trigger, its parent and its signals; a trigger to the signal of its name. So following edges
 * answers "why?", and going against them "what came of it?".
 *
 *   nodes  {"id": "task:build.compile", "kind": "task", "name": ..., "state": ..., "record": position of the evidence}
 *   edges  {"from": "task:build.compile", "to": "job:build", "how": "part-of"}
 *
 * Ids are unique in one graph: "task:STEP", "job:JOB", "run:ID", "trigger:SOURCE", "signal:NUMBER". Only steps that were begun or
 * skipped are in it: what never happened has led to nothing.
 *
 * Owns: values live in the arena given.     Fails: provenance_trace() with ERR_NOT_FOUND.
 * Bounds: steps and edges of the plan.     Thread: pure, any.
 */
#ifndef LEDGER_PROVENANCE_H
#define LEDGER_PROVENANCE_H

#include "base/arena.h"
#include "base/status.h"
#include "core/run.h"
#include "value/value.h"

typedef enum ProvenanceWay { PROVENANCE_CAUSES, PROVENANCE_EFFECTS } ProvenanceWay;

/* {"nodes": [...], "edges": [...]} of a run as its events made it. */
Value provenance_graph(Arena *arena, const Plan *plan, const Run *run);
/* The part of a graph that can be reached from one node: its causes, or its effects; in the order of their distance. */
MUST_USE Status provenance_trace(Arena *arena, Value graph, Str node, ProvenanceWay way, Value *out_graph, Error *err);

#endif
