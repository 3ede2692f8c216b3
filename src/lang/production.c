#include "lang/production.h"

#include <inttypes.h>
#include <stdarg.h>

#include "base/check.h"
#include "base/limits.h"
#include "lang/approval.h"
#include "lang/compiler.h"
#include "lang/secret.h"

#define TALLY_NAME_SIZE_MAX (2 * NAME_SIZE_MAX + 1)         /* job.task */

typedef struct Production {
    Arena *arena;
    const Compiled *compiled;
    const Catalog *catalog;
    const ProductionFacts *facts;
    const Node *root;
    bool has_plan;
    const Plan *plan;
    const Node **nodes;             /* of each step, where it was written */
    const Node *jobs;               /* the mapping of jobs, or NULL */
    Approvals approvals;
    ProductionResult *result;       /* of the check under way */
} Production;

/* --- answers ----------------------------------------------------------------------------------------------------- */

/* The place is the node's; NULL stands for none. */
static void say(const Production *production, Answer answer, const Node *at, const char *format, ...) PRINTF_LIKE(4, 5);

static void say(const Production *production, Answer answer, const Node *at, const char *format, ...)
{
    va_list args;
    ProductionResult *result = production->result;
    va_start(args, format);
    result->answer = answer;
    result->evidence = arena_format_args(production->arena, format, args);
    result->line = at ? at->line : 0;
    result->column = at ? at->column : 0;
    va_end(args);
}

/* What this checklist does not decide itself. Whoever has given a store or a server is not told to give one. */
static void say_open(const Production *production, const char *where, const char *see, const char *format, ...) PRINTF_LIKE(4, 5);

static void say_open(const Production *production, const char *where, const char *see, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    Str what = arena_format_args(production->arena, format, args);
    va_end(args);
    if (!production->facts->has_place) say(production, ANSWER_UNDECIDED, NULL, "needs a %s: %.*s", where, STR_ARG(what));
    else say(production, ANSWER_UNDECIDED, NULL, "is looked at by hand%s%s: %.*s", see ? ", with " : "", see ? see : "", STR_ARG(what));
}

/* "1 task", "3 tasks". */
static const char *plural(uint32_t count)
{
    return count == 1 ? "" : "s";
}

/* The steps, jobs or policies that a check has looked at, and those that lack something: a few named, the rest counted. */
typedef struct Tally {
    uint32_t count, failed_count;
    const Node *first;
    Buf names;
    char storage[PRODUCTION_NAMED_COUNT_MAX * 2 * TALLY_NAME_SIZE_MAX];
} Tally;

static void tally_init(Tally *tally)
{
    tally->count = tally->failed_count = 0;
    tally->first = NULL;
    tally->names = buf_on(tally->storage, sizeof tally->storage);
}

static void tally_fine(Tally *tally)
{
    tally->count++;
}

/* `why` may be empty. A name is an id or, of a schedule, as long as its author liked. */
static void tally_fail(Tally *tally, const Node *at, Str name, Str why)
{
    tally->count++;
    if (++tally->failed_count > PRODUCTION_NAMED_COUNT_MAX) return;
    if (tally->failed_count == 1) tally->first = at;
    else buf_text(&tally->names, ", ");
    Str shown = str_slice(name, 0, TALLY_NAME_SIZE_MAX);
    buf_format(&tally->names, "%.*s (line %" PRIu32 "%s%.*s)", STR_ARG(shown), at->line, why.len ? ": " : "",
               STR_ARG(why));
}

/* "a (line 3), b (line 9), c (line 11) and 4 more" */
static Str tally_names(Tally *tally)
{
    if (tally->failed_count > PRODUCTION_NAMED_COUNT_MAX)
        buf_format(&tally->names, " and %" PRIu32 " more", tally->failed_count - PRODUCTION_NAMED_COUNT_MAX);
    CHECK(!buf_overflowed(&tally->names));
    return buf_peek(&tally->names);
}

/* "2 of 3 tasks without a timeout: a (line 3), b (line 9)" */
static void tally_say(const Production *production, Tally *tally, const char *what, const char *lack)
{
    Str names = tally_names(tally);
    say(production, ANSWER_FAIL, tally->first, "%" PRIu32 " of %" PRIu32 " %s%s %s: %.*s", tally->failed_count,
        tally->count, what, plural(tally->count), lack, STR_ARG(names));
}

/* --- what is looked at ------------------------------------------------------------------------------------------- */

/* Work of a runner: tasks, and the artifacts of a runbook. */
static bool is_work(const Production *production, uint32_t index)
{
    uint8_t kind = production->plan->steps[index].kind;
    return kind == STEP_TASK || kind == STEP_ARTIFACT;
}

static const char *work_name(const Production *production)
{
    return production->plan->kind == PLAN_RUNBOOK ? "artifact" : "task";
}

static void tally_step(const Production *production, Tally *tally, uint32_t index, Str why)
{
    tally_fail(tally, production->nodes[index], production->plan->steps[index].id, why);
}

static const Node *get_either(const Node *map, const char *key, const char *also)
{
    const Node *node = node_get(map, key);
    return node ? node : node_get(map, also);
}

/* --- line 1: specification --------------------------------------------------------------------------------------- */

static const Diagnostic *first_error(const Diagnostics *diagnostics)
{
    for (size_t i = 0; i < diagnostics->count; i++)
        if (diagnostics->items[i].severity == SEVERITY_ERROR) return &diagnostics->items[i];
    return NULL;
}

/* " in line 7", or nothing where it is about the file as a whole. */
static Str place_text(const Production *production, const Diagnostic *diagnostic)
{
    return diagnostic->line ? arena_format(production->arena, " in line %" PRIu32, diagnostic->line) : STR("");
}

static void fail_by(const Production *production, uint32_t count, const Diagnostic *first)
{
    Node at = { .line = first->line, .column = first->column };
    Str place = place_text(production, first);
    say(production, ANSWER_FAIL, &at, "%" PRIu32 " mistake%s%s%.*s: %.*s", count, plural(count),
        count == 1 ? "" : ", the first", STR_ARG(place), STR_ARG(first->message));
}

/* What the tables of the language alone find wrong, in the order of the places. */
static void check_shape(const Production *production, Diagnostics *out)
{
    const Compiled *compiled = production->compiled;
    diagnostics_init(out, production->arena, compiled->diagnostics.file, compiled->diagnostics.text);
    if (compiled->type) shape_check(out, compiled->root, compiled->type);
    diagnostics_sort(out);
}

static void decide_schema(const Production *production)
{
    const Compiled *compiled = production->compiled;
    Diagnostics shape;
    check_shape(production, &shape);
    if (compiled->is_config) {
        say(production, ANSWER_FAIL, production->root, "this is a configuration, not a definition");
        return;
    }
    if (!compiled->type) {                      /* no YAML, or no definition */
        fail_by(production, compiled->diagnostics.error_count, first_error(&compiled->diagnostics));
        return;
    }
    if (shape.error_count) {
        fail_by(production, shape.error_count, first_error(&shape));
        return;
    }
    say(production, ANSWER_PASS, NULL, "fits the schema of a %s", compiled->type->shape->name);
}

/* The errors of the compiler that are none of the tables: both lists are in the order of their places. */
static void decide_lint(const Production *production)
{
    const Diagnostics *all = &production->compiled->diagnostics;
    Diagnostics shape;
    const Diagnostic *first = NULL;
    uint32_t count = 0;
    size_t at = 0;
    check_shape(production, &shape);
    for (size_t i = 0; i < all->count; i++) {
        const Diagnostic *one = &all->items[i], *known = at < shape.count ? &shape.items[at] : NULL;
        if (known && known->line == one->line && known->column == one->column && str_is(known->message, one->message)) {
            at++;
        } else if (one->severity == SEVERITY_ERROR) {
            if (!first) first = one;
            count++;
        }
    }
    Str place = all->count ? place_text(production, &all->items[0]) : STR("");
    if (!production->compiled->type || (!count && shape.error_count))
        say(production, ANSWER_UNDECIDED, NULL, "needs a definition that passes spec-schema");
    else if (count)
        fail_by(production, count, first);
    else if (all->warning_count)
        say(production, ANSWER_PASS, NULL, "no errors; %" PRIu32 " warning%s, the first%.*s: %.*s", all->warning_count,
            plural(all->warning_count), STR_ARG(place), STR_ARG(all->items[0].message));
    else
        say(production, ANSWER_PASS, NULL, "no errors and no warnings");
}

static void decide_version(const Production *production)
{
    char storage[DIGEST_TEXT_SIZE + 1];
    Buf digest = buf_on(storage, sizeof storage);
    digest_print(&digest, &production->plan->digest);
    say_open(production, "store", "'maestro revisions'", "the revision in use, its version and hash, to compare with this plan, %.*s",
             STR_ARG(buf_peek(&digest)));
}

static void decide_idempotency(const Production *production)
{
    const Plan *plan = production->plan;
    bool has_workflow_key = node_get(production->root, "idempotency_key") != NULL;
    uint32_t safe = 0;
    Tally tally;
    tally_init(&tally);
    for (uint32_t i = 0; i < plan->step_count; i++) {
        if (!is_work(production, i)) continue;
        bool is_safe = plan->steps[i].strategy == STRATEGY_REPLAY_SAFE;
        bool has_key = has_workflow_key || value_get_text(plan->steps[i].settings, "key");
        if (!node_get(production->nodes[i], "idempotency")) tally_step(production, &tally, i, STR("no strategy"));
        else if (!is_safe && !has_key) tally_step(production, &tally, i, STR("no key"));
        else tally_fine(&tally);
        safe += is_safe;
    }
    if (tally.failed_count)
        tally_say(production, &tally, "task", "without a declared strategy and key");
    else
        say(production, ANSWER_PASS, NULL, "%" PRIu32 " task%s: %" PRIu32 " replay-safe, %" PRIu32 " with %s",
            tally.count, plural(tally.count), safe, tally.count - safe,
            has_workflow_key ? "the workflow's key or their own" : "a key of their own");
}

/* --- line 2: policies -------------------------------------------------------------------------------------------- */

static bool policy_has_phase(const CatalogEntry *policy, const char *phase)
{
    const Value *phases = policy ? value_get_text(policy->settings, "phases") : NULL;
    for (uint32_t i = 0; phases && i < phases->count; i++)
        if (str_is_text(value_text(phases->items[i]), phase)) return true;
    return false;
}

/* The policy of that phase that a step is under, or NULL. */
static const CatalogEntry *policy_of(const Production *production, uint32_t index, const char *phase)
{
    const Value *policies = value_get_text(production->plan->steps[index].settings, "policies");
    for (uint32_t i = 0; policies && i < policies->count; i++) {
        const CatalogEntry *policy = catalog_find(production->catalog, CATALOG_POLICY, value_text(policies->items[i]));
        if (policy_has_phase(policy, phase)) return policy;
    }
    return NULL;
}

static void decide_phase(const Production *production, const char *phase)
{
    const CatalogEntry *found = NULL;
    const char *work = work_name(production);
    Tally tally;
    tally_init(&tally);
    for (uint32_t i = 0; i < production->plan->step_count; i++) {
        if (!is_work(production, i)) continue;
        const CatalogEntry *policy = policy_of(production, i, phase);
        if (policy) tally_fine(&tally);
        else tally_step(production, &tally, i, STR(""));
        if (policy) found = policy;
    }
    if (!found)
        say(production, ANSWER_FAIL, production->root, "no policy that is asked %s is attached", phase);
    else if (tally.failed_count)
        tally_say(production, &tally, work,
                  arena_format(production->arena, "under no policy that is asked %s", phase).ptr);
    else
        say(production, ANSWER_PASS, NULL, "%.*s is asked %s (%.*s); every %s is under one", STR_ARG(found->name),
            phase, STR_ARG(found->origin), work);
}

static void decide_pre_flight(const Production *production) { decide_phase(production, "pre-flight"); }
static void decide_mid_flight(const Production *production) { decide_phase(production, "mid-flight"); }
static void decide_post_flight(const Production *production) { decide_phase(production, "post-flight"); }

/* By what was recorded of its version; where nobody was asked, by what the configuration says. */
static void review_policy(const Production *production, Tally *tally, const Node *node, Str name)
{
    const ProductionFacts *facts = production->facts;
    const CatalogEntry *policy = catalog_find(production->catalog, CATALOG_POLICY, name);
    Str text = STR("");
    bool is_reviewed = facts->is_reviewed ? facts->is_reviewed(facts->context, name, &text)
                                          : policy && value_get_text(policy->settings, "reviewed_by");
    if (is_reviewed) tally_fine(tally);
    else tally_fail(tally, node, name, str_slice(text, 0, text.len < TALLY_NAME_SIZE_MAX / 2 ? text.len : TALLY_NAME_SIZE_MAX / 2));
}

/* Each policy once, where it is named first. */
static void review_policies(const Production *production, Map *seen, Tally *tally, const Node *map)
{
    static const char *const keys[] = { "policies", "policy" };
    for (unsigned k = 0; k < 2; k++) {
        const Node *names = node_get(map, keys[k]);
        for (uint32_t i = 0; i < many_count(names); i++) {
            const Node *name = many_at(names, i);
            if (!map_add(seen, node_text(name), 0, NULL)) continue;
            review_policy(production, tally, name, node_text(name));
        }
    }
}

static void decide_reviewed(const Production *production)
{
    Map seen;
    Tally tally;
    map_init(&seen, production->arena, 0);
    tally_init(&tally);
    review_policies(production, &seen, &tally, production->root);
    for (uint32_t i = 0; i < production->plan->job_count; i++)
        review_policies(production, &seen, &tally, node_value(production->jobs, i));
    for (uint32_t i = 0; i < production->plan->step_count; i++)
        review_policies(production, &seen, &tally, production->nodes[i]);
    for (uint32_t i = 0; i < production->facts->everywhere_count; i++)
        if (map_add(&seen, production->facts->everywhere[i], 0, NULL))
            review_policy(production, &tally, production->root, production->facts->everywhere[i]);
    bool is_recorded = production->facts->is_reviewed != NULL;
    if (tally.failed_count)
        tally_say(production, &tally, "policy version", is_recorded ? "attached without a recorded review that approves it"
                                                                    : "attached without a named reviewer (reviewed_by)");
    else if (tally.count == 0)
        say(production, ANSWER_NOT_APPLICABLE, NULL, "no policy is attached");
    else
        say(production, ANSWER_PASS, NULL, "%" PRIu32 " polic%s attached, each with %s", tally.count, tally.count == 1 ? "y" : "ies",
            is_recorded ? "a recorded review of its version" : "a named reviewer");
}

/* A step is of high risk if it is marked so, or its job is. */
static bool is_high_risk(const Production *production, uint32_t index)
{
    const PlanStep *step = &production->plan->steps[index];
    Str own = value_get_string(step->settings, "risk", STR(""));
    Str of_job = step->job == PLAN_NONE ? STR("")
                                        : value_get_string(production->plan->jobs[step->job].settings, "risk", STR(""));
    return is_work(production, index) && str_is(own.len ? own : of_job, STR("high"));
}

static void decide_approvals(const Production *production)
{
    const Approvals *approvals = &production->approvals;
    Tally tally;
    tally_init(&tally);
    for (uint32_t i = 0; i < production->plan->step_count; i++) {
        if (!is_high_risk(production, i)) continue;
        if (approvals->is_covered[i]) tally_fine(&tally);
        else tally_step(production, &tally, i, approvals->has_gate[i] ? STR("its gate comes after the work") : STR(""));
    }
    if (tally.failed_count)
        tally_say(production, &tally, "task", "of high risk without an approval before the work");
    else if (tally.count == 0)
        say(production, ANSWER_NOT_APPLICABLE, NULL, "no task or job is marked 'risk: high'");
    else
        say(production, ANSWER_PASS, NULL, "%" PRIu32 " task%s of high risk, each behind an approval gate", tally.count,
            plural(tally.count));
}

/* --- line 3: placement and quotas -------------------------------------------------------------------------------- */

static bool has_constraint(const Node *placement)
{
    if (!placement || placement->kind != NODE_MAP) return placement && many_count(placement) > 0;
    for (uint32_t i = 0; i < placement->count; i++)
        if (many_count(node_value(placement, i))) return true;
    return false;
}

static void decide_placement(const Production *production)
{
    const Plan *plan = production->plan;
    const Node *placement = node_get(production->root, "placement");
    Tally tally;
    if (has_constraint(placement)) {
        say(production, ANSWER_PASS, NULL, "the placement in line %" PRIu32 " applies to every job", placement->line);
        return;
    }
    if (plan->kind == PLAN_STEP_TREE) {
        say(production, ANSWER_FAIL, production->root, "no 'placement'; a step tree sets it as a whole");
        return;
    }
    tally_init(&tally);
    for (uint32_t i = 0; i < plan->job_count; i++) {
        const Node *job = node_value(production->jobs, i);
        if (!node_get(job, "tasks")) continue;          /* a branch point is carried out by the engine itself */
        bool is_placed =
            has_constraint(node_get(job, "placement")) || has_constraint(node_get(job, "data_sovereignty"));
        if (is_placed) tally_fine(&tally);
        else tally_fail(&tally, node_key(production->jobs, i), plan->jobs[i].id, STR(""));
    }
    if (tally.failed_count) tally_say(production, &tally, "job", "without placement constraints");
    else say(production, ANSWER_PASS, NULL, "%" PRIu32 " job%s with constraints", tally.count, plural(tally.count));
}

static void decide_blast_radius(const Production *production)
{
    const Node *blast = get_map(production->root, "blast_radius"), *budget = blast ? node_get(blast, "budget") : NULL;
    if (budget)
        say(production, ANSWER_PASS, NULL, "a budget of %.*s in line %" PRIu32, STR_ARG(node_text(budget)),
            budget->line);
    else
        say(production, ANSWER_FAIL, production->root, "no budget: blast_radius: { budget: ... }");
}

static void decide_quotas(const Production *production)
{
    const Value *config = value_get_text(production->plan->document, "config");
    say_open(production, "server", NULL, "the quotas of the tenant '%.*s', to compare with %" PRId64 " steps at a time and the budgets here",
             STR_ARG(production->plan->tenant), config ? value_get_int(*config, "max_concurrency", 0) : 0);
}

/* --- line 5: audit ----------------------------------------------------------------------------------------------- */

static void decide_evidence(const Production *production)
{
    const Node *evidence = get_map(production->root, "evidence"),
               *retention = evidence ? node_get(evidence, "retention") : NULL;
    if (retention)
        say(production, ANSWER_PASS, NULL, "evidence is to be kept for %.*s, by line %" PRIu32,
            STR_ARG(node_text(retention)), retention->line);
    else
        say(production, ANSWER_FAIL, production->root, "no retention: evidence: { retention: ... }");
}

/* --- line 6: failure handling ------------------------------------------------------------------------------------ */

static void decide_retries(const Production *production)
{
    Tally tally;
    tally_init(&tally);
    for (uint32_t i = 0; i < production->plan->step_count; i++) {
        if (!is_work(production, i)) continue;
        const Node *retries = get_either(production->nodes[i], "retries", "retry");
        const Value *normal = value_get_text(production->plan->steps[i].settings, "retries");
        bool is_single = retries && normal && value_get_int(*normal, "attempts", 0) == 1;
        if (retries && (is_single || node_get(retries, "on"))) tally_fine(&tally);
        else tally_step(production, &tally, i, retries ? STR("'retries' without 'on'") : STR("no 'retries'"));
    }
    if (tally.failed_count) tally_say(production, &tally, "task", "without retry classes");
    else say(production, ANSWER_PASS, NULL, "%" PRIu32 " task%s with retry classes", tally.count, plural(tally.count));
}

static void decide_compensations(const Production *production)
{
    Tally untested;
    tally_init(&untested);
    for (uint32_t i = 0; i < production->plan->step_count; i++)
        if (value_get_text(production->plan->steps[i].settings, "compensation"))
            tally_step(production, &untested, i, STR(""));
    Str names = tally_names(&untested);
    if (untested.count)
        say_open(production, "store", "'maestro show RUN --events'", "a successful test, with this version, of each compensation: %.*s",
                 STR_ARG(names));
    else
        say(production, ANSWER_NOT_APPLICABLE, NULL, "no task declares a compensation");
}

static bool has_timeout(const Production *production, uint32_t index)
{
    const PlanStep *step = &production->plan->steps[index];
    CatalogEntry runner;
    if (value_get_text(step->settings, "timeout_ms")) return true;
    return catalog_offer(production->catalog, step->runner, production->plan->tenant, &runner) && value_get_text(runner.settings, "timeout_ms");
}

static void decide_timeouts(const Production *production)
{
    const Node *config = get_map(production->root, "config"), *deadline = config ? node_get(config, "timeout") : NULL;
    bool is_runbook = production->plan->kind == PLAN_RUNBOOK; /* its artifacts are bounded by its deadline alone */
    Tally tally;
    tally_init(&tally);
    for (uint32_t i = 0; !is_runbook && i < production->plan->step_count; i++) {
        if (!is_work(production, i)) continue;
        if (has_timeout(production, i)) tally_fine(&tally);
        else tally_step(production, &tally, i, STR(""));
    }
    if (tally.failed_count)
        tally_say(production, &tally, "task",
                  deadline ? "without a timeout" : "without a timeout, and no deadline (config: { timeout: ... })");
    else if (!deadline)
        say(production, ANSWER_FAIL, production->root, "no deadline: config: { timeout: ... }");
    else if (is_runbook)
        say(production, ANSWER_PASS, NULL, "the deadline in line %" PRIu32 " bounds every artifact", deadline->line);
    else
        say(production, ANSWER_PASS, NULL, "%" PRIu32 " task%s with a timeout, the deadline in line %" PRIu32,
            tally.count, plural(tally.count), deadline->line);
}

static void decide_cancellation(const Production *production)
{
    const Node *resolution = get_map(production->root, "failure_resolution");
    const Node *on_cancel = resolution ? get_text(resolution, "on_cancel") : NULL;
    if (on_cancel)
        say(production, ANSWER_PASS, NULL, "%.*s on cancel, by line %" PRIu32, STR_ARG(node_text(on_cancel)),
            on_cancel->line);
    else
        say(production, ANSWER_FAIL, production->root,
            "not stated: failure_resolution: { on_cancel: compensate } or no_compensate");
}

/* --- line 7: security -------------------------------------------------------------------------------------------- */

static void secret_found(void *context, const Node *at, const char *what)
{
    tally_fail(context, at, str_of(what), STR(""));
}

/* The first runner of the definition whose configuration holds a secret. */
static bool runner_with_secret(const Production *production, CatalogEntry *out_runner, const char **out_what)
{
    Map seen;
    map_init(&seen, production->arena, 0);
    for (uint32_t i = 0; i < production->plan->step_count; i++) {
        Str name = production->plan->steps[i].runner;
        if (!name.len || !map_add(&seen, name, 0, NULL)) continue;
        if (!catalog_offer(production->catalog, name, production->plan->tenant, out_runner)) continue;
        *out_what = secret_in_value(out_runner->settings);
        if (*out_what) return true;
    }
    return false;
}

static void decide_secrets(const Production *production)
{
    Tally tally;
    tally_init(&tally);
    SecretScan scan = { .found = secret_found, .context = &tally };
    secret_scan(&scan, production->root);
    const char *what;
    CatalogEntry runner;
    bool is_in_runner = runner_with_secret(production, &runner, &what);
    Str names = tally_names(&tally);
    if (tally.failed_count)
        say(production, ANSWER_FAIL, tally.first, "not from the broker (${secrets.NAME}): %.*s", STR_ARG(names));
    else if (is_in_runner)
        say(production, ANSWER_FAIL, production->root, "the runner '%.*s' of %.*s holds %s", STR_ARG(runner.name),
            STR_ARG(runner.origin), what);
    else
        say(production, ANSWER_PASS, NULL, "no literal secret; %" PRIu32 " text%s from the broker", scan.broker_count,
            plural(scan.broker_count));
}

static void decide_privilege(const Production *production)
{
    const Plan *plan = production->plan;
    Map owners;
    Tally tally;
    map_init(&owners, production->arena, plan->step_count);
    tally_init(&tally);
    for (uint32_t i = 0; i < plan->step_count; i++) {
        if (!is_work(production, i)) continue;
        Str identity = value_get_string(plan->steps[i].settings, "identity", STR(""));
        uint32_t owner;
        if (!identity.len)
            tally_step(production, &tally, i, STR(""));
        else if (map_add(&owners, identity, i, &owner))
            tally_fine(&tally);
        else
            tally_step(production, &tally, i,
                       arena_format(production->arena, "that of line %" PRIu32, production->nodes[owner]->line));
    }
    if (tally.failed_count) tally_say(production, &tally, "task", "without an identity of their own");
    else
        say(production, ANSWER_PASS, NULL, "%" PRIu32 " task%s, each with an identity of its own", tally.count,
            plural(tally.count));
}

static void decide_boundaries(const Production *production)
{
    say_open(production, "server", NULL, "the network and data boundaries of the tenant '%.*s'", STR_ARG(production->plan->tenant));
}

/* --- line 8: disaster recovery and resilience -------------------------------------------------------------------- */

static void decide_leases(const Production *production)
{
    const Node *lease = get_map(production->root, "lease");
    const Node *duration = lease ? get_text(lease, "duration") : NULL,
               *heartbeat = lease ? get_text(lease, "heartbeat") : NULL;
    int64_t duration_ms, heartbeat_ms;
    if (!duration || !heartbeat)
        say(production, ANSWER_FAIL, production->root, "not set: lease: { duration: ..., heartbeat: ... }");
    else if (!duration_read(node_text(duration), &duration_ms) || !duration_read(node_text(heartbeat), &heartbeat_ms)
             || duration_ms <= heartbeat_ms)
        say(production, ANSWER_FAIL, duration, "the lease is not longer than the heartbeat interval");
    else
        say(production, ANSWER_PASS, NULL, "a lease of %.*s, a heartbeat every %.*s", STR_ARG(node_text(duration)),
            STR_ARG(node_text(heartbeat)));
}

/* --- line 9: operator affordances -------------------------------------------------------------------------------- */

static void decide_exercised(const Production *production)
{
    Tally gates;
    tally_init(&gates);
    for (uint32_t i = 0; i < production->plan->step_count; i++)
        if (production->approvals.has_gate[i]) tally_step(production, &gates, i, STR(""));
    Str names = tally_names(&gates);
    if (gates.count)
        say_open(production, "store", "'maestro show RUN --events'", "runs in which each approval was given: %.*s", STR_ARG(names));
    else
        say(production, ANSWER_NOT_APPLICABLE, NULL, "no task or job waits for an approval");
}

/* --- line 10: runbooks ------------------------------------------------------------------------------------------- */

/* Two texts that both must be there. */
static void decide_both(const Production *production, const Node *map, const char *one, const char *other)
{
    const Node *first = get_text(map, one), *second = get_text(map, other);
    if (first && second)
        say(production, ANSWER_PASS, NULL, "%s %.*s, %s %.*s", one, STR_ARG(node_text(first)), other,
            STR_ARG(node_text(second)));
    else
        say(production, ANSWER_FAIL, map, "missing: %s%s%s", first ? "" : one, first || second ? "" : " and ",
            second ? "" : other);
}

static void decide_runbooks(const Production *production)
{
    const Node *links = get_map(production->root, "runbooks");
    if (links) decide_both(production, links, "rollback", "incident");
    else say(production, ANSWER_FAIL, production->root, "none is linked: runbooks: { rollback: ..., incident: ... }");
}

static void decide_ownership(const Production *production)
{
    decide_both(production, production->root, "owner", "contact");
}

static void decide_on_call(const Production *production)
{
    const Node *triggers = get_list(production->root, "triggers");
    Tally tally;
    tally_init(&tally);
    for (uint32_t i = 0; triggers && i < triggers->count; i++) {
        const Node *schedule = get_map(&triggers->items[i], "schedule"),
                   *critical = schedule ? node_get(schedule, "critical") : NULL;
        if (!critical || !critical->truth) continue;
        const Node *cron = get_text(schedule, "cron");
        if (get_text(schedule, "on_call")) tally_fine(&tally);
        else tally_fail(&tally, critical, cron ? node_text(cron) : STR("a schedule"), STR(""));
    }
    if (tally.failed_count) tally_say(production, &tally, "critical schedule", "without 'on_call'");
    else if (tally.count == 0) say(production, ANSWER_NOT_APPLICABLE, NULL, "no schedule is marked 'critical: true'");
    else
        say(production, ANSWER_PASS, NULL, "%" PRIu32 " critical schedule%s, each with people on call", tally.count,
            plural(tally.count));
}

/* --- where the steps stand --------------------------------------------------------------------------------------- */

/* The nodes of a tree's steps in the order of the plan: as written, a holder before what it holds. */
static void collect_tree(Production *production, const Node *steps, uint32_t *count)
{
    for (uint32_t i = 0; i < many_count(steps); i++) {
        const Node *step = many_at(steps, i);
        production->nodes[(*count)++] = step;
        collect_tree(production, node_get(step, "sequence"), count);
        collect_tree(production, get_either(step, "then", "thenSteps"), count);
        collect_tree(production, get_either(step, "else", "elseSteps"), count);
    }
}

static void collect_jobs(Production *production, uint32_t *count)
{
    for (uint32_t i = 0; i < production->jobs->count; i++) {
        const Node *job = node_value(production->jobs, i), *tasks = node_get(job, "tasks"),
                   *branch = node_get(job, "branch");
        for (uint32_t j = 0; j < many_count(tasks); j++) production->nodes[(*count)++] = many_at(tasks, j);
        if (branch) production->nodes[(*count)++] = branch;
    }
}

static void collect_nodes(Production *production)
{
    const Plan *plan = production->plan;
    uint32_t count = 0;
    production->nodes = ARENA_ARRAY(production->arena, const Node *, plan->step_count);
    production->jobs = get_map(production->root, "jobs");
    if (plan->kind == PLAN_WORKFLOW) collect_jobs(production, &count);
    if (plan->kind == PLAN_STEP_TREE) collect_tree(production, node_get(production->root, "steps"), &count);
    const Node *artifacts = node_get(production->root, "artifacts");
    for (uint32_t i = 0; plan->kind == PLAN_RUNBOOK && i < artifacts->count; i++)
        production->nodes[count++] = node_value(artifacts, i);
    CHECK(count == plan->step_count);
}

/* --- the checklist ----------------------------------------------------------------------------------------------- */

typedef void (*Decide)(const Production *production);

/* One row for each check. It has a function, or a sentence that says what must be known, where, and what shows it to
 * who looks; and a reason why it does not apply to runbooks, where that is so. */
static const struct {
    const char *name, *requirement;
    uint8_t line;
    Decide decide;
    const char *needs, *not_of_runbooks, *where, *see;
} rows[] = {
    { "spec-schema", "F-171", 1, decide_schema, NULL, NULL },
    { "spec-lint", "F-172", 1, decide_lint, NULL, NULL },
    { "version-pinned", "F-173", 1, decide_version, NULL, NULL },
    { "idempotency-keys", "F-174", 1, decide_idempotency, NULL,
      "a runbook has no tasks; the keys of its artifacts are derived" },
    { "policy-admission", "F-175", 2, decide_pre_flight, NULL, NULL },
    { "policy-runtime", "F-176", 2, decide_mid_flight, NULL, NULL },
    { "policy-postflight", "F-177", 2, decide_post_flight, NULL, NULL },
    { "policy-reviewed", "F-178", 2, decide_reviewed, NULL, NULL },
    { "approvals-high-risk", "F-179", 2, decide_approvals, NULL, "an artifact carries no mark of high risk" },
    { "placement-constraints", "F-180", 3, decide_placement, NULL, "a runbook has no jobs" },
    { "blast-radius-budget", "F-181", 3, decide_blast_radius, NULL, "a runbook has no blast radius" },
    { "tenant-quotas", "F-182", 3, decide_quotas, NULL, NULL },
    { "metrics", "F-183", 4, NULL,
      "whether it exports counts by state, latencies and retries", NULL, "running server", "GET /metrics" },
    { "structured-logs", "F-184", 4, NULL,
      "the setting of its logs", NULL, "running server", NULL },
    { "traces", "F-185", 4, NULL,
      "the setting of its traces, and an attempt to which they were propagated", NULL, "running server", NULL },
    { "ledger-sink", "F-186", 5, NULL,
      "whether a ledger sink is enabled", NULL, "store", NULL },
    { "ledger-immutable", "F-187", 5, NULL,
      "whether it refuses changes to the ledger, and a verification of the chain", NULL, "store", "'maestro store verify'" },
    { "evidence-retention", "F-188", 5, decide_evidence, NULL, "a runbook declares no evidence" },
    { "retry-classes", "F-189", 6, decide_retries, NULL, "a runbook has no tasks; artifacts declare no retries" },
    { "compensations-tested", "F-190", 6, decide_compensations, NULL, "a runbook has no compensations" },
    { "timeouts-deadlines", "F-191", 6, decide_timeouts, NULL, NULL },
    { "cancellation-semantics", "F-192", 6, decide_cancellation, NULL, "a runbook has no compensations" },
    { "secrets-broker", "F-193", 7, decide_secrets, NULL, NULL },
    { "least-privilege", "F-194", 7, decide_privilege, NULL,
      "a runbook has no tasks; artifacts declare no identities" },
    { "network-data-boundaries", "F-195", 7, decide_boundaries, NULL, NULL },
    { "ledger-backup", "F-196", 8, NULL,
      "the target of its backups, and whether it can be reached", NULL, "store", "'maestro store backup'" },
    { "replay-tested", "F-197", 8, NULL,
      "a replay of a run of this plan that matched its ledger", NULL, "store", "'maestro replay RUN --verify'" },
    { "lease-thresholds", "F-198", 8, decide_leases, NULL, "a runbook declares no lease" },
    { "controls-tested", "F-199", 9, NULL,
      "a pause, a resume and a cancel in runs of this version", NULL, "store", "'maestro show RUN --events'" },
    { "dry-run-reviewed", "F-200", 9, NULL,
      "a dry run of this version, and who has reviewed it", NULL, "store", "'maestro plan FILE --dry-run'" },
    { "approvals-exercised", "F-201", 9, decide_exercised, NULL, "a runbook waits for no approval" },
    { "runbooks-linked", "F-202", 10, decide_runbooks, NULL, "a runbook of artifacts links no others" },
    { "ownership-contact", "F-203", 10, decide_ownership, NULL, NULL },
    { "oncall-critical-schedules", "F-204", 10, decide_on_call, NULL, "a runbook has no schedule" },
};
static_assert(sizeof rows / sizeof *rows == PRODUCTION_CHECK_COUNT, "one row for each check of the checklist");

/* --- the story --------------------------------------------------------------------------------------------------- */

static void decide_row(const Production *production, size_t row)
{
    bool is_about_spec = rows[row].decide == decide_schema || rows[row].decide == decide_lint;
    if (rows[row].needs)
        say_open(production, rows[row].where, rows[row].see, "%s", rows[row].needs);
    else if (!production->has_plan && !is_about_spec)
        say(production, ANSWER_UNDECIDED, NULL, "needs a definition without mistakes");
    else if (rows[row].not_of_runbooks && production->plan->kind == PLAN_RUNBOOK)
        say(production, ANSWER_NOT_APPLICABLE, NULL, "%s", rows[row].not_of_runbooks);
    else
        rows[row].decide(production);
}

void production_check(Arena *arena, const Compiled *compiled, const Catalog *catalog, const ProductionFacts *facts, ProductionReport *out)
{
    static const ProductionFacts none;
    Production production = {
        .arena = arena, .compiled = compiled, .catalog = catalog, .facts = facts ? facts : &none, .root = compiled->root, .plan = &compiled->plan,
    };
    *out = (ProductionReport){ 0 };
    production.has_plan = compiled->is_valid && !compiled->is_config;
    if (production.has_plan) {
        collect_nodes(&production);
        approvals_find(arena, &compiled->plan, &production.approvals);
    }
    for (size_t i = 0; i < PRODUCTION_CHECK_COUNT; i++) {
        ProductionResult *result = &out->results[i];
        result->name = rows[i].name;
        result->requirement = rows[i].requirement;
        result->checklist_line = rows[i].line;
        production.result = result;
        decide_row(&production, i);
        out->counts[result->answer]++;
    }
}
