#include <inttypes.h>
#include <stdio.h>

#include "base/utf8.h"
#include "cli/guardrails.h"
#include "cli/human.h"
#include "cli/load.h"
#include "cli/params_read.h"
#include "cli/server_plan.h"
#include "cli/workplace.h"
#include "policy/dry_run.h"
#include "value/json.h"
#include "view/revision_row.h"

static const Option options[] = {
    { "json", 0, NULL, NULL, "Prints the plan's document and digest as JSON; with --dry-run what was found." },
    { "dry-run", 'n', NULL, NULL, "Says what a start would meet: policies, executors, blast radius. Nothing is stored or executed." },
    { "param", 'p', "NAME=VALUE", NULL, "With --dry-run: a parameter of the start.", .repeats = true },
    POLICY_OPTION,
    { "store", 0, "URL", NULL, "With --dry-run: compares with the revision in this store that others rely on." },
    { NULL },
};

/* --- words ------------------------------------------------------------------------------------------------------ */

/* 90000 is "1m30s". */
static void print_ms(Buf *out, int64_t ms)
{
    static const struct {
        const char *unit;
        int64_t ms;
    } units[] = { { "d", 86400000 }, { "h", 3600000 }, { "m", 60000 }, { "s", 1000 }, { "ms", 1 } };
    if (ms == 0) buf_text(out, "0s");
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        if (ms < units[i].ms) continue;
        buf_format(out, "%" PRId64 "%s", ms / units[i].ms, units[i].unit);
        ms %= units[i].ms;
    }
}

static void print_names(Buf *out, const Value *list)
{
    for (uint32_t i = 0; list && i < list->count; i++) {
        if (i) buf_text(out, ", ");
        buf_str(out, value_text(list->items[i]));
    }
}

static void line_text(Buf *out, const char *label, Value object, const char *key)
{
    Str text = value_get_string(object, key, STR(""));
    if (text.len) buf_format(out, "  %-12s %.*s\n", label, STR_ARG(text));
}

static void line_params(Buf *out, Value document)
{
    const Value *params = value_get_text(document, "params");
    for (uint32_t i = 0; params && i < params->count; i++) {
        Value param = params->items[i];
        const Value *otherwise = value_get_text(param, "default");
        Error err;
        buf_format(out, "  %-12s %.*s: %.*s", i ? "" : "params", STR_ARG(value_get_string(param, "name", STR(""))),
                   STR_ARG(value_get_string(param, "type", STR(""))));
        if (otherwise) {
            buf_text(out, " = ");
            if (json_print(out, *otherwise, JSON_COMPACT, &err)) buf_text(out, "?");
        } else if (value_get_bool(param, "required", false)) {
            buf_text(out, " (required)");
        }
        buf_char(out, '\n');
    }
}

static void line_limits(Buf *out, Value document)
{
    const Value *config = value_get_text(document, "config");
    if (!config) return;
    buf_format(out, "  %-12s %" PRId64 " at a time", "limits", value_get_int(*config, "max_concurrency", 10));
    if (value_get_text(*config, "timeout_ms")) {
        buf_text(out, ", at most ");
        print_ms(out, value_get_int(*config, "timeout_ms", 0));
    }
    int64_t micro = value_get_int(*config, "cost_limit_micro", -1);
    if (micro >= 0) buf_format(out, ", cost at most %" PRId64 ".%02" PRId64, micro / 1000000, micro % 1000000 / 10000);
    buf_char(out, '\n');
}

static void print_trigger(Buf *out, Value trigger)
{
    Value kind = trigger.members[0].key, settings = trigger.members[0].value;
    static const char *const telling[] = { "key", "cron", "branch", "name", "topic" };
    buf_str(out, value_text(kind));
    for (size_t i = 0; i < sizeof telling / sizeof *telling; i++) {
        Str text = value_get_string(settings, telling[i], STR(""));
        if (text.len) buf_format(out, " %.*s", STR_ARG(text));
    }
    Str zone = value_get_string(settings, "timezone", STR(""));
    if (zone.len) buf_format(out, " (%.*s)", STR_ARG(zone));
}

static void line_triggers(Buf *out, Value document)
{
    const Value *triggers = value_get_text(document, "triggers");
    for (uint32_t i = 0; triggers && i < triggers->count; i++) {
        buf_format(out, "  %-12s ", i ? "" : "started by");
        print_trigger(out, triggers->items[i]);
        buf_char(out, '\n');
    }
}

static void line_failure(Buf *out, Value document)
{
    const Value *resolution = value_get_text(document, "failure_resolution");
    if (!resolution) return;
    buf_format(out, "  %-12s %.*s", "on failure", STR_ARG(value_get_string(*resolution, "strategy", STR(""))));
    if (value_get_text(*resolution, "max_retries")) {
        buf_format(out, ", %" PRId64 " times after ", value_get_int(*resolution, "max_retries", 0));
        print_ms(out, value_get_int(*resolution, "retry_delay_ms", 0));
        buf_format(out, ", then %.*s", STR_ARG(value_get_string(*resolution, "fallback", STR(""))));
    }
    const Value *tasks = value_get_text(*resolution, "compensate");
    if (tasks) {
        buf_text(out, " of ");
        print_names(out, tasks);
    }
    buf_format(out, "; on cancel %.*s; on timeout %.*s\n", STR_ARG(value_get_string(*resolution, "on_cancel", STR(""))),
               STR_ARG(value_get_string(*resolution, "on_timeout", STR(""))));
}

/* --- steps ------------------------------------------------------------------------------------------------------ */

/* What else a step does, in a few words. */
static void print_notes(Buf *out, const Plan *plan, const PlanStep *step)
{
    size_t from = out->len;
    Value settings = step->settings;
    const Value *retries = value_get_text(settings, "retries"), *poll = value_get_text(settings, "poll");
    const Value *pause = value_get_text(settings, "pause_after"), *gate = value_get_text(settings, "wait_for_signal");
    const Value *undo = value_get_text(settings, "compensation"), *policies = value_get_text(settings, "policies");
    if (retries && value_get_int(*retries, "attempts", 1) > 1)
        buf_format(out, ", %" PRId64 " attempts", value_get_int(*retries, "attempts", 1));
    if (value_get_text(settings, "timeout_ms")) {
        buf_text(out, ", timeout ");
        print_ms(out, value_get_int(settings, "timeout_ms", 0));
    }
    const PlanJob *job = step->job != PLAN_NONE ? &plan->jobs[step->job] : NULL;
    if (job && step == &plan->steps[job->step_first] && value_get_text(job->settings, "when"))
        buf_format(out, ", job when %.*s", STR_ARG(value_get_string(job->settings, "when", STR(""))));
    if (value_get_text(settings, "when"))
        buf_format(out, ", when %.*s", STR_ARG(value_get_string(settings, "when", STR(""))));
    if (step->kind == STEP_BRANCH)
        buf_format(out, ", %.*s by %.*s", STR_ARG(value_get_string(settings, "type", STR(""))),
                   STR_ARG(value_get_string(settings, "select", value_get_string(settings, "condition", STR("")))));
    const Value *end = value_get_text(settings, "terminate_when");
    if (end) buf_format(out, ", ends the run when %.*s", STR_ARG(value_get_string(*end, "condition", STR(""))));
    if (poll) {
        buf_text(out, ", polls every ");
        print_ms(out, value_get_int(*poll, "interval_ms", 0));
    }
    if (pause) buf_format(out, ", pauses for %.*s", STR_ARG(value_get_string(*pause, "trigger", STR(""))));
    if (gate) buf_format(out, ", waits for %.*s", STR_ARG(value_get_string(*gate, "signal", STR(""))));
    if (undo) buf_format(out, ", undone by %.*s", STR_ARG(value_get_string(*undo, "run", STR(""))));
    if (policies && policies->count) {
        buf_text(out, ", policies ");
        print_names(out, policies);
    }
    if (value_get_bool(settings, "output", false)) buf_text(out, ", output");
    if (value_get_bool(settings, "optional", false)) buf_text(out, ", optional");
    if (step->kind == STEP_ARTIFACT)
        buf_format(out, ", %.*s", STR_ARG(value_get_string(settings, "output_schema", STR(""))));
    if (out->len == from) return;
    /* The first comma is none. */
    for (size_t i = from; i + 2 < out->len; i++) out->ptr[i] = out->ptr[i + 2];
    out->len -= 2;
}

static void cell(Buf *out, Str text, size_t width)
{
    size_t used = utf8_width(text);
    buf_str(out, text);
    buf_repeat(out, ' ', (used < width ? width - used : 0) + 2);
}

static void print_steps(Buf *out, const Plan *plan, Arena *arena)
{
    uint32_t *order = ARENA_ARRAY(arena, uint32_t, plan->step_count);
    plan_order(plan, arena, order);
    size_t id_width = 4, runner_width = 6;
    for (uint32_t i = 0; i < plan->step_count; i++) {
        size_t id = utf8_width(plan->steps[i].id), runner = utf8_width(plan->steps[i].runner);
        if (id > id_width && id <= 48) id_width = id;
        if (runner > runner_width && runner <= 32) runner_width = runner;
    }
    buf_text(out, "\n  ");
    cell(out, STR("step"), id_width);
    cell(out, STR("runner"), runner_width);
    buf_text(out, "notes\n");
    for (uint32_t i = 0; i < plan->step_count; i++) {
        const PlanStep *step = &plan->steps[order[i]];
        buf_text(out, "  ");
        cell(out, step->id, id_width);
        cell(out, step->runner.len ? step->runner : STR("-"), runner_width);
        print_notes(out, plan, step);
        while (out->len && out->ptr[out->len - 1] == ' ') out->len--;
        buf_char(out, '\n');
    }
}

static void print_plan(Buf *out, const Plan *plan, Arena *arena)
{
    buf_format(out, "%s %.*s (tenant %.*s)\n", plan_kind_name(plan->kind), STR_ARG(plan->id), STR_ARG(plan->tenant));
    buf_format(out, "  %-12s ", "plan");
    digest_print(out, &plan->digest);
    buf_char(out, '\n');
    line_text(out, "name", plan->document, "name");
    line_text(out, "label", plan->document, "label");
    line_text(out, "description", plan->document, "description");
    line_text(out, "owner", plan->document, "owner");
    line_text(out, "contact", plan->document, "contact");
    line_text(out, "key", plan->document, "idempotency_key");
    line_params(out, plan->document);
    line_limits(out, plan->document);
    line_triggers(out, plan->document);
    line_failure(out, plan->document);
    print_steps(out, plan, arena);
}

static Status print_plan_json(Buf *out, const Plan *plan, Arena *arena, Error *err)
{
    char storage[DIGEST_TEXT_SIZE + 1];
    Buf digest = buf_on(storage, sizeof storage);
    digest_print(&digest, &plan->digest);
    MemberList members = { .arena = arena };
    member_list_add(&members, STR("digest"), value_string(buf_peek(&digest)));
    member_list_add(&members, STR("plan"), plan->document);
    Status status = json_print(out, member_list_object(&members), JSON_PRETTY, err);
    buf_char(out, '\n');
    return status;
}

/* --- dry runs --------------------------------------------------------------------------------------------------- */

static void print_decisions(Buf *out, Value found)
{
    const Value *decisions = value_get_text(found, "decisions");
    for (uint32_t i = 0; i < decisions->count; i++) {
        Value decision = decisions->items[i];
        Str step = value_get_string(decision, "step", STR("the run")), reason = value_get_string(decision, "reason", STR(""));
        if (value_get_bool(decision, "allowed", false)) continue;
        buf_format(out, "  %-12s %.*s at %.*s: %.*s\n", "denied", STR_ARG(step), STR_ARG(value_get_string(decision, "hook", STR(""))),
                   STR_ARG(reason));
    }
}

static void print_dry_run(Buf *out, Value found)
{
    const Value *steps = value_get_text(found, "steps"), *blast = value_get_text(found, "blastRadius");
    const Value *broken = value_get_text(found, "incompatibilities"), *budget = value_get_text(*blast, "budget");
    const Value *version = value_get_text(found, "comparedWith");
    buf_format(out, "a start would be %s\n", value_get_bool(found, "allowed", false) ? "allowed" : "denied");
    print_decisions(out, found);
    buf_format(out, "  %-12s %" PRId64, "weight", value_get_int(*blast, "weight", 0));
    if (budget->kind == VALUE_INT) buf_format(out, " of a budget of %" PRId64, budget->integer);
    buf_char(out, '\n');
    if (version->kind == VALUE_INT)
        buf_format(out, "  %-12s %" PRId64 " differences from revision %" PRId64 "\n", "compared", value_get_int(found, "differenceCount", 0),
                   version->integer);
    for (uint32_t i = 0; i < broken->count; i++) buf_format(out, "  %-12s %.*s\n", "breaks", STR_ARG(value_text(broken->items[i])));
    for (uint32_t i = 0; i < steps->count; i++) {
        Str runner = value_get_string(steps->items[i], "runner", STR(""));
        if (runner.len) buf_format(out, "  %-12s %.*s by %.*s of %.*s\n", i ? "" : "steps",
                                   STR_ARG(value_get_string(steps->items[i], "step", STR(""))), STR_ARG(runner),
                                   STR_ARG(value_get_string(steps->items[i], "executor", STR("nobody that is known"))));
    }
}

/* The revision of the store that was named which others rely on; none where no store was. */
static ExitCode find_before(const Args *args, const Plan *plan, Plan *storage, DryRunAsk *ask)
{
    Store *store;
    Error err;
    const Cell *row = NULL;
    if (!store_is_named(args)) return EXIT_CODE_OK;
    ExitCode code = store_open_existing(args, &store);
    if (code) return code;
    Status status = revision_relied_on(args->arena, store, plan->tenant, plan->id, &row, &err);
    if (!status && row) {
        Digest digest = cell_digest(&row[REVISIONS_digest]);
        status = store_plan(store, args->arena, &digest, storage, &err);
        ask->before = storage;
        ask->before_version = row[REVISIONS_version].integer;
    }
    store_close(store);
    return status ? fail(&err) : EXIT_CODE_OK;
}

static ExitCode dry_here(const Args *args, const Loaded *loaded, Value params, Value *out_found)
{
    Plan storage;
    Guard *guard;
    Error err;
    DryRunAsk ask = { .plan = &loaded->compiled.plan, .params = params, .actor = STR("dry-run"), .now_ms = human_now_ms(),
                      .catalog = loaded->catalog };
    ExitCode code = find_before(args, ask.plan, &storage, &ask);
    if (!code) code = guardrails_open(args, loaded->catalog, ask.plan, &guard);
    if (code) return code;
    Status status = dry_run(guard, &ask, args->arena, out_found, &err);
    guard_close(guard);
    return status ? fail(&err) : EXIT_CODE_OK;
}

static ExitCode dry(const Args *args)
{
    Loaded loaded;
    Value params, found = value_null();
    Buf out;
    Error err;
    ExitCode code = guardrails_refuse_client(args);
    if (!code) code = load_plan_to_run(args, args->operands[0], &loaded);
    if (code) return code;
    if (!params_read(args, "param", &loaded.compiled.plan, &params)) return EXIT_CODE_USAGE;
    code = loaded.is_servers ? server_dry_run(args, loaded.text, loaded.format, params, &found) : dry_here(args, &loaded, params, &found);
    if (code) return code;
    Status status = OK;
    buf_init(&out, 1u << 30);
    if (args_flag(args, "json")) {
        status = json_print(&out, found, JSON_PRETTY, &err);
        buf_char(&out, '\n');
    } else print_dry_run(&out, found);
    if (!status) print_out(&out);
    buf_deinit(&out);
    if (status) return fail(&err);
    return value_get_bool(found, "allowed", false) ? EXIT_CODE_OK : EXIT_CODE_DENIED;
}

static ExitCode run(const Args *args)
{
    Loaded loaded;
    if (args_flag(args, "dry-run")) return dry(args);
    ExitCode code = load_plan(args, args->operands[0], &loaded);
    if (code) return code;
    Buf out;
    Error err;
    Status status = OK;
    buf_init(&out, 1u << 30);
    if (args_flag(args, "json")) status = print_plan_json(&out, &loaded.compiled.plan, args->arena, &err);
    else print_plan(&out, &loaded.compiled.plan, args->arena);
    if (!status) print_out(&out);
    buf_deinit(&out);
    return status ? fail(&err) : EXIT_CODE_OK;
}

const Verb command_plan = {
    .name = "plan",
    .operands = "FILE",
    .operand_count_min = 1,
    .operand_count_max = 1,
    .summary = "Shows the plan that a definition compiles to.",
    .doc =
        "Compiles a definition and shows its steps in the order in which they can run, with everything that was left out\n"
        "filled in. The digest names the plan: the same definition gives the same digest on every machine.\n"
        "\n"
        "--dry-run says what a start with these parameters would meet: what policies say of the run and of each step, where steps would\n"
        "go, how much of the blast-radius budget they weigh, and with --store or --server what differs from the active revision. With\n"
        "--server all of it is that server's. Nothing is stored and nothing executed. Exit code 77: a policy would deny it.",
    .examples = "  maestro plan order.yaml\n  maestro plan --json order.yaml | jq .digest\n"
                "  maestro plan order.yaml --dry-run -p order_id=A-17",
    .options = options,
    .run = run,
};
