/* policy.h - one policy: compiled once, asked at the hooks of runs.
 *
 * A policy is a set of Rego modules and base data. Asked are its packages at or below `maestro` that have a rule `allow` or
 * `deny`; all of them have to permit:
 *
 *   allow     has to be true. Where it is not, `reasons` (a set of texts) says why.
 *   deny      has to be empty: a set of texts, or of objects with `msg`; false is empty, and a text is one reason.
 *
 * Whatever is not a clear answer is a denial that says so: a rule that is undefined, a conflict, a builtin that fails, a budget
 * that is spent, a value of another type. An evaluation reads no clock, no chance and no network: it can be repeated.
 *
 * Owns:   a policy owns what it was compiled to, until policy_free(); the set it was made of may go.
 * Fails:  policy_make() with ERR_INVALID and the first mistake with its place; ERR_LIMIT. Asking never fails.
 * Bounds: POLICY_STEP_COUNT_MAX, POLICY_EVAL_SIZE_MAX an evaluation; POLICY_PACKAGE_COUNT_MAX; POLICY_TEXT_SIZE_MAX.
 * Thread: immutable: any. One PolicyMoment: one thread.
 */
#ifndef POLICY_POLICY_H
#define POLICY_POLICY_H

#include "core/decide.h"
#include "policy/policy_set.h"

typedef struct Policy Policy;
struct BuiltinCache;

/* Of hooks, as a mask. */
#define HOOK_BIT(hook) (1u << (hook))
#define HOOKS_ALL (HOOK_BIT(HOOK_COUNT) - 1)
/* Phases group hooks: pre-flight is run-start and step-dispatch, mid-flight run-resume and signal, post-flight step-end. */
const char *hook_phase(Hook hook);
uint32_t    hooks_of_phase(Str phase);          /* 0 where there is no such phase */

/* What of the input a policy can read, where making it costs something. */
typedef enum PolicyReads {
    POLICY_READS_PARAMS = 1,        /* input.run.params, input.run.payload */
    POLICY_READS_NOW = 2,           /* input.now */
    POLICY_READS_ALL = 3,
} PolicyReads;

/* --- make --------------------------------------------------------------------------------------------------------- */

typedef struct PolicyOptions {
    Str name;                       /* as people know it */
    uint32_t hooks;                 /* at which it is asked */
} PolicyOptions;

MUST_USE Status policy_make(const PolicySet *set, const PolicyOptions *options, Policy **out_policy, Error *err);
void            policy_free(Policy *policy);    /* NULL is permitted */

/* --- use ---------------------------------------------------------------------------------------------------------- */

Str           policy_name(const Policy *policy);
const Digest *policy_digest(const Policy *policy);     /* of its modules, its data and its hooks; not of file names */
bool          policy_is_asked(const Policy *policy, Hook hook);
uint32_t      policy_reads(const Policy *policy);      /* PolicyReads */
bool          policy_has_allow(const Policy *policy);  /* some package has the rule: else all is permitted that no rule denies */
Str           policy_package(const Policy *policy, uint32_t index);     /* "data.maestro.deploy"; empty beyond the last */

/* What an evaluation may know beside its input. */
typedef struct PolicyMoment {
    Arena *scratch;                 /* reset before each evaluation; without a limit of its own */
    struct BuiltinCache *cache;     /* may be NULL */
    const ZoneSource *zones;        /* may be NULL: UTC alone */
    int64_t now_ms;                 /* the time of the log: what time.now_ns() answers */
    uint64_t seed;                  /* of the run */
} PolicyMoment;

/* Whether all packages permit. Where one does not, *out_text says why, in `arena`. POLICY_UNCLEAR is a denial, too: it could not be evaluated,
 * or its answer is of a type that says neither; the text then has the place in the policy. */
typedef enum PolicyAnswer { POLICY_PERMITS, POLICY_DENIES, POLICY_UNCLEAR } PolicyAnswer;
PolicyAnswer policy_answer(const Policy *policy, Value input, const PolicyMoment *moment, Arena *arena, Str *out_text);
bool policy_permits(const Policy *policy, Value input, const PolicyMoment *moment, Arena *arena, Str *out_text);

#endif
