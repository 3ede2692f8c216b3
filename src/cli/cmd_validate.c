#include <stdio.h>

#include "cli/load.h"

static const Option options[] = {
    { "json", 0, NULL, NULL, "Prints the results as JSON on standard output." },
    { "strict", 0, NULL, NULL, "Counts warnings as errors." },
    { "quiet", 'q', NULL, NULL, "Says nothing about files without mistakes." },
    { NULL },
};

static bool is_good(const Args *args, const Compiled *compiled)
{
    return compiled->is_valid && !(args_flag(args, "strict") && compiled->diagnostics.warning_count);
}

static void print_good(const Args *args, const Loaded *loaded)
{
    const Plan *plan = &loaded->compiled.plan;
    char storage[] = "\x1b[32mok\x1b[0m";
    Buf green = buf_on(storage, sizeof storage);
    green.len = sizeof storage - 1;
    if (args_color(args, 1)) print_tinted(&green);
    else print_format("ok");
    if (loaded->compiled.is_config) {
        print_format("  %s: configuration\n", loaded->path);
        return;
    }
    print_format("  %s: %s %.*s, ", loaded->path, plan_kind_name(plan->kind), STR_ARG(plan->id));
    if (plan->job_count) print_format("%u job%s, ", plan->job_count, plan->job_count == 1 ? "" : "s");
    print_format("%u %s%s\n", plan->step_count, plan->kind == PLAN_RUNBOOK ? "artifact" : "step",
           plan->step_count == 1 ? "" : "s");
}

static Value result_value(const Args *args, const Loaded *loaded)
{
    const Compiled *compiled = &loaded->compiled;
    MemberList members = { .arena = args->arena };
    member_list_add(&members, STR("file"), value_string(str_of(loaded->path)));
    member_list_add(&members, STR("valid"), value_bool(is_good(args, compiled)));
    member_list_add(&members, STR("diagnostics"), diagnostics_value(&compiled->diagnostics, args->arena));
    if (compiled->is_config) member_list_add(&members, STR("kind"), value_string(STR("configuration")));
    if (compiled->is_valid && !compiled->is_config) {
        char storage[DIGEST_TEXT_SIZE + 1];
        Buf digest = buf_on(storage, sizeof storage);
        digest_print(&digest, &compiled->plan.digest);
        member_list_add(&members, STR("kind"), value_string(str_of(plan_kind_name(compiled->plan.kind))));
        member_list_add(&members, STR("id"), value_string(compiled->plan.id));
        member_list_add(&members, STR("digest"), value_string(arena_copy(args->arena, buf_peek(&digest))));
    }
    return member_list_object(&members);
}

/* For `validate-runbook`: whatever else a file may be, a runbook it must be. */
static ExitCode require_runbook(const Loaded *loaded)
{
    const Compiled *compiled = &loaded->compiled;
    if (!compiled->is_valid || (!compiled->is_config && compiled->plan.kind == PLAN_RUNBOOK)) return EXIT_CODE_OK;
    print_note("maestro: %s is no runbook but a %s\n", loaded->path,
            compiled->is_config ? "configuration" : plan_kind_name(compiled->plan.kind));
    return EXIT_CODE_DATA;
}

static ExitCode validate(const Args *args, bool only_runbooks)
{
    ExitCode worst = EXIT_CODE_OK;
    ValueList results = { .arena = args->arena };
    unsigned bad = 0;
    for (unsigned i = 0; i < args->operand_count; i++) {
        Loaded loaded;
        ExitCode code = load_current(args, args->operands[i], &loaded);
        if (!code && !is_good(args, &loaded.compiled)) code = EXIT_CODE_DATA;
        if (!code && only_runbooks) code = require_runbook(&loaded);
        if (code) {
            bad++;
            if (!worst) worst = code;
        }
        if (args_flag(args, "json")) value_list_add(&results, result_value(args, &loaded));
        else print_diagnostics(args, &loaded.compiled.diagnostics);
        if (!code && !args_flag(args, "json") && !args_flag(args, "quiet")) print_good(args, &loaded);
    }
    if (args_flag(args, "json")) {
        ExitCode code = print_document(value_list_array(&results));
        return worst ? worst : code;
    }
    if (bad && args->operand_count > 1)
        print_note("maestro: %u of %u files have mistakes\n", bad, args->operand_count);
    return worst;
}

static ExitCode run(const Args *args)
{
    return validate(args, false);
}

static ExitCode run_runbooks(const Args *args)
{
    return validate(args, true);
}

const Verb command_validate = {
    .name = "validate",
    .operands = "FILE...",
    .operand_count_min = 1,
    .operand_count_max = ARGS_OPERAND_COUNT_MAX,
    .summary = "Checks definitions without running anything.",
    .doc =
        "Reads workflows, runbooks and step trees, in YAML, JSON or TypeScript, and reports every mistake with its place\n"
        "and what to do about it. Names of runners, policies, windows and calendars are looked up in the first of: the file\n"
        "given by --runners, $MAESTRO_RUNNERS, runners.yaml beside the definition, ./runners.yaml, the user's and the machine's\n"
        "configuration; where there is none, in the stand-ins that are built in.",
    .examples = "  maestro validate order.yaml\n  maestro validate --strict --json workflows/*.yaml",
    .options = options,
    .run = run,
};

const Verb command_validate_runbook = {
    .name = "validate-runbook",
    .operands = "FILE...",
    .operand_count_min = 1,
    .operand_count_max = ARGS_OPERAND_COUNT_MAX,
    .summary = "Checks runbooks without running anything.",
    .doc = "The same as validate, but what is no runbook is refused.",
    .examples = "  maestro validate-runbook log-analysis.yaml",
    .options = options,
    .run = run_runbooks,
};
