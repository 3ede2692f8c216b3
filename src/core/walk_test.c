/* Property tests: random plans, random worlds, random commands. The stage checks every decision (fold, snapshot, lists,
 * numbers, effects); what is checked here besides is that branches take exactly the right steps, and that every run ends. */
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "core/stage_test.h"
#include "harness/random.h"
#include "harness/test.h"
#include "value/json.h"

enum { MODEL_STEPS = 64, MODEL_EDGES = 512, ARM_DEPTH = 6, EXITS = 64 };

typedef struct ModelStep {
    bool is_branch, is_held;            /* is_held: its own condition is false */
    uint32_t arms[ARM_DEPTH], arm_count;    /* branches around it ... */
    char keys[ARM_DEPTH];               /* ... and the case it stands in */
    uint32_t converge;
    char taken[8];                      /* of a branch: keys selected */
    uint32_t job;
    bool is_chained;                    /* goes on with the job of the step before */
} ModelStep;

typedef struct ModelEdge { uint32_t from, to; char key; bool is_data; } ModelEdge;

typedef struct Model {
    Random random;
    ModelStep steps[MODEL_STEPS];
    uint32_t step_count;
    ModelEdge edges[MODEL_EDGES];
    uint32_t edge_count;
    uint32_t loops[4][2];
    uint32_t loop_count;
    uint32_t trigger_count;
    uint8_t follows[MODEL_STEPS][MODEL_STEPS];
    bool is_wild;                       /* with gates, retries, timeouts, loops */
} Model;

typedef struct Exit { uint32_t step; char key; } Exit;
typedef struct Exits { Exit items[EXITS]; uint32_t count; } Exits;
typedef struct Around { uint32_t arms[ARM_DEPTH]; char keys[ARM_DEPTH]; uint32_t count; } Around;

static uint32_t below(Model *model, uint32_t limit)
{
    return random_below(&model->random, limit);
}

/* --- making a plan whose answer is known ---------------------------------------------------------------------------------------- */

static void edge(Model *model, uint32_t from, uint32_t to, char key, bool is_data)
{
    for (uint32_t i = 0; i < model->edge_count; i++)
        if (model->edges[i].from == from && model->edges[i].to == to && model->edges[i].key == key) return;
    if (model->edge_count < MODEL_EDGES) model->edges[model->edge_count++] = (ModelEdge){ from, to, key, is_data };
}

static uint32_t add_step(Model *model, const Around *around, const Exits *before)
{
    uint32_t index = model->step_count++;
    ModelStep *step = &model->steps[index];
    *step = (ModelStep){ .arm_count = around->count, .converge = UINT32_MAX, .is_held = below(model, 5) == 0, .job = index };
    memcpy(step->arms, around->arms, sizeof step->arms);
    memcpy(step->keys, around->keys, sizeof step->keys);
    for (uint32_t i = 0; i < before->count; i++) edge(model, before->items[i].step, index, before->items[i].key, false);
    return index;
}

static Exits one(uint32_t step, char key)
{
    return (Exits){ .items = { { step, key } }, .count = 1 };
}

static void join(Exits *exits, const Exits *more)
{
    for (uint32_t i = 0; i < more->count && exits->count < EXITS; i++) exits->items[exits->count++] = more->items[i];
}

static Exits block(Model *model, const Around *around, Exits before, uint32_t depth);

static Exits task_block(Model *model, const Around *around, const Exits *before)
{
    uint32_t first = add_step(model, around, before), last = first;
    for (uint32_t more = below(model, 3); more && model->step_count < MODEL_STEPS - 8; more--) {
        Exits from = one(last, 0);
        last = add_step(model, around, &from);
        model->steps[last].is_chained = true;
    }
    if (model->is_wild && model->loop_count < 4 && below(model, 6) == 0) {
        model->loops[model->loop_count][0] = first;
        model->loops[model->loop_count++][1] = last;
    }
    return one(last, 0);
}

static Exits branch_block(Model *model, const Around *around, const Exits *before, uint32_t depth)
{
    uint32_t branch = add_step(model, around, before), key_count = 2 + below(model, 2), taken_count = 0;
    ModelStep *step = &model->steps[branch];
    step->is_branch = true;
    uint32_t set = 1 + below(model, (1u << key_count) - 1);
    for (uint32_t k = 0; k < key_count; k++)
        if (set >> k & 1) step->taken[taken_count++] = (char)('a' + k);
    Exits joined = { .count = 0 };
    for (uint32_t k = 0; k < key_count; k++) {
        Around inside = *around;
        inside.arms[inside.count] = branch;
        inside.keys[inside.count++] = (char)('a' + k);
        Exits arm = one(branch, (char)('a' + k));
        if (below(model, 4)) arm = block(model, &inside, arm, depth + 1);       /* else the case is empty */
        join(&joined, &arm);
    }
    uint32_t converge = add_step(model, around, &joined);
    model->steps[branch].converge = converge;
    return one(converge, 0);
}

static Exits block(Model *model, const Around *around, Exits before, uint32_t depth)
{
    if (depth >= ARM_DEPTH - 1 || model->step_count > MODEL_STEPS - 24) return task_block(model, around, &before);
    switch (below(model, 5)) {
    case 0: case 1: return branch_block(model, around, &before, depth);
    case 2: {
        Exits joined = { .count = 0 };
        for (uint32_t i = 0, count = 2 + below(model, 2); i < count; i++) {
            Exits part = block(model, around, before, depth + 1);
            join(&joined, &part);
        }
        return joined;
    }
    case 3: {
        for (uint32_t i = 0, count = 2 + below(model, 2); i < count; i++) before = block(model, around, before, depth + 1);
        return before;
    }
    default: return task_block(model, around, &before);
    }
}

static bool stands_within(const ModelStep *outer, const ModelStep *inner)
{
    if (outer->arm_count > inner->arm_count) return false;
    return memcmp(outer->arms, inner->arms, outer->arm_count * sizeof *outer->arms) == 0
        && memcmp(outer->keys, inner->keys, outer->arm_count) == 0;
}

static void find_follows(Model *model)
{
    memset(model->follows, 0, sizeof model->follows);
    for (uint32_t from = model->step_count; from-- > 0;)
        for (uint32_t e = 0; e < model->edge_count; e++) {
            if (model->edges[e].from != from) continue;
            model->follows[from][model->edges[e].to] = 1;
            for (uint32_t to = 0; to < model->step_count; to++) model->follows[from][to] |= model->follows[model->edges[e].to][to];
        }
}

/* Edges that say when and not whether: from around an arm into it, and what reads an arm's output behind its join. */
static void extra_edges(Model *model)
{
    for (uint32_t tries = below(model, 12); tries; tries--) {
        uint32_t from = below(model, model->step_count), to = below(model, model->step_count);
        if (from >= to || model->steps[from].is_branch) continue;
        const ModelStep *a = &model->steps[from], *b = &model->steps[to];
        if (stands_within(a, b)) {
            edge(model, from, to, 0, below(model, 2));
        } else if (stands_within(b, a)) {
            bool is_behind = true;
            find_follows(model);
            for (uint32_t i = b->arm_count; i < a->arm_count; i++) {
                uint32_t converge = model->steps[a->arms[i]].converge;
                is_behind = is_behind && (converge == to || model->follows[converge][to]);
            }
            if (is_behind) edge(model, from, to, 0, true);
        }
    }
}

static int by_ends(const void *a, const void *b)
{
    const ModelEdge *x = a, *y = b;
    if (x->from != y->from) return x->from < y->from ? -1 : 1;
    if (x->to != y->to) return x->to < y->to ? -1 : 1;
    return x->key - y->key;
}

static void make_model(Model *model, uint64_t seed, bool is_wild)
{
    *model = (Model){ .random = { seed }, .is_wild = is_wild };
    Around top = { .count = 0 };
    Exits before = { .count = 0 };
    for (uint32_t i = 0, count = 1 + below(model, 3); i < count; i++) before = block(model, &top, before, 0);
    extra_edges(model);
    qsort(model->edges, model->edge_count, sizeof *model->edges, by_ends);
    /* Of two plain edges between the same steps one is enough. */
    uint32_t kept = 0;
    for (uint32_t e = 0; e < model->edge_count; e++) {
        ModelEdge *last = kept ? &model->edges[kept - 1] : NULL;
        if (last && last->from == model->edges[e].from && last->to == model->edges[e].to && last->key == model->edges[e].key) continue;
        model->edges[kept++] = model->edges[e];
    }
    model->edge_count = kept;
}

static void print_wild(Model *model, Buf *buf)
{
    if (below(model, 3) == 0)
        buf_format(buf, ",\"retries\":{\"attempts\":%u,\"delay_ms\":%u,\"jitter_ms\":5}", 1 + below(model, 3),
                   below(model, 50));
    if (below(model, 4) == 0) buf_format(buf, ",\"timeout_ms\":%u", 1 + below(model, 200));
    if (below(model, 6) == 0)
        buf_format(buf, ",\"wait_for_signal\":{\"signal\":\"go\",\"when\":\"%s\"%s}", below(model, 2) ? "after" : "before",
                   below(model, 2) ? ",\"timeout_ms\":100" : "");
    static const char *const poll_actions[] = { "FailWorkflow", "PauseWorkflow", "ContinueWithDefault" };
    if (below(model, 6) == 0)
        buf_format(
            buf,
            ",\"poll\":{\"interval_ms\":%u,\"max_duration_ms\":%u,\"max_attempts\":%u,\"backoff\":\"%s\",\"on_timeout\":\"%s\",\"on_abort\":\"%s\","
            "\"default_output\":{\"no\":1}}", 1 + below(model, 60), 100 + below(model, 300), 1 + below(model, 5),
            below(model, 2) ? "fixed" : "exponential", poll_actions[below(model, 3)], poll_actions[below(model, 3)]);
    static const char *const pause_actions[] = { "FailWorkflow", "Reminder", "AutoApprove" };
    if (below(model, 6) == 0) {
        buf_format(buf, ",\"pause_after\":{\"trigger\":\"t%u\"", model->trigger_count++);
        uint32_t sort = below(model, 4);
        if (sort == 1) buf_format(buf, ",\"auto_resume_after_ms\":%u", 1 + below(model, 100));
        if (sort == 2) buf_text(buf, ",\"resume_when\":\"payload ok\"");
        if (sort >= 2) buf_format(buf, ",\"timeout_ms\":%u,\"on_timeout\":\"%s\",\"reminders\":2,\"default_payload\":{\"ok\":true}",
                                  1 + below(model, 100), pause_actions[below(model, 3)]);
        buf_text(buf, "}");
    }
    if (below(model, 12) == 0)
        buf_format(buf, ",\"terminate_when\":{\"condition\":\"%s\",\"state\":\"%s\",\"reason\":\"enough\"}",
                   below(model, 3) ? "no" : "yes", below(model, 2) ? "SUCCEEDED" : "FAILED");
    static const char *const strategies[] = { "replay-safe", "dedupe-key", "effect-recorded" };
    buf_format(buf, ",\"strategy\":\"%s\"", strategies[below(model, 3)]);
    if (below(model, 5) == 0) buf_text(buf, ",\"key\":\"k-${run.iteration}\"");
    if (below(model, 2))
        buf_format(buf,
                   ",\"compensation\":{\"run\":\"undo\",\"timeout_ms\":%u,\"retries\":{\"attempts\":%u,\"delay_ms\":%u,\"jitter_ms\":5}}",
                   50 + below(model, 100), 1 + below(model, 3), below(model, 30));
}

/* As a workflow, every chain is a job; as a step tree, there are none. */
static void print_model(Model *model, Buf *buf, bool has_jobs)
{
    uint32_t job_count = 0;
    buf_format(buf, "{\"format\":1,\"kind\":\"%s\",\"id\":\"w\",\"tenant\":\"t\",\"config\":{\"max_concurrency\":%u},",
               has_jobs ? "workflow" : "step-tree", 1 + below(model, 6));
    if (model->is_wild) {
        if (below(model, 2)) buf_text(buf, "\"failure_mode\":\"continue-independent\",");
        if (below(model, 2)) buf_text(buf, "\"on_fail_fast\":\"cancel\",");
        static const char *const strategies[] = { "AWAIT_DECISION", "AUTO_RETRY", "AUTO_COMPENSATE" };
        buf_format(buf, "\"failure_resolution\":{\"strategy\":\"%s\",\"max_retries\":2,\"retry_delay_ms\":%u,\"on_cancel\":\"%s\"},",
                   strategies[below(model, 3)], below(model, 60), below(model, 2) ? "COMPENSATE" : "NO_COMPENSATE");
    }
    static const char *const reactions[] = { "\"pause_all\"", "\"policy_recheck\"", "\"resume\"", "\"cancel\"", "\"compensate_all\"",
        "{\"short_circuit\":{\"outcome\":\"failed\"}}", "{\"short_circuit\":{\"outcome\":\"succeeded\"}}",
        "{\"short_circuit\":{\"target\":\"s0\",\"outcome\":\"skipped\"}}", "{\"short_circuit\":{\"target\":\"s1\",\"outcome\":\"succeeded\"}}",
        "{\"short_circuit\":{\"target\":\"s1\",\"outcome\":\"failed\"}}" };
    if (model->is_wild && model->step_count > 1 && below(model, 3) == 0)
        buf_format(buf, "\"on_signal\":{\"react\":[%s,%s]},", reactions[below(model, 10)], reactions[below(model, 10)]);
    buf_text(buf, "\"steps\":[");
    for (uint32_t i = 0; i < model->step_count; i++) {
        const ModelStep *step = &model->steps[i];
        if (!step->is_chained) job_count++;
        buf_format(buf, "%s{\"id\":\"s%u\",\"kind\":\"%s\"", i ? "," : "", i, step->is_branch ? "branch" : "task");
        if (has_jobs) buf_format(buf, ",\"job\":%u", job_count - 1);
        if (step->is_held) buf_text(buf, below(model, 2) ? ",\"when\":\"no\"" : ",\"when\":\"undefined\"");
        else if (below(model, 4) == 0) buf_text(buf, ",\"when\":\"yes\"");
        if (step->is_branch) {
            buf_format(buf, ",\"type\":\"inclusive\",\"cases\":[\"a\",\"b\",\"c\"],\"converge\":%u,\"select\":\"pick ", step->converge);
            for (const char *key = step->taken; *key; key++) buf_format(buf, "%s%c", key == step->taken ? "" : ",", *key);
            buf_text(buf, "\"");
        } else if (model->is_wild) {
            print_wild(model, buf);
        }
        buf_text(buf, "}");
    }
    buf_text(buf, "],\"edges\":[");
    for (uint32_t e = 0; e < model->edge_count; e++) {
        const ModelEdge *one_edge = &model->edges[e];
        buf_format(buf, "%s[%u,%u,", e ? "," : "", one_edge->from, one_edge->to);
        if (one_edge->key) buf_format(buf, "\"branch\",\"%c\"]", one_edge->key);
        else buf_text(buf, one_edge->is_data ? "\"data\"]" : "\"order\"]");
    }
    buf_text(buf, "],\"loops\":[");
    for (uint32_t l = 0; l < model->loop_count; l++)
        buf_format(buf, "%s{\"head\":%u,\"tail\":%u,\"max_iterations\":%u,\"on_max\":\"%s\",\"when\":\"rounds %u\"}",
                   l ? "," : "", model->loops[l][0], model->loops[l][1], 1 + below(model, 3),
                   below(model, 2) ? "fail" : "continue", 1 + below(model, 3));
    buf_text(buf, "]");
    if (has_jobs) {
        static const char *const priorities[] = { "low", "normal", "high", "critical" };
        buf_text(buf, ",\"jobs\":[");
        for (uint32_t j = 0; j < job_count; j++)
            buf_format(buf, "%s{\"id\":\"j%u\",\"priority\":\"%s\"}", j ? "," : "", j, priorities[below(model, 4)]);
        buf_text(buf, "]");
    }
    buf_text(buf, "}");
}

/* --- the reference: which steps run ------------------------------------------------------------------------------------------------ */

static SkipReason expected(const Model *model, uint32_t index)
{
    const ModelStep *step = &model->steps[index];
    for (uint32_t i = 0; i < step->arm_count; i++) {
        const ModelStep *branch = &model->steps[step->arms[i]];
        if (branch->is_held || !strchr(branch->taken, step->keys[i])) return SKIP_NOT_ON_ACTIVE_BRANCH;
    }
    return step->is_held ? SKIP_CONDITION_FALSE : SKIP_NONE;
}

TEST(branches_and_joins_run_exactly_the_steps_they_should, "proves: F-027 F-029 F-030 F-066 C-40")
{
    static Model model;
    for (uint64_t round = 1; round <= 3000; round++) {
        make_model(&model, round * UINT64_C(0x9e3779b97f4a7c15) | 1, false);
        Buf plan;
        buf_init(&plan, 1 << 20);
        print_model(&model, &plan, round & 1);
        Stage s;
        char name[64];
        Buf label = buf_on(name, sizeof name - 1);
        buf_format(&label, "round %u", (unsigned)round);
        name[label.len] = '\0';
        ROW(name);
        bool is_open = stage_open_str(&s, buf_peek(&plan));
        buf_deinit(&plan);
        if (!is_open) return;
        s.is_fast = round % 10 != 0;                                /* every tenth is checked throughout */
        bool is_right = EXPECT_OK(stage_start(&s, "{}"), &s.err);
        for (uint32_t guard = 0; guard < 1000 && s.run.state == RUN_RUNNING && is_right; guard++) {
            uint32_t pick = random_below(&model.random, s.run.active_count ? s.run.active_count : 1);
            if (!EXPECT(s.run.active_count > 0)) break;
            uint32_t step = s.run.active[pick].step;
            /* F-066: everything before it has ended. */
            for (uint32_t e = 0; e < model.edge_count; e++)
                if (model.edges[e].to == step) is_right = is_right && EXPECT(step_state_is_final((StepState)s.run.steps[model.edges[e].from].state));
            Command report = { .kind = COMMAND_REPORT, .step = step, .attempt = 1, .holder = holder_make(1, 1) };
            is_right = is_right && EXPECT_OK(stage_do(&s, &report), &s.err);
        }
        is_right = is_right && EXPECT_INT(s.run.state, RUN_SUCCEEDED);
        for (uint32_t i = 0; i < model.step_count && is_right; i++) {
            SkipReason reason = expected(&model, i);
            is_right = EXPECT_INT(s.run.steps[i].state, reason ? STEP_SKIPPED : STEP_SUCCEEDED);
            if (reason) is_right = is_right && EXPECT_INT(s.run.steps[i].cause, reason);
        }
        stage_close(&s);
        if (!is_right) return;
    }
}

/* --- walks ----------------------------------------------------------------------------------------------------------------------------- */

static void random_world(Model *model, Stage *s)
{
    static const PlaceKind places[] = { PLACE_HERE, PLACE_HERE, PLACE_HERE, PLACE_THERE, PLACE_LATER, PLACE_DEFERRED };
    s->place = places[below(model, 6)];
    for (int hook = 0; hook < HOOK_COUNT; hook++)
        s->verdicts[hook] = below(model, 12) ? VERDICT_ALLOW : below(model, 2) ? VERDICT_DENY : VERDICT_LATER;
    static const DedupeKind kinds[] = { DEDUPE_NONE, DEDUPE_NONE, DEDUPE_DONE, DEDUPE_UNDER_WAY, DEDUPE_MISSING };
    s->dedupe = (Dedupe){ .kind = kinds[below(model, 5)], .source = STR("other"), .output = value_int(1) };
    s->schema_error = NULL;
}

/* What people decide, whether it fits or not. */
static void random_decision(Model *model, Stage *s, Command *command)
{
    static const CommandKind kinds[] = { COMMAND_RESOLVE, COMMAND_RESOLVE, COMMAND_RETRY_FROM, COMMAND_COMPENSATE, COMMAND_RETRY_COMPENSATION,
                                         COMMAND_SKIP_COMPENSATION };
    command->kind = kinds[below(model, 6)];
    command->decision = (DecisionKind)below(model, DECISION_KIND_COUNT);
    if (below(model, 3)) command->decision = DECISION_RETRY;
    command->scope = below(model, 3) ? SCOPE_FULL : SCOPE_FROM_STEP;
    command->mode = (RetryMode)below(model, RETRY_MODE_COUNT);
    command->unknown = (UnknownEffect)below(model, 3);
    command->includes = below(model, 3) == 0;
    command->name = command->kind == COMMAND_SKIP_COMPENSATION ? STR("") : s->plan.steps[below(model, s->plan.step_count)].id;
}

static Command random_command(Model *model, Stage *s)
{
    Command command = { .kind = COMMAND_REPORT, .name = STR("go"), .value = value_null() };
    static char trigger[8];
    static const Cause causes[] = { CAUSE_NONE, CAUSE_NONE, CAUSE_NONE, CAUSE_NONE, CAUSE_TRANSIENT, CAUSE_ERROR, CAUSE_PERMANENT, CAUSE_POLICY };
    if (s->run.active_count) {
        const ActiveStep *active = &s->run.active[below(model, s->run.active_count)];
        command.step = active->step;
        command.attempt = s->run.steps[active->step].attempt;
        command.holder = below(model, 20) ? active->holder : 3;
        if (s->run.steps[active->step].state == STEP_DISPATCHED) command.kind = COMMAND_ACCEPT, command.holder = holder_make(s->epoch, 5);
    }
    const Compensation *item = run_compensation(&s->run);
    if (item) {
        command = stage_undo_report(s);
        if (item->state == COMPENSATION_RUNNING && !command.holder) command.kind = COMMAND_ACCEPT, command.holder = holder_make(s->epoch, 5);
        if (below(model, 20) == 0) command.attempt ^= 1u << ROLLBACK_SHIFT;
    }
    bool is_failed = s->run.state == RUN_FAILED || s->run.state == RUN_COMPENSATION_FAILED;
    if (below(model, is_failed ? 2 : 40) == 0) {
        random_decision(model, s, &command);
        return command;
    }
    command.report = (Report){ .cause = causes[below(model, 8)], .message = STR("no"), .output = below(model, 2) ? value_int(7) : value_null() };
    bool is_polled = s->run.active_count && step_polls(&s->plan.terms->steps[command.step]) && command.kind == COMMAND_REPORT;
    static const char *const polled[] = { "{\"complete\":true,\"output\":3}", "{\"complete\":false}",
                                          "{\"continue\":true,\"nextInterval\":0.05}",
                                          "{\"complete\":false,\"continue\":false}",
                                          "{\"complete\":false,\"output\":{\"at\":1}}", "{\"complete\":1}" };
    Error err;
    if (is_polled && below(model, 12)) (void)!json_parse(&s->log_arena, str_of(polled[below(model, 6)]), &command.report.output, &err);
    Buf text = buf_on(trigger, sizeof trigger);
    buf_format(&text, "t%u", below(model, model->trigger_count + 1));
    switch (below(model, 28)) {
    case 11: case 12: case 13:
        command.kind = COMMAND_TRIGGER;
        command.name = buf_peek(&text);
        command.is_denial = below(model, 10) == 0;
        (void)!json_parse(&s->log_arena, below(model, 3) ? STR("{\"ok\":true}") : STR("{\"ok\":false}"), &command.value, &err);
        break;
    case 0: command.kind = COMMAND_PAUSE; break;
    case 1: case 2: command.kind = COMMAND_RESUME; break;
    case 3: if (below(model, 6) == 0) command.kind = COMMAND_CANCEL; break;
    case 14: case 15: case 16:                                      /* of one job, whether it fits or not */
        command.kind = below(model, 12) == 0 ? COMMAND_CANCEL : below(model, 2) ? COMMAND_PAUSE : COMMAND_RESUME;
        command.job = s->plan.job_count ? s->plan.jobs[below(model, s->plan.job_count)].id : STR("none");
        break;
    case 4: case 5: case 6:
        command.kind = COMMAND_SIGNAL;
        command.is_denial = below(model, 8) == 0;
        if (below(model, 3) == 0) command.name = STR("react");
        break;
    case 7:
        command.kind = COMMAND_EFFECT;
        command.is_committed = below(model, 2);
        command.is_withdrawn = !command.is_committed && below(model, 3) == 0;
        command.value = value_int(5);
        break;
    case 8: command.kind = below(model, 2) ? COMMAND_ORPHANED : COMMAND_SPENT; break;
    case 9:
        command.kind = below(model, 3) ? COMMAND_RECOVER : COMMAND_RELEASE;
        if (command.kind == COMMAND_RECOVER) s->epoch++;
        command.holder = holder_make(s->epoch, 0);
        break;
    case 10: command.kind = COMMAND_COST; command.number = below(model, 100); break;
    default: break;
    }
    return command;
}

static void resume_jobs(Stage *s)
{
    bool may_resume = s->run.state == RUN_RUNNING || s->run.state == RUN_PAUSED || s->run.state == RUN_WAITING_SIGNAL;
    for (uint32_t j = 0; may_resume && j < s->run.job_count && !run_is_winding(&s->run); j++) {
        const JobRun *job = &s->run.jobs[j];
        if (!(job->flags & JOB_PAUSED) || !job->open) continue;
        Command resume = { .kind = COMMAND_RESUME, .job = s->plan.jobs[j].id, .value = value_null() };
        EXPECT_OK(stage_do(s, &resume), &s->err);
    }
}

/* A friendly world: everything is allowed and succeeds. True where the run has settled. */
static bool bring_to_an_end(Stage *s)
{
    s->place = PLACE_HERE;
    s->room = UINT32_MAX;
    memset(s->verdicts, 0, sizeof s->verdicts);
    s->dedupe.kind = DEDUPE_NONE;
    for (uint32_t guard = 0; guard < 10000; guard++) {
        if (run_state_is_settled((RunState)s->run.state, (Resolution)s->run.resolution)) return true;
        stage_more(s);
        resume_jobs(s);
        bool is_paused = s->run.state == RUN_PAUSED && !run_is_winding(&s->run);
        if (is_paused && stage_kind(s, COMMAND_RESUME)) {
            Str name = s->plan.terms->steps[s->run.awaited.step].pause.trigger;
            Command trigger = { .kind = COMMAND_TRIGGER, .name = name, .value = value_null() };
            Error err;
            (void)!json_parse(&s->log_arena, STR("{\"ok\":true}"), &trigger.value, &err);
            EXPECT_OK(stage_do(s, &trigger), &s->err);
        }
        Command command = { .kind = COMMAND_TIMER, .name = STR("go"), .value = value_null() };
        if (s->run.state == RUN_COMPENSATING || s->run.state == RUN_FAILED) stage_wait(s, 1000);
        if (run_compensation(&s->run)) {
            command = stage_undo_report(s);
            if (!command.holder) command.kind = COMMAND_ACCEPT, command.holder = 77;
        } else if (s->run.active_count) {
            const ActiveStep *active = &s->run.active[guard % s->run.active_count];
            StepState state = (StepState)s->run.steps[active->step].state;
            command.step = active->step;
            command.attempt = s->run.steps[active->step].attempt;
            command.holder = active->holder;
            if (state == STEP_RUNNING) command.kind = COMMAND_REPORT;
            Error err;
            if (state == STEP_RUNNING && step_polls(&s->plan.terms->steps[active->step]))
                (void)!json_parse(&s->log_arena, STR("{\"complete\":true}"), &command.report.output, &err);
            if (state == STEP_POLLING) stage_wait(s, 1000);
            if (state == STEP_WAITING_SIGNAL) command.kind = COMMAND_SIGNAL;
            if (state == STEP_DISPATCHED) command.kind = COMMAND_ACCEPT, command.holder = 77;
            if (state == STEP_QUEUED) stage_wait(s, 1000);
        }
        (void)!stage_do(s, &command);
    }
    return false;
}

/* Every effect is undone at most once, and only work that was done; in a rollback, what ended last goes first. */
static void check_undone(const Stage *s)
{
    static uint8_t is_undone[MODEL_STEPS];
    memset(is_undone, 0, sizeof is_undone);
    for (size_t i = 0; i < s->log_count; i++) {
        const Event *event = &s->log[i];
        if (event->kind == EVENT_STEP_SUPERSEDED || event->kind == EVENT_LOOP_REPEATED) is_undone[event->step] = 0;
        if (event->kind == EVENT_LOOP_REPEATED) memset(is_undone, 0, sizeof is_undone);
        if (event->kind != EVENT_COMPENSATION_SUCCEEDED) continue;
        EXPECT(!is_undone[event->step]);
        is_undone[event->step] = 1;
    }
    const Rollback *rollback = &s->run.rollback;
    bool is_there = s->run.state == RUN_COMPENSATED || s->run.state == RUN_COMPENSATION_FAILED;
    for (uint32_t i = 0; is_there && i < rollback->count; i++) {
        const StepRun *step = &s->run.steps[rollback->items[i].step];
        EXPECT(step->attempt > 0);
        EXPECT(step_is_done(step) || step->flags & (STEP_EFFECT_INTENDED | STEP_EFFECT_COMMITTED | STEP_WORK_DONE));
        if (i) EXPECT(step->need_left < s->run.steps[rollback->items[i - 1].step].need_left);
        EXPECT(rollback->items[i].attempt <= rollback->items[i].attempt_max);
    }
}

TEST(whatever_happens_the_fold_of_the_events_is_the_run_and_every_run_ends, "proves: F-084 F-205 C-08 C-20 R-047 F-061 A-074 A-089")
{
    static Model model;
    uint64_t decisions = 0;
    uint32_t ends[RUN_STATE_COUNT] = { 0 };
    for (uint64_t round = 1; round <= 2500; round++) {
        make_model(&model, round * UINT64_C(0xd1342543de82ef95) | 1, true);
        Buf plan;
        buf_init(&plan, 1 << 20);
        print_model(&model, &plan, round & 1);
        Stage s;
        char name[64];
        Buf label = buf_on(name, sizeof name - 1);
        buf_format(&label, "walk %u", (unsigned)round);
        name[label.len] = '\0';
        ROW(name);
        bool is_open = stage_open_str(&s, buf_peek(&plan));
        buf_deinit(&plan);
        if (!is_open) return;
        random_world(&model, &s);
        s.verdicts[HOOK_RUN_START] = VERDICT_ALLOW;
        if (!EXPECT_OK(stage_start(&s, "{}"), &s.err)) return;
        for (uint32_t i = 0, count = below(&model, 80); i < count; i++) {
            random_world(&model, &s);
            if (below(&model, 3) == 0) s.now += below(&model, 60);
            Command command = random_command(&model, &s);
            if (below(&model, 4) == 0) command.kind = COMMAND_TIMER;
            (void)!stage_do(&s, &command);
            if (below(&model, 4) == 0) stage_more(&s);
            decisions++;
        }
        bool is_over = EXPECT(bring_to_an_end(&s));
        EXPECT_INT(s.run.open_count, 0);
        check_undone(&s);
        for (uint32_t i = 0; i < s.run.step_count; i++)
            EXPECT(s.run.steps[i].retry < s.plan.terms->steps[i].retry.attempt_count_max || !step_works(&s.plan.steps[i]));
        ends[s.run.state]++;
        stage_close(&s);
        if (!is_over) return;
    }
    EXPECT(decisions > 50000);
    EXPECT(ends[RUN_SUCCEEDED] > 100 && ends[RUN_FAILED] > 100 && ends[RUN_CANCELLED] > 100
           && ends[RUN_COMPENSATED] > 100);                         /* the walks go everywhere */
}
