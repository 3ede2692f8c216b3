#include "secret/trigger.h"

#include "base/limits.h"
#include "core/terms.h"
#include "value/json.h"
#include "view/run_rows.h"

/* --- what it is about ------------------------------------------------------------------------------------------------------ */

static Status find_run(const TriggerDesk *desk, Arena *arena, const TriggerRequest *request, TriggerOrder *out,
                       const Cell **out_row, Error *err)
{
    const Cell *row = NULL;
    Status status = OK;
    if (id_read(request->run_id, &out->run_id)) {
        QueryAsk ask = { .query = QUERY_RUN_BY_ID, .params = { cell_text(request->run_id) }, .param_count = 1 };
        status = row_select(arena, desk->store, &ask, &row, err);
    }
    if (!status && !row) status = error_set(err, ERR_NOT_FOUND, "there is no such run");
    *out_row = row;
    return status;
}

/* Pauses of one key that are authenticated differently leave open which of them is meant, and so nobody is let in. */
static Status find_auth(const Plan *plan, Str trigger, Value *out_auth, Error *err)
{
    const PlanTerms *terms = plan->terms;
    bool is_found = false;
    for (uint32_t i = 0; i < terms->pause_count; i++) {
        const PauseTerms *pause = &terms->steps[terms->pauses[i]].pause;
        if (!str_is(pause->trigger, trigger)) continue;
        if (is_found && !value_equals(*out_auth, pause->auth))
            return error_set(err, ERR_DENIED, "pauses of the trigger '%.*s' are authenticated differently", STR_ARG(trigger));
        *out_auth = pause->auth;
        is_found = true;
    }
    Str shown = str_slice(trigger, 0, NAME_SIZE_MAX);
    return is_found ? OK : error_set(err, ERR_NOT_FOUND, "the run has no trigger '%.*s'", STR_ARG(shown));
}

/* --- who sends it ---------------------------------------------------------------------------------------------------------- */

static bool permits(void *context, Str name, Value input, int64_t now_ms, Arena *arena, Str *out_why)
{
    return guard_permits(context, name, input, now_ms, arena, out_why);
}

static TriggerAuthority authority_of(TriggerDesk *desk)
{
    return (TriggerAuthority){ .secret = desk->vault ? vault_secret : NULL, .token = desk->vault ? vault_token : NULL,
                               .vault = desk->vault, .permits = desk->guard ? permits : NULL, .policies = desk->guard,
                               .replays = &desk->replays };
}

Status trigger_handle(TriggerDesk *desk, Arena *arena, const TriggerRequest *request, TriggerOrder *out, Error *err)
{
    TriggerOrder order = { .command = { .kind = COMMAND_TRIGGER, .name = request->trigger, .origin = request->source,
                                        .value = value_null(), .report.output = value_null() } };
    const Cell *run;
    Plan plan;
    TriggerProof proof;
    Status status = find_run(desk, arena, request, &order, &run, err);
    if (!status) status = run_plan(arena, desk->store, run, &plan, err);
    if (status) return status;
    TriggerSubject subject = { .tenant = run[RUNS_tenant].text, .workflow = run[RUNS_definition_key].text,
                               .run_id = request->run_id, .trigger = request->trigger };
    TriggerAuthority authority = authority_of(desk);
    status = find_auth(&plan, request->trigger, &subject.auth, err);
    if (!status) status = trigger_authenticate(&authority, &subject, request, arena, &proof, err);
    if (status) return status;
    if (request->body.len && json_parse(arena, request->body, &order.command.value, err)) {
        error_prefix(err, "the body of the trigger is no JSON: ");
        return ERR_INVALID;
    }
    order.tenant = subject.tenant;
    order.command.actor = proof.identity;
    order.command.id = proof.id;
    *out = order;
    return OK;
}
