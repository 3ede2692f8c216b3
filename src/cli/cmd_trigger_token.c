#include "cli/run_read.h"
#include "cli/secret_order.h"
#include "cli/workplace.h"
#include "core/terms.h"
#include "value/json.h"

static const Option options[] = {
    STORE_OPTION,
    { "json", 0, NULL, NULL, "Prints the result as JSON." },
    { NULL },
};

static bool has_bearer(const Plan *plan, Str trigger)
{
    const PlanTerms *terms = plan->terms;
    for (uint32_t i = 0; i < terms->pause_count; i++) {
        const PauseTerms *pause = &terms->steps[terms->pauses[i]].pause;
        const Value *bearer = value_get_text(pause->auth, "bearer");
        if (str_is(pause->trigger, trigger) && bearer && value_is_true(*bearer)) return true;
    }
    return false;
}

static Status check(const Args *args, Store *store, const Cell *row, Error *err)
{
    Str trigger = str_of(args->operands[1]);
    Plan plan;
    Status status = run_plan(args->arena, store, row, &plan, err);
    if (status || has_bearer(&plan, trigger)) return status;
    return error_set(err, ERR_INVALID, "run %.*s has no trigger '%.*s' that is authenticated by a bearer token",
                     STR_ARG(row[RUNS_id].text), STR_ARG(trigger));
}

static void tell(const Args *args, Str run_id, const TriggerToken *token)
{
    Buf out;
    buf_init(&out, 4096);
    if (args_flag(args, "json")) {
        buf_text(&out, "{\"run\":");
        json_print_string(&out, run_id);
        buf_text(&out, ",\"trigger\":");
        json_print_string(&out, str_of(args->operands[1]));
        buf_format(&out, ",\"token\":\"%s\"}\n", token->text);
    } else {
        buf_format(&out, "%s\n", token->text);
    }
    print_out(&out);
    buf_deinit(&out);
}

/* The token is made of the tenant's key: a tenant that has none yet gets it first. */
static ExitCode run(const Args *args)
{
    const Cell *row;
    Store *store;
    TriggerToken token;
    Error err;
    ExitCode code = store_open_existing(args, &store);
    if (code) return code;
    code = find_row(args, store, args->operands[0], &row);
    if (!code && check(args, store, row, &err)) code = fail(&err);
    store_close(store);
    if (!code) code = secret_store(args, row[RUNS_tenant].text, STR(""), STR(""));
    if (!code) code = store_open_existing(args, &store);
    if (code) return code;
    Vault *vault = store_vault(args, store);
    Status status = vault_token(vault, row[RUNS_tenant].text, row[RUNS_id].text, str_of(args->operands[1]), &token, &err);
    vault_free(vault);
    store_close(store);
    if (status) return fail(&err);
    tell(args, row[RUNS_id].text, &token);
    return EXIT_CODE_OK;
}

const Verb command_trigger_token = {
    .name = "trigger-token", .operands = "RUN TRIGGER", .operand_count_min = 2, .operand_count_max = 2,
    .summary = "Prints the bearer token of a trigger of a run.",
    .doc = "Whoever has it may send that trigger to that run, and nothing else: it is made for one trigger of one run, with the\n"
           "key of the run's tenant. It is stored nowhere and always the same.",
    .examples = "maestro trigger-token last approval",
    .options = options, .run = run,
};
