#include "api/client_scope.h"

#include <string.h>

#include "api/routes.h"
#include "base/limits.h"
#include "value/json.h"
#include "view/queries.h"

/* --- whose rows are ---------------------------------------------------------------------------------------------------------------------- */

typedef enum Scope {
    SCOPE_ALL,                      /* nothing tells: a key of every tenant */
    SCOPE_OPEN,                     /* nobody's */
    SCOPE_TENANT,                   /* the first parameter is the tenant */
    SCOPE_RUN,                      /* the first parameter is the number of a run */
    SCOPE_ROW_TENANT,               /* a column of each row is the tenant; rows of runs */
    SCOPE_ROW_RUN,                  /* a column of each row is the number of a run */
    SCOPE_ROW_PLAN,                 /* the document of the row says it */
    SCOPE_RUNS,                     /* runs of every tenant: those of the caller's instead */
    SCOPE_COUNT_BY_STATE,           /* the same, counted */
    SCOPE_STEP_RUN,                 /* the first parameter is the id of a step run, of a run that the caller has looked at */
} Scope;

#define READS_RUNS "execution.read"
#define READS_WORKFLOWS "workflow.read"

static const struct { uint8_t scope, column; const char *verb; } scopes[QUERY_COUNT] = {
    [QUERY_RUN] = { SCOPE_ROW_TENANT, RUNS_tenant, READS_RUNS },       [QUERY_RUN_BY_ID] = { SCOPE_ROW_TENANT, RUNS_tenant, READS_RUNS },
    [QUERY_RUNS_OPEN] = { SCOPE_ROW_TENANT, RUNS_tenant, READS_RUNS }, [QUERY_RUNS] = { SCOPE_RUNS, 0, READS_RUNS },
    [QUERY_RUN_BY_KEY] = { SCOPE_TENANT, 0, READS_RUNS },              [QUERY_RUNS_OF_TENANT] = { SCOPE_TENANT, 0, READS_RUNS },
    [QUERY_RUNS_IN_STATE] = { SCOPE_TENANT, 0, READS_RUNS },           [QUERY_RUNS_OF_DEFINITION] = { SCOPE_TENANT, 0, READS_RUNS },
    [QUERY_RUNS_OF_REVISION] = { SCOPE_TENANT, 0, READS_RUNS },        [QUERY_COUNT_OF_DEFINITION] = { SCOPE_TENANT, 0, READS_RUNS },
    [QUERY_COUNT_OF_REVISION] = { SCOPE_TENANT, 0, READS_RUNS },       [QUERY_COUNT_OF_TENANT_BY_STATE] = { SCOPE_TENANT, 0, READS_RUNS },
    [QUERY_COUNT_BY_STATE] = { SCOPE_COUNT_BY_STATE, 0, READS_RUNS },  [QUERY_STEP_RUN] = { SCOPE_RUN, 0, READS_RUNS },
    [QUERY_STEP_RUNS] = { SCOPE_RUN, 0, READS_RUNS },                  [QUERY_STEP_RUN_BY_KEY] = { SCOPE_RUN, 0, READS_RUNS },
    [QUERY_STEP_RUN_LAST] = { SCOPE_RUN, 0, READS_RUNS },              [QUERY_RUN_STRETCH] = { SCOPE_ROW_RUN, LEDGER_run_no, "event.read" },
    [QUERY_COUNT_OF_STEP_RUNS] = { SCOPE_RUN, 0, READS_RUNS },         [QUERY_ATTEMPTS] = { SCOPE_RUN, 0, READS_RUNS },
    [QUERY_ATTEMPTS_OF_RUN] = { SCOPE_RUN, 0, READS_RUNS },            [QUERY_BRANCHES] = { SCOPE_RUN, 0, READS_RUNS },
    [QUERY_DECISIONS] = { SCOPE_RUN, 0, READS_RUNS },                  [QUERY_COMPENSATIONS] = { SCOPE_RUN, 0, READS_RUNS },
    [QUERY_COMPENSATIONS_BY_STATUS] = { SCOPE_RUN, 0, READS_RUNS },    [QUERY_TRIGGER_PAYLOADS] = { SCOPE_RUN, 0, READS_RUNS },
    [QUERY_SIGNALS] = { SCOPE_RUN, 0, READS_RUNS },                    [QUERY_LOG_LINES] = { SCOPE_RUN, 0, READS_RUNS },
    [QUERY_SNAPSHOT] = { SCOPE_RUN, 0, READS_RUNS },                   [QUERY_TIMER] = { SCOPE_RUN, 0, READS_RUNS },
    [QUERY_POLLS_OF_STEP_RUN] = { SCOPE_STEP_RUN, 0, READS_RUNS },     [QUERY_OUTBOX_OF_RUN] = { SCOPE_ROW_RUN, OUTBOX_run_no, READS_RUNS },
    [QUERY_RECORD] = { SCOPE_ROW_RUN, LEDGER_run_no, "event.read" },   [QUERY_RUN_TAIL] = { SCOPE_ROW_RUN, LEDGER_run_no, "event.read" },
    [QUERY_RUN_RECORDS] = { SCOPE_ROW_RUN, LEDGER_run_no, "event.read" },
    [QUERY_RUN_POSITIONS] = { SCOPE_ROW_RUN, LEDGER_run_no, "event.read" },
    [QUERY_LOG_HEAD] = { SCOPE_OPEN, 0, "event.read" },                /* how far the log has come, as every record of a run tells, too */
    [QUERY_LOG_LINE_LAST] = { SCOPE_OPEN, 0, READS_RUNS },             [QUERY_REQUEST] = { SCOPE_TENANT, 0, READS_RUNS },
    [QUERY_DEDUPE] = { SCOPE_TENANT, 0, READS_RUNS },                  [QUERY_PLAN] = { SCOPE_ROW_PLAN, 0, READS_RUNS },
    [QUERY_REVISION] = { SCOPE_TENANT, 0, READS_WORKFLOWS },           [QUERY_REVISION_BY_DIGEST] = { SCOPE_TENANT, 0, READS_WORKFLOWS },
    [QUERY_REVISION_BY_LABEL] = { SCOPE_TENANT, 0, READS_WORKFLOWS },  [QUERY_REVISION_ACTIVE] = { SCOPE_TENANT, 0, READS_WORKFLOWS },
    [QUERY_REVISION_NEWEST] = { SCOPE_TENANT, 0, READS_WORKFLOWS },    [QUERY_REVISIONS_OF_WORKFLOW] = { SCOPE_TENANT, 0, READS_WORKFLOWS },
    [QUERY_REVISIONS_OF_TENANT] = { SCOPE_TENANT, 0, READS_WORKFLOWS }, [QUERY_REVISION_TRIGGERS] = { SCOPE_TENANT, 0, READS_WORKFLOWS },
    [QUERY_REVISION_HEAD] = { SCOPE_TENANT, 0, READS_WORKFLOWS },
    [QUERY_SECRETS_OF_TENANT] = { SCOPE_TENANT, 0, "secret.read" },    [QUERY_KEY_USE] = { SCOPE_TENANT, 0, "key.read" },
};

static bool is_of_all(const Call *call) { return str_is_text(call->caller.tenant, "*"); }

/* False after answering. */
static bool permits(Call *call, const char *verb)
{
    Denial denial;
    if (access_permits(call->api->access, call, verb, call->caller.tenant, &denial)) return true;
    api_deny(call, call->caller.tenant, &denial);
    return false;
}

static void remember_run(Call *call, int64_t run_no)
{
    Api *api = call->api;
    ClientRun *place = &api->client_runs[(api->client_run_next + API_CLIENT_RUN_COUNT - 1) % API_CLIENT_RUN_COUNT];
    bool is_last = place->run_no == run_no && !memcmp(place->key, call->caller.key.ptr, KEY_ID_SIZE);
    if (is_last) return;
    place = &api->client_runs[api->client_run_next++ % API_CLIENT_RUN_COUNT];
    place->run_no = run_no;
    memcpy(place->key, call->caller.key.ptr, KEY_ID_SIZE);
}

/* Whether a run of that tenant is the caller's. Who asks for one that is another's is told to the ledger; a list passes over them. */
static bool owns(Call *call, int64_t run_no, Str tenant, bool is_list)
{
    bool is_own = call->caller.run.len ? (uint64_t)run_no == call->caller.run_no : str_is(tenant, call->caller.tenant);
    if (!is_own && !is_list) api_refuse_foreign(call, tenant);
    else if (is_own && call->caller.key.len == KEY_ID_SIZE) remember_run(call, run_no);
    return is_own;
}

static bool owns_run(Call *call, int64_t run_no)
{
    const Cell *row = NULL;
    Error err;
    QueryAsk ask = { .query = QUERY_RUN, .params = { cell_int(run_no) }, .param_count = 1 };
    return !row_select(&call->arena, call->api->store, &ask, &row, &err) && row && owns(call, run_no, row[RUNS_tenant].text, /* is_list= */ false);
}

typedef struct IdSearch { Str id; bool is_found; } IdSearch;

static bool take_step_run(void *context, const Cell *cells, uint32_t count)
{
    IdSearch *search = context;
    (void)count;
    search->is_found = str_is(cells[STEP_RUNS_id].text, search->id);
    return !search->is_found;
}

/* No index finds a step run by its id; who asks about one has looked at its run just before. */
static bool owns_step_run(Call *call, Str id)
{
    IdSearch search = { .id = id };
    Error err;
    for (uint32_t i = 0; i < API_CLIENT_RUN_COUNT && !search.is_found; i++) {
        const ClientRun *run = &call->api->client_runs[i];
        int64_t run_no = call->caller.run.len ? (int64_t)call->caller.run_no : run->run_no;
        bool is_callers = call->caller.run.len ? !i : run_no && !memcmp(run->key, call->caller.key.ptr, KEY_ID_SIZE);
        QueryAsk ask = { .query = QUERY_STEP_RUNS, .params = { cell_int(run_no), cell_int(0) }, .param_count = 2,
                         .row_count_max = PLAN_STEP_COUNT_MAX };
        if (is_callers && store_select(call->api->store, &ask, take_step_run, &search, &err)) return false;
    }
    return search.is_found;
}

/* A question about all runs becomes the same about those of the caller's tenant. */
static void narrow(const Call *call, QueryAsk *ask, Scope scope)
{
    Cell tenant = cell_text(call->caller.tenant), before = ask->params[0], state = ask->params[1], since = ask->params[2];
    uint32_t limit = ask->row_count_max;
    if (scope == SCOPE_COUNT_BY_STATE) *ask = (QueryAsk){ QUERY_COUNT_OF_TENANT_BY_STATE, { tenant }, 1, limit };
    else if (state.kind == CELL_NULL) *ask = (QueryAsk){ QUERY_RUNS_OF_TENANT, { tenant, before, since }, 3, limit };
    else *ask = (QueryAsk){ QUERY_RUNS_IN_STATE, { tenant, state, before, cell_null(), since }, 5, limit };
}

static bool tenant_fits(Call *call, QueryAsk *ask)
{
    if (ask->params[0].kind == CELL_TEXT && !ask->params[0].text.len) ask->params[0] = cell_text(call->caller.tenant);
    if (ask->params[0].kind == CELL_TEXT && str_is(ask->params[0].text, call->caller.tenant)) return true;
    if (ask->params[0].kind == CELL_TEXT) api_refuse_foreign(call, ask->params[0].text);
    return false;
}

bool client_may_select(Call *call, QueryAsk *ask, ClientRows *out)
{
    Scope scope = (Scope)scopes[ask->query].scope;
    const char *verb = scopes[ask->query].verb;
    *out = (ClientRows){ .call = call, .is_list = query_info(ask->query)->row_count > 1, .kind = (uint8_t)scope, .column = scopes[ask->query].column,
                         .left = ask->row_count_max ? ask->row_count_max : query_info(ask->query)->row_count };
    if (!permits(call, verb ? verb : "store.read")) return false;
    if (is_of_all(call)) return true;
    /* An attempt asks about its run by its number or id; everything else is its tenant's, and none of its business. */
    bool is_beyond = call->caller.run.len && (scope == SCOPE_TENANT || scope == SCOPE_RUNS || scope == SCOPE_COUNT_BY_STATE);
    if (scope == SCOPE_ALL || is_beyond) {
        call_refuse(call, STR("*"), STR("what the query shows belongs to several tenants"));
        call_problem(call, PROBLEM_DENIED, "what this shows belongs to %s", is_beyond ? "the tenant, and an attempt reaches its own run alone"
                                                                                       : "several tenants: it needs a key of every one");
        return false;
    }
    if (scope == SCOPE_TENANT) out->is_empty = !tenant_fits(call, ask);
    else if (scope == SCOPE_RUN) out->is_empty = ask->params[0].kind != CELL_INT || !owns_run(call, ask->params[0].integer);
    else if (scope == SCOPE_STEP_RUN) out->is_empty = ask->params[0].kind != CELL_TEXT || !owns_step_run(call, ask->params[0].text);
    else if (scope == SCOPE_RUNS || scope == SCOPE_COUNT_BY_STATE) narrow(call, ask, scope);
    out->is_filtered = scope == SCOPE_ROW_TENANT || scope == SCOPE_ROW_RUN || scope == SCOPE_ROW_PLAN;
    if (out->is_filtered) ask->row_count_max = UINT32_MAX;          /* those that are passed over do not count */
    return true;
}

static bool owns_plan(Call *call, const Cell *cells)
{
    Value document;
    Error err;
    const Cell *row = NULL;
    if (json_parse(&call->arena, cells[PLANS_document].text, &document, &err)) return false;
    if (!str_is(value_get_string(document, "tenant", STR("default")), call->caller.tenant)) return false;
    if (!call->caller.run.len) return true;
    QueryAsk ask = { .query = QUERY_RUN, .params = { cell_int((int64_t)call->caller.run_no) }, .param_count = 1 };
    return !row_select(&call->arena, call->api->store, &ask, &row, &err) && row && str_is(row[RUNS_plan_digest].text, cells[PLANS_digest].text);
}

bool client_sees_row(ClientRows *rows, const Cell *cells)
{
    Call *call = rows->call;
    if (!rows->is_filtered) return true;
    if (rows->kind == SCOPE_ROW_PLAN) return owns_plan(call, cells);
    if (rows->kind == SCOPE_ROW_TENANT) return owns(call, cells[RUNS_run_no].integer, cells[rows->column].text, rows->is_list);
    const Cell *whose = &cells[rows->column];
    if (whose->kind != CELL_INT || !whose->integer) return false;              /* a record of the log itself */
    if (whose->integer != rows->run_no) {
        rows->run_no = whose->integer;
        rows->is_own = owns_run(call, whose->integer);
    }
    return rows->is_own;
}

/* --- petitions --------------------------------------------------------------------------------------------------------------------------- */

static const struct { const char *petition, *verb; } petition_verbs[] = {
    { "start", "execution.start" }, { "pause", "execution.pause" }, { "resume", "execution.resume" }, { "cancel", "execution.cancel" },
    { "signal", "execution.signal" }, { "rebind", "execution.rebind" }, { "trigger", "execution.approve" }, { "resolve", "execution.resolve" },
    { "retry-from", "execution.retry" }, { "compensate", "execution.compensate" }, { "retry-compensation", "execution.compensate" },
    { "skip-compensation", "execution.compensate" }, { "store-revision", "workflow.create" }, { "activate", "workflow.activate" },
    { "deactivate", "workflow.deactivate" }, { "remove-revision", "workflow.delete" }, { "set-secret", "store.write" },
    { "remove-secret", "store.write" },
};

/* Others have the verb of a key of every tenant. */
static const char *verb_of(Str petition)
{
    for (size_t i = 0; i < sizeof petition_verbs / sizeof *petition_verbs; i++)
        if (str_is_text(petition, petition_verbs[i].petition)) return petition_verbs[i].verb;
    return "store.write";
}

/* A start that brings its plan stores a revision and activates it, unless that is there. Then the definition has to be that plan here, too: what
 * a client has compiled itself is not believed. False after answering, or where that is not known yet. */
static bool may_bring_plan(Call *call, Str tenant, Value document, Str plan, ClientPlan *known)
{
    Error err;
    const Cell *row = NULL;
    if (is_of_all(call)) return true;
    if (!str_is(value_get_string(document, "tenant", STR("default")), tenant)) {
        api_refuse_foreign(call, value_get_string(document, "tenant", STR("default")));
        call_problem(call, PROBLEM_DENIED, "the definition is of another tenant than the key");
        return false;
    }
    Digest digest = digest_of(plan);
    QueryAsk ask = { .query = QUERY_REVISION_BY_DIGEST, .param_count = 3,
                     .params = { cell_text(tenant), cell_text(value_get_string(document, "id", STR(""))),
                                 cell_blob((Str){ (const char *)digest.bytes, DIGEST_SIZE }) } };
    if (row_select(&call->arena, call->api->store, &ask, &row, &err)) {
        call_error(call, &err);
        return false;
    }
    if (row && row[REVISIONS_active].integer) return true;
    if (!permits(call, "workflow.create") || !permits(call, "workflow.activate")) return false;
    known->is_wanted = !row && !known->is_known;
    if (row || (known->is_known && known->is_right && !memcmp(&known->digest, &digest, sizeof digest))) return true;
    if (known->is_wanted) return false;
    call_problem(call, PROBLEM_CONFLICT, "the server reads this definition otherwise than this command: its version or its runners are others; "
                 "store it with POST /api/workflows");
    return false;
}

/* The rules of POST /api/executions hold for a start by this door, too. False after answering. */
static bool may_start(Call *call, Str tenant, Value body, ClientPlan *known, Str *out_source)
{
    Str plan = value_get_string(body, "plan", STR(""));
    Plan brought = { 0 };
    Value document;
    Error err;
    if (!plan.len || json_parse(&call->arena, plan, &document, &err) || document.kind != VALUE_OBJECT) {
        call_problem(call, PROBLEM_INVALID, "'plan' is no plan: %s", plan.len ? "it is no object of JSON" : "it is missing");
        return false;
    }
    if (!may_bring_plan(call, tenant, document, plan, known)) return false;
    if (plan_read(&call->arena, document, &brought, &err)) {
        call_problem(call, PROBLEM_INVALID, "'plan' is no plan: %s", err.text);
        return false;
    }
    if (str_is_text(value_get_string(body, "verb", STR("")), "store-revision")) return true;
    const Value *triggers = value_get_text(document, "triggers");
    bool is_list = triggers && triggers->kind == VALUE_ARRAY;
    return start_enter_manual(call, tenant, value_get_string(document, "id", STR("")), is_list ? *triggers : value_array(NULL, 0), out_source);
}

/* What a client may say. All else is for the server to say, or for a command beside the store: who asks and from where, where programs
 * begin, what started a run, which plan of the store is meant. */
static bool is_for_clients(Str name)
{
    static const char *const names[] = {
        "verb", "id", "run", "reason", "trace", "tracestate", "plan", "text", "revision", "params", "key", "again", "name", "kind", "payload",
        "denial", "decision", "scope", "mode", "unknown", "undo", "includes", "workflow", "sealed", "tenantKey", "job", "at", "held", "trigger",
        "policy", "digest", "verdict", "reviewer", "comment", "against",
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (str_is_text(name, names[i])) return true;
    return false;
}

bool client_may_ask(Call *call, Value body, ClientPlan *plan, Value *out_petition)
{
    MemberList members = { .arena = &call->arena };
    Str petition = value_get_string(body, "verb", STR("")), run = value_get_string(body, "run", STR(""));
    Str actor = value_get_string(body, "actor", STR("")), source = STR("manual");
    Str tenant = is_of_all(call) ? value_get_string(body, "tenant", STR("")) : call->caller.tenant;
    bool is_start = str_is_text(petition, "start") || str_is_text(petition, "store-revision");
    const Cell *row = NULL;
    Error err;
    Id id;
    if (!permits(call, verb_of(petition))) return false;
    bool is_beyond = !is_of_all(call) && str_is_text(str_of(verb_of(petition)), "store.write");
    if (is_beyond || (call->caller.run.len && !str_is(run, call->caller.run))) {
        call_refuse(call, STR(""), is_beyond ? STR("the petition needs a key of every tenant") : STR("an attempt reaches its own run alone"));
        call_problem(call, PROBLEM_DENIED, is_beyond ? "this needs a key of every tenant" : "an attempt reaches its own run alone");
        return false;
    }
    if (is_start && !may_start(call, tenant.len ? tenant : STR("default"), body, plan, &source)) return false;
    if (!is_of_all(call) && id_read(run, &id) && !run_row(&call->arena, call->api->store, run, &row, &err) && row
        && !str_is(row[RUNS_tenant].text, call->caller.tenant))
        api_refuse_foreign(call, row[RUNS_tenant].text);            /* the engine does not find it */
    for (uint32_t i = 0; i < body.count; i++) {
        Str name = value_text(body.members[i].key);
        /* Only a trigger brings a payload to a start, and a plan of the store is started by its revision, if that is active. */
        bool is_servers = is_start && (str_is_text(name, "payload") || str_is_text(name, "digest"));
        if (is_for_clients(name) && !is_servers) member_list_add(&members, name, body.members[i].value);
    }
    if (tenant.len) add_member(&members, "tenant", value_string(tenant));
    if (is_start) add_member(&members, "source", value_string(source));
    /* Whoever the sender says it acts for is recorded beside the key: "user:ana by key:Xq3hT9aB". */
    add_member(&members, "actor", value_string(actor.len ? arena_format(&call->arena, "%.*s by %.*s", STR_ARG(actor),
                                                                        STR_ARG(call->caller.actor)) : call->caller.actor));
    *out_petition = member_list_object(&members);
    return true;
}
