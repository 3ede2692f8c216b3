#include <string.h>

#include "cli/revision_read.h"
#include "cli/run_read.h"
#include "cli/secret_order.h"
#include "cli/server_order.h"
#include "cli/workplace.h"
#include "secret/trigger.h"
#include "value/json.h"
#include "view/revision_row.h"

static const Option options[] = {
    { "workflow", 0, "ID", NULL, "Of a webhook that starts this workflow: the operand is its key alone." },
    { "tenant", 0, "NAME", NULL, "Whose workflow it is; by default that of the key of --server, else 'default'." },
    STORE_OPTION,
    { "json", 0, NULL, NULL, "Prints the result as JSON." },
    { NULL },
};

static Status check(const Args *args, Store *store, const Cell *row, Error *err)
{
    Str trigger = str_of(args->operands[1]);
    Plan plan;
    Status status = run_plan(args->arena, store, row, &plan, err);
    return status ? status : trigger_check_bearer(&plan, row[RUNS_id].text, trigger, err);
}

static void tell(const Args *args, Str bound, Str trigger, Str token)
{
    Buf out;
    bool is_start = str_starts(bound, STR(TRIGGER_WORKFLOW_PREFIX));
    buf_init(&out, 4096);
    if (args_flag(args, "json")) {
        buf_text(&out, is_start ? "{\"workflow\":" : "{\"run\":");
        json_print_string(&out, is_start ? str_slice(bound, strlen(TRIGGER_WORKFLOW_PREFIX), bound.len) : bound);
        buf_text(&out, ",\"trigger\":");
        json_print_string(&out, trigger);
        buf_format(&out, ",\"token\":\"%.*s\"}\n", STR_ARG(token));
    } else {
        buf_format(&out, "%.*s\n", STR_ARG(token));
    }
    print_out(&out);
    buf_deinit(&out);
}

/* A server makes it of the key that it has. */
static ExitCode make_at_server(const Args *args, Str tenant, Str bound, Str shown)
{
    MemberList body = { .arena = args->arena };
    Str prefix = STR(TRIGGER_WORKFLOW_PREFIX), path = arena_format(args->arena, "/api/executions/%.*s/trigger-token", STR_ARG(bound));
    Value answer;
    if (str_starts(bound, prefix))
        path = arena_format(args->arena, "/api/workflows/%.*s/%.*s/trigger-token", STR_ARG(server_word(args->arena, tenant)),
                            STR_ARG(server_word(args->arena, str_slice(bound, prefix.len, bound.len))));
    member_list_add(&body, STR("trigger"), value_string(shown));
    ExitCode code = server_order(args, &(ServerCall){ .method = "POST", .path = path, .body = member_list_object(&body) }, &answer);
    if (!code) tell(args, bound, shown, value_get_string(answer, "token", STR("")));
    return code;
}

/* The token is made of the tenant's key: a tenant that has none yet gets it first. */
static ExitCode make(const Args *args, Str tenant, Str bound, Str trigger, Str shown)
{
    Store *store;
    TriggerToken token;
    Error err;
    if (server_is_meant(args)) return make_at_server(args, tenant, bound, shown);
    ExitCode code = secret_store(args, tenant, STR(""), STR(""));
    if (!code) code = store_open_existing(args, &store);
    if (code) return code;
    Vault *vault = store_vault(args, store);
    Status status = vault_token(vault, tenant, bound, trigger, &token, &err);
    vault_free(vault);
    store_close(store);
    if (status) return fail(&err);
    tell(args, bound, shown, str_of(token.text));
    return EXIT_CODE_OK;
}

/* Of the active revision: no other webhook is taken. */
static ExitCode check_webhook(const Args *args, const char *workflow, Str key)
{
    Store *store;
    const Cell *row;
    Value triggers;
    Error err;
    ExitCode code = store_open_existing(args, &store);
    if (code) return code;
    code = revision_find(args, store, workflow, &row);
    if (!code && (revision_row_triggers(args->arena, row, &triggers, &err)
                  || trigger_check_webhook(triggers, row[REVISIONS_workflow_id].text, key, &err)))
        code = fail(&err);
    store_close(store);
    return code;
}

static ExitCode make_of_workflow(const Args *args, const char *workflow)
{
    Str key = str_of(args->operands[0]);
    if (args->operand_count != 1) {
        print_note("maestro: with --workflow the only operand is the key of the webhook\n");
        return EXIT_CODE_USAGE;
    }
    ExitCode code = check_webhook(args, workflow, key);
    return code ? code : make(args, server_tenant(args), trigger_workflow_bound(args->arena, str_of(workflow)),
                trigger_webhook_name(args->arena, key), key);
}

static ExitCode run(const Args *args)
{
    const Cell *row;
    Store *store;
    Error err;
    const char *workflow = args_value(args, "workflow");
    if (workflow) return make_of_workflow(args, workflow);
    if (args->operand_count != 2) {
        print_note("maestro: a run and a trigger are needed: maestro trigger-token RUN TRIGGER\n");
        return EXIT_CODE_USAGE;
    }
    ExitCode code = store_open_existing(args, &store);
    if (code) return code;
    code = find_row(args, store, args->operands[0], &row);
    if (!code && check(args, store, row, &err)) code = fail(&err);
    store_close(store);
    Str trigger = str_of(args->operands[1]);
    return code ? code : make(args, row[RUNS_tenant].text, row[RUNS_id].text, trigger, trigger);
}

const Verb command_trigger_token = {
    .name = "trigger-token", .operands = "[RUN] TRIGGER", .operand_count_min = 1, .operand_count_max = 2,
    .summary = "Prints the bearer token of a trigger of a run.",
    .doc = "Whoever has it may send that trigger to that run, and nothing else: it is made for one trigger of one run, with the\n"
           "key of the run's tenant. It is stored nowhere and always the same. With --workflow it is that of a webhook that starts\n"
           "this workflow.",
    .examples = "maestro trigger-token last approval\n"
                "maestro trigger-token --workflow order-intake new-order",
    .options = options, .run = run,
};
