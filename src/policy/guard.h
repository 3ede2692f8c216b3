/* guard.h - the policies in force: which of them apply to a run and its steps, and what they say at a hook.
 *
 * Two kinds apply. Those that a process was started with (--policy) apply to every run and at every hook. Those that a
 * definition names are registered in the configuration: `policies: { prod-guardrails: { file: ..., phases: [...] } }`. The
 * names at the top of a definition apply to the run and to all its steps, those of a job to its steps, those of a task to it.
 *
 * A registered policy is read when it is first needed and then kept, so that what decides does not change while a process
 * lives. The policies that apply anywhere in a plan have one digest, which stands in every record of its runs; a denial has
 * the digest of the one policy that denies.
 *
 * A policy that this process cannot ask (not registered here, without a file, not readable, with mistakes) permits nothing: a
 * step waits for a process that can ask it, everything else is denied and told why. guard_admit() finds that before a run
 * begins.
 *
 * Owns:   policies, plans at hand, the memory of evaluations, until guard_close(). Borrows the catalog.
 * Fails:  guard_open() and guard_admit() with the policy, its file and the first mistake in it. A verdict never fails.
 * Bounds: POLICY_ASKED_COUNT_MAX a step, POLICY_PLAN_COUNT_MAX plans at hand.     Thread: one at a time.
 */
#ifndef POLICY_GUARD_H
#define POLICY_GUARD_H

#include "base/spread.h"
#include "core/decide.h"
#include "lang/catalog.h"
#include "policy/policy.h"

typedef struct Guard Guard;

typedef struct GuardOptions {
    const Catalog *catalog;             /* where definitions find their policies; NULL: nothing is registered */
    const char *const *paths;           /* of those that apply to everything: files, directories, bundles (.tar.gz) */
    uint32_t path_count;
    /* What stands for the files of the stand-ins that are built in; others are beside the configuration. */
    const RegoModuleText *built_in;
    uint32_t built_in_count;
    const char *zone_directory;         /* of time zones; NULL: TZDIR, or where the system has them */
} GuardOptions;

MUST_USE Status guard_open(const GuardOptions *options, Guard **out_guard, Error *err);
void            guard_close(Guard *guard);      /* NULL is permitted */

/* Whether a plan names policies of its own. `document` is the plan's.     Thread: any. */
bool            guard_is_named(Value document);
/* Every policy that a plan names can be asked here. */
MUST_USE Status guard_admit(Guard *guard, Value document, Error *err);
/* Of all policies that apply to it, or of one that cannot be asked its name; zeros where none applies. */
Digest          guard_digest(Guard *guard, Value document);

/* The answer at a hook; `guard` is a Guard: see EngineOptions.verdict. */
Verdict  guard_verdict(void *guard, const VerdictAsk *ask);
/* The digest of what applies to a plan, zeros where nothing does; `guard` is a Guard: see EngineOptions.policies. */
Digest   guard_policies(void *guard, const Plan *plan);
/* Whether a registered policy permits something that is about no hook of a run: the authentication of a trigger. Where it does
 * not, or cannot be asked, *out_text says why, in `arena`. */
bool     guard_permits(Guard *guard, Str name, Value input, int64_t now_ms, Arena *arena, Str *out_text);
/* What is known of every policy, as an array of objects: name, digest, packages, hooks, whether it applies to everything, who has
 * reviewed it, and where it cannot be used why. Registered ones are read for that. */
Value    guard_describe(Guard *guard, Arena *arena);
uint64_t guard_verdict_count(const Guard *guard);       /* hooks at which a policy was asked so far */
/* How long that took, in microseconds: by hook, HOOK_COUNT of them. */
const Spread *guard_times(const Guard *guard);

#endif
