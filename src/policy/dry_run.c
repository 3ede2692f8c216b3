#include "policy/dry_run.h"

#include <string.h>

#include "base/limits.h"
#include "core/input.h"
#include "core/run_apply.h"
#include "core/terms.h"
#include "lang/compatibility.h"
#include "value/value_diff.h"

typedef struct Trial {
    Guard *guard;
    const DryRunAsk *ask;
    Arena *arena;
    Value start;                    /* {"params", "payload"}, defaults filled in */
    Command command;
    ValueList decisions;
    bool is_denied;
} Trial;

static void add(MemberList *members, const char *name, Value value) { member_list_add(members, str_of(name), value); }

/* --- what policies say ------------------------------------------------------------------------------------------------ */

static bool read_start(void *context, const Run *run, Value *out)
{
    (void)run;
    *out = ((const Trial *)context)->start;
    return true;
}

static void ask_policies(Trial *trial, Hook hook, const Run *run, uint32_t step, Value input)
{
    MemberList members = { .arena = trial->arena };
    const Plan *plan = trial->ask->plan;
    VerdictAsk ask = { .hook = hook, .plan = plan, .run = run, .step = step, .input = input, .command = &trial->command,
                       .now_ms = trial->ask->now_ms, .arena = trial->arena, .params = read_start, .context = trial };
    Verdict verdict = guard_verdict(trial->guard, &ask);
    bool is_allowed = verdict.kind == VERDICT_ALLOW;
    trial->is_denied |= !is_allowed;
    add(&members, "hook", value_string(str_of(hook_name(hook))));
    add(&members, "step", step == STEP_NONE ? value_null() : value_string(plan->steps[step].id));
    add(&members, "allowed", value_bool(is_allowed));
    add(&members, "policies", digest_value(trial->arena, &verdict.policy));
    if (verdict.name.len) add(&members, "policy", value_string(arena_copy(trial->arena, verdict.name)));
    if (verdict.text.len) add(&members, "reason", value_string(arena_copy(trial->arena, verdict.text)));
    value_list_add(&trial->decisions, member_list_object(&members));
}

/* The start itself is told what policies say of it, and goes on. */
static Verdict verdict_of_start(void *context, Hook hook, const Plan *plan, const Run *run, uint32_t step, Value input)
{
    Trial *trial = context;
    (void)plan;
    trial->start = input;
    ask_policies(trial, hook, run, step, input);
    return (Verdict){ .kind = VERDICT_ALLOW };
}

/* --- steps -------------------------------------------------------------------------------------------------------------- */

static Value step_input(const Trial *trial, const PlanStep *step)
{
    const Value *written = value_get_text(step->settings, "input");
    InputResult filled = { 0 };
    if (!written) return value_null();
    return input_fill_start(trial->start, trial->arena, *written, &filled) == INPUT_OK ? filled.value : *written;
}

/* Where its runner is offered; null: nowhere that is known. */
static Value executor_of(const Trial *trial, Str runner)
{
    CatalogEntry offer;
    bool is_offered = trial->ask->catalog && catalog_offer(trial->ask->catalog, runner, trial->ask->plan->tenant, &offer);
    return is_offered ? value_string(arena_copy(trial->arena, offer.origin)) : value_null();
}

static Value try_steps(Trial *trial, const Run *run, uint64_t *out_weight)
{
    const Plan *plan = trial->ask->plan;
    ValueList steps = { .arena = trial->arena };
    for (uint32_t i = 0; i < plan->step_count; i++) {
        const PlanStep *step = &plan->steps[i];
        MemberList members = { .arena = trial->arena };
        Str when = value_get_string(step->settings, "when", STR(""));
        uint32_t weight = plan->terms->steps[i].weight;
        *out_weight += weight;
        add(&members, "step", value_string(step->id));
        add(&members, "runner", step->runner.len ? value_string(step->runner) : value_null());
        add(&members, "executor", step->runner.len ? executor_of(trial, step->runner) : value_null());
        add(&members, "when", when.len ? value_string(when) : value_null());
        add(&members, "weight", value_int(weight));
        value_list_add(&steps, member_list_object(&members));
        if (step->runner.len) ask_policies(trial, HOOK_STEP_DISPATCH, run, i, step_input(trial, step));
    }
    return value_list_array(&steps);
}

/* --- what is there already ------------------------------------------------------------------------------------------------ */

static void add_comparison(const Trial *trial, MemberList *members)
{
    const DryRunAsk *ask = trial->ask;
    ValueDiff diff = { .list = { .arena = trial->arena }, .count_max = DIFF_LINE_COUNT_MAX };
    Compatibility *found = ARENA_NEW(trial->arena, Compatibility);
    if (ask->before) {
        value_diff(&diff, STR(""), ask->before->document, ask->plan->document);
        compatibility_compare(trial->arena, ask->before, ask->plan, found);
    }
    add(members, "comparedWith", ask->before ? value_int(ask->before_version) : value_null());
    add(members, "incompatibilities", compatibility_list(trial->arena, found));
    add(members, "differences", value_list_array(&diff.list));
    add(members, "differenceCount", value_int(diff.total));
}

static Value blast_radius(const Trial *trial, uint64_t weight)
{
    MemberList members = { .arena = trial->arena };
    const PlanTerms *terms = trial->ask->plan->terms;
    add(&members, "weight", value_int((int64_t)weight));
    add(&members, "budget", terms->has_blast_max ? value_int(terms->blast_max) : value_null());
    add(&members, "exceeded", value_bool(terms->has_blast_max && weight > terms->blast_max));
    return member_list_object(&members);
}

Status dry_run(Guard *guard, const DryRunAsk *ask, Arena *arena, Value *out, Error *err)
{
    Trial trial = { .guard = guard, .ask = ask, .arena = arena, .decisions = { .arena = arena },
                    .command = { .actor = ask->actor, .value = value_null(), .report.output = value_null() } };
    StartRequest request = { .params = ask->params, .payload = value_null(), .source = STR("dry-run") };
    DecideEnv env = { .context = &trial, .verdict = verdict_of_start };
    MemberList members = { .arena = arena };
    Id id = { { 0 } };
    Decision decision;
    Run run;
    uint64_t weight = 0;
    memset(id.text, '0', ID_SIZE);                              /* of no run */
    decision_init(&decision, arena);
    run_init(&run, ask->plan, &id, /* run_no= */ 0);
    Status status = decide_start(&env, ask->plan, &run, &request, &trial.command, ask->now_ms, &decision, err);
    if (!status) {
        EventPlace place = { ask->now_ms, 1 };
        Str key = arena_copy(arena, decision.events[0].key);
        for (uint32_t i = 0; i < decision.event_count; i++) run_apply(&run, ask->plan, &decision.events[i], &place);
        Value steps = try_steps(&trial, &run, &weight);
        add(&members, "namespace", value_string(ask->plan->tenant));
        add(&members, "workflowId", value_string(ask->plan->id));
        add(&members, "digest", digest_value(arena, &ask->plan->digest));
        add(&members, "allowed", value_bool(!trial.is_denied));
        add(&members, "parameters", *value_get_text(trial.start, "params"));
        add(&members, "key", key.len ? value_string(key) : value_null());
        add(&members, "decisions", value_list_array(&trial.decisions));
        add(&members, "steps", steps);
        add(&members, "blastRadius", blast_radius(&trial, weight));
        add_comparison(&trial, &members);
        *out = member_list_object(&members);
    }
    run_deinit(&run);
    return status;
}
