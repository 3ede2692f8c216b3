#include "api/client_scope.h"

#include <string.h>

#include "api/definition.h"
#include "api/document.h"
#include "api/routes.h"
#include "base/limits.h"
#include "value/json.h"
#include "view/id_derive.h"
#include "view/queries.h"

/* --- whose rows are ---------------------------------------------------------------------------------------------------------------------- */

typedef enum Scope {
    SCOPE_ALL,                      /* nothing tells */
    SCOPE_OPEN,                     /* nobody's */
    SCOPE_TENANT,                   /* the first parameter is the tenant */
    SCOPE_RUN,                      /* a parameter is the number of a run */
    SCOPE_ROW_TENANT,               /* a column of each row is the tenant; with a verb, rows of runs */
    SCOPE_ROW_RUN,                  /* a column of each row is the number of a run; with a verb, of one and the same */
    SCOPE_ROW_PLAN,                 /* the document of the row says it */
    SCOPE_RUNS,                     /* runs of every tenant: those of the caller's instead */
    SCOPE_COUNT_BY_STATE,           /* the same, counted */
    SCOPE_STEP_RUN,                 /* the first parameter is the id of a step run, of a run that the caller has looked at */
} Scope;

#define READS_RUNS "execution.read"
#define READS_WORKFLOWS "workflow.read"

/* `column` is that of a row, or of SCOPE_RUN the parameter. What has no verb is for keys of every tenant alone: store.read. */
static const struct { uint8_t scope, column; const char *verb; } scopes[QUERY_COUNT] = {
    [QUERY_RUN] = { SCOPE_ROW_TENANT, RUNS_tenant, READS_RUNS },       [QUERY_RUN_BY_ID] = { SCOPE_ROW_TENANT, RUNS_tenant, READS_RUNS },
    [QUERY_RUNS] = { SCOPE_RUNS, RUNS_tenant, READS_RUNS },
    [QUERY_RUN_BY_KEY] = { SCOPE_TENANT, 0, READS_RUNS },              [QUERY_RUNS_OF_TENANT] = { SCOPE_TENANT, 0, READS_RUNS },
    [QUERY_RUNS_IN_STATE] = { SCOPE_TENANT, 0, READS_RUNS },           [QUERY_RUNS_OF_DEFINITION] = { SCOPE_TENANT, 0, READS_RUNS },
    [QUERY_RUNS_OF_REVISION] = { SCOPE_TENANT, 0, READS_RUNS },        [QUERY_COUNT_OF_DEFINITION] = { SCOPE_TENANT, 0, READS_RUNS },
    [QUERY_COUNT_OF_REVISION] = { SCOPE_TENANT, 0, READS_RUNS },       [QUERY_COUNT_OF_TENANT_BY_STATE] = { SCOPE_TENANT, 0, READS_RUNS },
    [QUERY_COUNT_BY_STATE] = { SCOPE_COUNT_BY_STATE, 0, READS_RUNS },  [QUERY_STEP_RUN] = { SCOPE_RUN, 0, READS_RUNS },
    [QUERY_STEP_RUNS] = { SCOPE_RUN, 0, READS_RUNS },                  [QUERY_STEP_RUN_BY_KEY] = { SCOPE_RUN, 0, READS_RUNS },
    [QUERY_STEP_RUN_LAST] = { SCOPE_RUN, 0, READS_RUNS },              [QUERY_RUN_STRETCH] = { SCOPE_RUN, 2, "event.read" },
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
    [QUERY_REVISION_HEAD] = { SCOPE_TENANT, 0, READS_WORKFLOWS },      [QUERY_WORKFLOW_NEWEST] = { SCOPE_TENANT, 0, READS_WORKFLOWS },
    [QUERY_WORKFLOW_ACTIVE] = { SCOPE_TENANT, 0, READS_WORKFLOWS },
    [QUERY_SECRETS_OF_TENANT] = { SCOPE_TENANT, 0, "secret.read" },    [QUERY_KEY_USE] = { SCOPE_TENANT, 0, "key.read" },

    [QUERY_RECORDS] = { SCOPE_ROW_RUN, LEDGER_run_no, NULL },          [QUERY_RECORDS_BARE] = { SCOPE_ROW_RUN, LEDGER_run_no, NULL },
    [QUERY_LOG_RECORD_LAST] = { SCOPE_ROW_RUN, LEDGER_run_no, NULL },  [QUERY_LOG_RECORDS] = { SCOPE_ROW_RUN, LEDGER_run_no, NULL },
    [QUERY_RECORD_HASHES] = { SCOPE_ROW_RUN, LEDGER_run_no, NULL },    [QUERY_RUN_TENANT] = { SCOPE_ROW_TENANT, RUNS_tenant, NULL },
    [QUERY_RUNS_OPEN] = { SCOPE_ROW_TENANT, RUNS_tenant, NULL },       [QUERY_PLANS] = { SCOPE_ROW_PLAN, 0, NULL },
    [QUERY_WORKFLOW_AFTER] = { SCOPE_ROW_TENANT, REVISIONS_tenant, NULL }, [QUERY_REMOVAL] = { SCOPE_TENANT, 0, NULL },
    [QUERY_REMOVALS] = { SCOPE_ROW_TENANT, REMOVALS_tenant, NULL },    [QUERY_TIMERS_DUE] = { SCOPE_ROW_RUN, TIMERS_run_no, NULL },
    [QUERY_TIMER_NEXT] = { SCOPE_ROW_RUN, TIMERS_run_no, NULL },       [QUERY_REQUESTS_EXPIRED] = { SCOPE_ROW_TENANT, REQUESTS_tenant, NULL },
    [QUERY_KEYS] = { SCOPE_ROW_TENANT, DEDUPE_tenant, NULL },          [QUERY_OUTBOX_DUE] = { SCOPE_ROW_RUN, OUTBOX_run_no, NULL },
    [QUERY_TENANT_KEY] = { SCOPE_TENANT, 0, NULL },                    [QUERY_TENANT_KEYS] = { SCOPE_ROW_TENANT, TENANT_KEYS_tenant, NULL },
    [QUERY_SECRET] = { SCOPE_TENANT, 0, NULL },                        [QUERY_SECRETS] = { SCOPE_ROW_TENANT, SECRETS_tenant, NULL },
    [QUERY_TENANT_USE] = { SCOPE_TENANT, 0, NULL },                    [QUERY_OVERRIDE] = { SCOPE_TENANT, 0, NULL },
    [QUERY_WAITING_STARTS] = { SCOPE_ROW_TENANT, WAITING_STARTS_tenant, NULL }, [QUERY_OVERRIDES] = { SCOPE_ROW_TENANT, OVERRIDES_tenant, NULL },
    [QUERY_REVIEWS] = { SCOPE_ROW_TENANT, REVIEWS_tenant, NULL },      [QUERY_POLLS_DUE] = { SCOPE_ROW_RUN, STEP_RUNS_workflow_id, NULL },
    [QUERY_TRIGGERS_TIMED_OUT] = { SCOPE_ROW_TENANT, RUNS_tenant, NULL }, [QUERY_RESUMES_DUE] = { SCOPE_ROW_TENANT, RUNS_tenant, NULL },
    [QUERY_RETRIES_DUE] = { SCOPE_ROW_TENANT, RUNS_tenant, NULL },     [QUERY_RUNS_AWAITING_TRIGGER] = { SCOPE_ROW_TENANT, RUNS_tenant, NULL },
};

static Str or_else(Str text, Str otherwise) { return text.len ? text : otherwise; }

static bool is_of_all(const Call *call) { return str_is_text(call->caller.tenant, "*"); }

/* False after answering. */
static bool permits(Call *call, const char *verb, Str tenant)
{
    Denial denial;
    if (access_permits(call->api->access, call, verb, tenant, &denial)) return true;
    api_deny(call, tenant, &denial);
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

/* Whether a run of that tenant is the caller's. Who asks for one that is another's is told to the ledger. */
static bool owns(Call *call, int64_t run_no, Str tenant)
{
    bool is_own = call->caller.run.len ? (uint64_t)run_no == call->caller.run_no : str_is(tenant, call->caller.tenant);
    if (!is_own) api_refuse_foreign(call, tenant);
    else if (!call->is_copy && call->caller.key.len == KEY_ID_SIZE) remember_run(call, run_no);
    return is_own;
}

typedef struct TenantSearch { Arena *arena; Str tenant; } TenantSearch;

static bool take_tenant(void *context, const Cell *cells, uint32_t count)
{
    TenantSearch *search = context;
    (void)count;
    search->tenant = arena_copy(search->arena, cells[RUNS_tenant].text);
    return false;
}

/* Empty: there is no such run. */
static Str tenant_of_run_no(Call *call, int64_t run_no)
{
    TenantSearch search = { .arena = &call->arena };
    Error err;
    QueryAsk ask = { .query = QUERY_RUN_TENANT, .params = { cell_int(run_no) }, .param_count = 1 };
    return store_select(call->api->store, &ask, take_tenant, &search, &err) ? (Str){ 0 } : search.tenant;
}

static bool owns_run(Call *call, int64_t run_no)
{
    Str tenant = tenant_of_run_no(call, run_no);
    return tenant.len && owns(call, run_no, tenant);
}

/* No index finds a step run by its id; who asks about one has looked at its run just before. So these are looked through, the last one first. */
static void list_runs(Call *call, ClientRows *out)
{
    const Api *api = call->api;
    int64_t *runs = ARENA_ARRAY(&call->arena, int64_t, API_CLIENT_RUN_COUNT);
    out->runs = runs;
    if (call->caller.run.len) {
        runs[out->run_count++] = (int64_t)call->caller.run_no;
        return;
    }
    for (uint32_t i = 1; i <= API_CLIENT_RUN_COUNT; i++) {
        const ClientRun *run = &api->client_runs[(api->client_run_next + API_CLIENT_RUN_COUNT - i) % API_CLIENT_RUN_COUNT];
        if (run->run_no && !memcmp(run->key, call->caller.key.ptr, KEY_ID_SIZE)) runs[out->run_count++] = run->run_no;
    }
}

/* Ids of step runs follow from their run and their number. */
static bool run_has_step(Call *call, int64_t run_no, Str id, uint32_t *left)
{
    const Cell *row = NULL, *last = NULL;
    Error err;
    QueryAsk ask = { .query = QUERY_RUN, .params = { cell_int(run_no) }, .param_count = 1 };
    QueryAsk ask_last = { .query = QUERY_STEP_RUN_LAST, .params = { cell_int(run_no) }, .param_count = 1 };
    if (row_select(&call->arena, call->api->store, &ask, &row, &err) || !row
        || row_select(&call->arena, call->api->store, &ask_last, &last, &err) || !last)
        return false;
    Id run_id = row_id(row);
    for (int64_t i = 0; i <= last[STEP_RUNS_step_index].integer && *left; i++, --*left) {
        Id step_run = id_derive(&run_id, DERIVED_STEP_RUN, (uint64_t)i);
        if (str_is(id_peek(&step_run), id)) return true;
    }
    return false;
}

bool client_finds(ClientRows *rows, const QueryAsk *ask, uint32_t step_count_max, bool *out_is_cut)
{
    uint32_t left = step_count_max;
    *out_is_cut = false;
    if (rows->is_empty || !rows->runs) return !rows->is_empty;
    for (uint32_t i = 0; i < rows->run_count && left; i++)
        if (run_has_step(rows->call, rows->runs[i], ask->params[0].text, &left)) return true;
    *out_is_cut = !left;
    return false;
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

/* A stretch is looked through for the records of one run: the store would walk the whole log for one that is as long. False after answering. */
static bool is_stretch_short(Call *call, const QueryAsk *ask)
{
    const Cell *from = &ask->params[0], *to = &ask->params[1];
    bool is_short = ask->query != QUERY_RUN_STRETCH || from->kind != CELL_INT || to->kind != CELL_INT || to->integer < from->integer
                 || (uint64_t)to->integer - (uint64_t)from->integer < RUN_STRETCH_COUNT;
    if (!is_short) call_problem(call, PROBLEM_LIMIT, "a stretch of the log has at most RUN_STRETCH_COUNT (%u) places", RUN_STRETCH_COUNT);
    return is_short;
}

/* Of a key of every tenant, where the policy may tell them apart: whose the thing is that is asked for; empty: the question does not tell, or
 * there is no such thing. */
static Str tenant_asked_for(Call *call, const QueryAsk *ask)
{
    Scope scope = (Scope)scopes[ask->query].scope;
    const Cell *given = &ask->params[scopes[ask->query].column];
    if (scope == SCOPE_TENANT && given->kind == CELL_TEXT) return given->text;
    return scope == SCOPE_RUN && given->kind == CELL_INT ? tenant_of_run_no(call, given->integer) : STR("");
}

static void select_of_all(Call *call, const QueryAsk *ask, ClientRows *out)
{
    Scope scope = (Scope)out->kind;
    const Cell *given = &ask->params[out->column];
    if (!api_shows_by_tenant(call)) return;
    out->is_filtered = scope == SCOPE_ROW_TENANT || scope == SCOPE_ROW_RUN || scope == SCOPE_ROW_PLAN || scope == SCOPE_RUNS;
    if (scope == SCOPE_RUN && given->kind == CELL_INT && call->caller.key.len == KEY_ID_SIZE) remember_run(call, given->integer);
    if (scope == SCOPE_STEP_RUN) list_runs(call, out);
}

static void select_of_tenant(Call *call, QueryAsk *ask, ClientRows *out)
{
    Scope scope = (Scope)out->kind;
    const Cell *given = &ask->params[out->column];
    if (scope == SCOPE_TENANT) out->is_empty = !tenant_fits(call, ask);
    else if (scope == SCOPE_RUN) out->is_empty = given->kind != CELL_INT || !owns_run(call, given->integer);
    else if (scope == SCOPE_STEP_RUN) out->is_empty = ask->params[0].kind != CELL_TEXT;
    else if (scope == SCOPE_RUNS || scope == SCOPE_COUNT_BY_STATE) narrow(call, ask, scope);
    if (scope == SCOPE_STEP_RUN) list_runs(call, out);
    out->is_filtered = scope == SCOPE_ROW_TENANT || scope == SCOPE_ROW_RUN || scope == SCOPE_ROW_PLAN;
}

bool client_may_select(Call *call, QueryAsk *ask, ClientRows *out)
{
    Scope scope = (Scope)scopes[ask->query].scope;
    const QueryInfo *info = query_info(ask->query);
    const char *verb = scopes[ask->query].verb;
    *out = (ClientRows){ .call = call, .is_list = info->row_count > 1, .kind = (uint8_t)scope, .column = scopes[ask->query].column,
                         .verb = verb ? verb : "store.read", .is_whole = !verb, .is_of_log = info->table == TABLE_LEDGER,
                         .left = ask->row_count_max ? ask->row_count_max : info->row_count };
    Str meant = api_shows_by_tenant(call) ? tenant_asked_for(call, ask) : STR("");
    if (!permits(call, out->verb, or_else(meant, call->caller.tenant)) || !is_stretch_short(call, ask)) return false;
    if (is_of_all(call)) {
        select_of_all(call, ask, out);
        if (out->is_filtered) ask->row_count_max = API_STORE_SCAN_COUNT_MAX + 1u;      /* those that are passed over are not counted */
        return true;
    }
    /* An attempt asks about its run by its number or id; everything else is its tenant's, and none of its business. */
    bool is_beyond = call->caller.run.len && (scope == SCOPE_TENANT || scope == SCOPE_RUNS || scope == SCOPE_COUNT_BY_STATE);
    if (!verb || is_beyond) {
        call_refuse(call, STR("*"), STR("what the query shows belongs to several tenants"));
        call_problem(call, PROBLEM_DENIED, "what this shows belongs to %s", verb ? "the tenant, and an attempt reaches its own run alone"
                                                                                 : "several tenants: it needs a key of every one");
        return false;
    }
    select_of_tenant(call, ask, out);
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

/* Whose a row is, as far as it tells; empty: nobody's. */
static Str tenant_of_row(ClientRows *rows, const Cell *cells)
{
    Call *call = rows->call;
    const Cell *whose = &cells[rows->column];
    Value document;
    Error err;
    if (rows->kind == SCOPE_ROW_PLAN)
        return json_parse(&call->arena, cells[PLANS_document].text, &document, &err) ? STR("")
                                                                                     : value_get_string(document, "tenant", STR("default"));
    if (rows->kind != SCOPE_ROW_RUN) return whose->text;
    if (whose->kind != CELL_INT || !whose->integer) return rows->is_of_log ? document_named_tenant(&call->arena, cells) : STR("");
    if (whose->integer != rows->run_no) {
        rows->run_no = whose->integer;
        rows->tenant = tenant_of_run_no(call, whose->integer);
    }
    return rows->tenant;
}

/* With a key of every tenant. Lists pass over what the caller may not have; one thing is refused, and so is what is looked at as a whole: without
 * a part of it, it would look broken. */
static ClientSight sight_of_all(ClientRows *rows, const Cell *cells)
{
    Call *call = rows->call;
    Str tenant = tenant_of_row(rows, cells);
    if (!tenant.len || api_shows(call, rows->verb, tenant)) {
        bool is_run = rows->kind == SCOPE_ROW_TENANT && !rows->is_whole && !rows->is_list;
        if (is_run && !call->is_copy && call->caller.key.len == KEY_ID_SIZE) remember_run(call, cells[RUNS_run_no].integer);
        return CLIENT_SEES;
    }
    if (rows->is_list && !rows->is_whole && rows->kind != SCOPE_ROW_RUN) return CLIENT_PASSES_OVER;
    Str why = arena_format(&call->arena, "the access policy does not permit %s of the tenant '%.*s'", rows->verb, STR_ARG(tenant));
    call_refuse(call, tenant, why);
    call_problem_fields(call, PROBLEM_DENIED, why, NULL, 0);
    return CLIENT_IS_DONE;
}

ClientSight client_sight(ClientRows *rows, const Cell *cells)
{
    Call *call = rows->call;
    const Cell *whose = &cells[rows->column];
    if (!rows->is_filtered) return CLIENT_SEES;
    if (is_of_all(call)) return sight_of_all(rows, cells);
    if (rows->kind == SCOPE_ROW_PLAN) return owns_plan(call, cells) ? CLIENT_SEES : CLIENT_IS_DONE;
    if (rows->kind == SCOPE_ROW_TENANT) return owns(call, cells[RUNS_run_no].integer, whose->text) ? CLIENT_SEES : CLIENT_IS_DONE;
    if (whose->kind != CELL_INT || !whose->integer) return CLIENT_IS_DONE;         /* a record of the log itself */
    if (whose->integer == rows->run_no) return CLIENT_SEES;
    rows->run_no = whose->integer;
    return owns_run(call, whose->integer) ? CLIENT_SEES : CLIENT_IS_DONE;          /* further ones are of the same, or nobody has asked for them */
}

/* --- petitions --------------------------------------------------------------------------------------------------------------------------- */

static const struct { const char *petition, *verb; bool is_about_run; } petition_verbs[] = {
    { "start", "execution.start", false }, { "pause", "execution.pause", true }, { "resume", "execution.resume", true },
    { "cancel", "execution.cancel", true }, { "signal", "execution.signal", true }, { "rebind", "execution.rebind", true },
    { "trigger", "execution.approve", true }, { "resolve", "execution.resolve", true }, { "retry-from", "execution.retry", true },
    { "compensate", "execution.compensate", true }, { "retry-compensation", "execution.compensate", true },
    { "skip-compensation", "execution.compensate", true }, { "store-revision", "workflow.create", false },
    { "activate", "workflow.activate", false }, { "deactivate", "workflow.deactivate", false }, { "remove-revision", "workflow.delete", false },
    { "set-secret", "store.write", false }, { "remove-secret", "store.write", false },
};

/* Others have the verb of a key of every tenant. */
static const char *verb_of(Str petition, bool *out_is_about_run)
{
    *out_is_about_run = false;
    for (size_t i = 0; i < sizeof petition_verbs / sizeof *petition_verbs; i++) {
        if (!str_is_text(petition, petition_verbs[i].petition)) continue;
        *out_is_about_run = petition_verbs[i].is_about_run;
        return petition_verbs[i].verb;
    }
    return "store.write";
}

/* What a start brings is of the petition's tenant, which is the key's where that has one. */
static void refuse_plan_of_another(Call *call, Str tenant)
{
    if (is_of_all(call)) {
        call_problem(call, PROBLEM_INVALID, "the definition is of the tenant '%.*s', and the petition is of another", STR_ARG(tenant));
        return;
    }
    api_refuse_foreign(call, tenant);
    call_problem(call, PROBLEM_DENIED, "the definition is of another tenant than the key");
}

/* Whose the run is that a petition is about; empty: there is no such run. */
static Str tenant_of_run(Call *call, Str run)
{
    const Cell *row = NULL;
    Error err;
    Id id;
    return id_read(run, &id) && !run_row(&call->arena, call->api->store, run, &row, &err) && row ? row[RUNS_tenant].text : STR("");
}

bool client_may_ask(Call *call, ClientPetition *petition)
{
    Value body = petition->body;
    Str name = value_get_string(body, "verb", STR("")), run = value_get_string(body, "run", STR(""));
    Str given = value_get_string(body, "tenant", STR(""));
    bool is_about_run;
    const char *verb = verb_of(name, &is_about_run);
    petition->is_start = str_is_text(name, "start") || str_is_text(name, "store-revision");
    petition->tenant = !is_of_all(call) ? call->caller.tenant : petition->is_start ? or_else(given, STR("default")) : given;
    Str whose = is_about_run ? tenant_of_run(call, run) : STR("");
    /* A key of every tenant asks for what belongs to one, and the policy is told which. */
    Str meant = !is_of_all(call) ? call->caller.tenant : is_about_run ? or_else(whose, call->caller.tenant) : or_else(given, STR("default"));
    if (!permits(call, verb, meant)) return false;
    bool is_beyond = !is_of_all(call) && strcmp(verb, "store.write") == 0;
    if (is_beyond || (call->caller.run.len && !str_is(run, call->caller.run))) {
        call_refuse(call, STR(""), is_beyond ? STR("the petition needs a key of every tenant") : STR("an attempt reaches its own run alone"));
        call_problem(call, PROBLEM_DENIED, is_beyond ? "this needs a key of every tenant" : "an attempt reaches its own run alone");
        return false;
    }
    if (given.len && !petition->is_start && !api_sees(call, given)) {      /* what is the key's own by that name is not what is meant */
        api_refuse_foreign(call, given);
        call_problem(call, PROBLEM_NOT_FOUND, "there is nothing here that this key may see");
        return false;
    }
    if (whose.len && !api_sees(call, whose)) api_refuse_foreign(call, whose);           /* the engine does not find it */
    if (!petition->is_start) return true;
    if (given.len && !str_is(given, petition->tenant)) {
        refuse_plan_of_another(call, given);
        return false;
    }
    if (!value_get_string(body, "plan", STR("")).len) {
        call_problem(call, PROBLEM_INVALID, "'plan' is no plan: it is missing");
        return false;
    }
    petition->may_store = api_shows(call, "workflow.create", petition->tenant) && api_shows(call, "workflow.activate", petition->tenant);
    return true;
}

/* The revision that the plan is; NULL: none yet. */
static Status revision_of_plan(Call *call, const ClientPetition *petition, const Cell **out_row, Error *err)
{
    QueryAsk ask = { .query = QUERY_REVISION_BY_DIGEST, .param_count = 3,
                     .params = { cell_text(petition->tenant), cell_text(petition->plan->id),
                                 cell_blob((Str){ (const char *)petition->digest.bytes, DIGEST_SIZE }) } };
    *out_row = NULL;
    return row_select(&call->arena, call->api->store, &ask, out_row, err);
}

void client_read_plan(Call *copy, ClientPetition *petition)
{
    const Cell *row;
    Digest digest;
    Error err;
    if (engine_plan_read(value_get_string(petition->body, "plan", STR("")), &copy->plan, &err)) {
        call_problem(copy, PROBLEM_INVALID, "'plan' is no plan: %s", err.text);
        return;
    }
    petition->plan = engine_plan_peek(copy->plan, &petition->digest);
    if (!petition->may_store || !str_is(petition->plan->tenant, petition->tenant)) return;
    if (revision_of_plan(copy, petition, &row, &err)) {
        call_error(copy, &err);
        return;
    }
    petition->is_right = !row && definition_digest(copy, value_get_string(petition->body, "text", STR("")), &digest)
                      && !memcmp(&digest, &petition->digest, sizeof digest);
}

/* A start that brings its plan stores a revision and activates it, unless that is there. Then the definition has to be that plan here, too: what
 * a client has compiled itself is not believed. False after answering. */
static bool may_bring_plan(Call *call, const ClientPetition *petition)
{
    Error err;
    const Cell *row;
    if (!str_is(petition->plan->tenant, petition->tenant)) {
        refuse_plan_of_another(call, petition->plan->tenant);
        return false;
    }
    if (revision_of_plan(call, petition, &row, &err)) {
        call_error(call, &err);
        return false;
    }
    if (row && row[REVISIONS_active].integer) return true;
    if (!permits(call, "workflow.create", petition->tenant) || !permits(call, "workflow.activate", petition->tenant)) return false;
    if (row || petition->is_right) return true;
    call_problem(call, PROBLEM_CONFLICT, "the server reads this definition otherwise than this command: its version or its runners are others; "
                 "store it with POST /api/workflows");
    return false;
}

bool client_may_start(Call *call, ClientPetition *petition)
{
    if (!may_bring_plan(call, petition)) return false;
    petition->source = STR("manual");
    if (str_is_text(value_get_string(petition->body, "verb", STR("")), "store-revision")) return true;
    const Value *triggers = value_get_text(petition->plan->document, "triggers");
    bool is_list = triggers && triggers->kind == VALUE_ARRAY;
    return start_enter_manual(call, petition->tenant, petition->plan->id, is_list ? *triggers : value_array(NULL, 0), &petition->source);
}

/* What a client may say. All else is for the server to say, or for a command beside the store: who asks and from where, where programs
 * begin, what started a run, which plan of the store is meant. */
static bool is_for_clients(Str name)
{
    static const char *const names[] = {
        "verb", "id", "run", "reason", "trace", "tracestate", "revision", "params", "key", "again", "name", "kind", "payload",
        "denial", "decision", "scope", "mode", "unknown", "undo", "includes", "workflow", "sealed", "tenantKey", "job", "at", "held", "trigger",
        "policy", "digest", "verdict", "reviewer", "comment", "against",
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (str_is_text(name, names[i])) return true;
    return false;
}

Value client_petition(Call *call, const ClientPetition *petition)
{
    MemberList members = { .arena = &call->arena };
    Value body = petition->body;
    Str actor = value_get_string(body, "actor", STR(""));
    for (uint32_t i = 0; i < body.count; i++) {
        Str name = value_text(body.members[i].key);
        /* Only a trigger brings a payload to a start, and a plan of the store is started by its revision, if that is active. */
        bool is_servers = petition->is_start && (str_is_text(name, "payload") || str_is_text(name, "digest"));
        /* A text that was not compiled here is no plan's: the engine would keep it beside the plan. */
        bool is_text = petition->is_right && str_is_text(name, "text");
        if ((is_for_clients(name) && !is_servers) || is_text) member_list_add(&members, name, body.members[i].value);
    }
    if (petition->tenant.len) add_member(&members, "tenant", value_string(petition->tenant));
    if (petition->is_start) add_member(&members, "source", value_string(petition->source));
    /* Whoever the sender says it acts for is recorded beside the key: "user:ana by key:Xq3hT9aB". */
    add_member(&members, "actor", value_string(actor.len ? arena_format(&call->arena, "%.*s by %.*s", STR_ARG(actor),
                                                                        STR_ARG(call->caller.actor)) : call->caller.actor));
    return member_list_object(&members);
}
