#include <inttypes.h>
#include <string.h>

#include "api/aside.h"
#include "api/document.h"
#include "api/follow.h"
#include "api/page.h"
#include "api/routes.h"
#include "api/start_trigger.h"
#include "api/stream.h"
#include "base/limits.h"
#include "core/decide.h"
#include "value/json_pointer.h"
#include "view/revision_row.h"

/* --- start -------------------------------------------------------------------------------------------------------------------------- */

typedef struct Starting { int64_t wait_ms; } Starting;

static void started(Call *call, const BridgeAnswer *answer)
{
    Starting *starting = call->state;
    Str id = arena_copy(&call->arena, id_peek(&answer->run_id));
    call_add_header(call, "Location", arena_format(&call->arena, "/api/executions/%.*s", STR_ARG(id)));
    follow(call, answer->run_no, id, answer->is_repeat ? 200 : 201, starting->wait_ms);
}

/* One that is wrong is told whole; of several their names. */
static Str params_detail(Arena *arena, const ParamFindings *found, const ProblemField *fields)
{
    Buf detail;
    if (found->total == 1) return fields[0].detail;
    buf_init(&detail, SIZE_MAX);
    buf_format(&detail, "%" PRIu32 " parameters are wrong", found->total);
    if (found->total > found->count) buf_format(&detail, ", of which PARAM_FINDING_COUNT_MAX (%u) are told", PARAM_FINDING_COUNT_MAX);
    for (uint32_t i = 0; i < found->count; i++) buf_format(&detail, "%s'%.*s'", i ? ", " : ": ", STR_ARG(found->items[i].name));
    Str copy = arena_copy(arena, buf_peek(&detail));
    buf_deinit(&detail);
    return copy;
}

bool params_fit(Call *call, Value declared, Value params)
{
    ParamFindings found;
    decide_check_params(declared, params, &call->arena, &found);
    if (!found.total) return true;
    ProblemField *fields = ARENA_ARRAY(&call->arena, ProblemField, found.count);
    for (uint32_t i = 0; i < found.count; i++)
        fields[i] = (ProblemField){ .pointer = json_pointer_below(&call->arena, STR("/parameters"), found.items[i].name),
                                    .detail = arena_format(&call->arena, "parameter '%.*s' %.*s",
                                                           STR_ARG(found.items[i].name),
                                                           STR_ARG(found.items[i].what)) };
    call_problem_fields(call, PROBLEM_PARAMETERS, params_detail(&call->arena, &found, fields), fields, found.count);
    return false;
}

bool revision_to_start(Call *call, Str tenant, Str workflow, int64_t version, const Cell **out_row)
{
    Store *store = call->api->store;
    Error err;
    const Cell *any = NULL;
    QueryAsk ask = { .query = version ? QUERY_REVISION_HEAD : QUERY_REVISION_TRIGGERS, .param_count = 3,
                     .params = { cell_text(tenant), cell_text(workflow), cell_int(version ? version : 1) } };
    QueryAsk newest = { .query = QUERY_WORKFLOW_NEWEST, .param_count = 2, .params = { cell_text(tenant), cell_text(workflow) } };
    *out_row = NULL;
    Status status = row_select(&call->arena, store, &ask, out_row, &err);
    if (!status && !*out_row) status = row_select(&call->arena, store, &newest, &any, &err);
    if (status) call_error(call, &err);
    else if (!*out_row && !any)
        call_problem(call, PROBLEM_WORKFLOW_NOT_FOUND, "there is no workflow '%.*s'", STR_ARG(workflow));
    else if (!*out_row && version)
        call_problem(call, PROBLEM_REVISION_NOT_FOUND, "workflow '%.*s' has no revision %" PRId64, STR_ARG(workflow), version);
    else if (!*out_row)
        call_problem(call, PROBLEM_REVISION_NOT_ACTIVE, "no revision of workflow '%.*s' is active", STR_ARG(workflow));
    else if (!(*out_row)[REVISIONS_active].integer)
        call_problem(call, PROBLEM_REVISION_NOT_ACTIVE, "revision %" PRId64 " of workflow '%.*s' is not active",
                     (*out_row)[REVISIONS_version].integer, STR_ARG(workflow));
    else return true;
    return false;
}

bool start_enter_manual(Call *call, Str tenant, Str workflow, Value triggers, Str *out_source)
{
    Error err;
    StartTrigger trigger;
    TriggerProof proof;
    if (!start_trigger_manual(triggers, &trigger)) return true;
    *out_source = trigger.source;
    TriggerRequest request = trigger_request(call);
    Status status = start_trigger_prove(call, tenant, workflow, triggers, &request, &trigger, &proof, &err);
    if (!status) status = start_trigger_admit(call, tenant, workflow, &trigger, &proof, &err);
    if (!status) return true;
    if (status == ERR_DENIED || status == ERR_LIMIT) call_refuse(call, tenant, str_of(err.text));
    if (status == ERR_DENIED) call_problem_fields(call, PROBLEM_DENIED, str_of(err.text), NULL, 0);
    else if (status == ERR_LIMIT) call_problem_fields(call, PROBLEM_RATE, str_of(err.text), NULL, 0);
    else if (status == ERR_NOT_FOUND) call_problem_fields(call, PROBLEM_CONFLICT, str_of(err.text), NULL, 0);
    else call_error(call, &err);
    return false;
}

static bool enter_manual(Call *call, Str tenant, const Cell *revision, Str *out_source)
{
    Value triggers;
    Error err;
    if (!revision_row_triggers(&call->arena, revision, &triggers, &err))
        return start_enter_manual(call, tenant, revision[REVISIONS_workflow_id].text, triggers, out_source);
    call_error(call, &err);
    return false;
}

/* Each that is wrong is told by its place. The row tells what is declared: the plan is the engine's to read, who looks at it once more. */
static bool check_start(Call *call, const Cell *revision, Value params)
{
    Value declared;
    Error err;
    if (!revision_row_parameters(&call->arena, revision, &declared, &err)) return params_fit(call, declared, params);
    call_error(call, &err);
    return false;
}

void start_named(Call *call, MemberList *members, Str tenant, const StartWish *wish)
{
    add_member(members, "tenant", value_string(tenant));
    add_member(members, "params", wish->params);
    add_member(members, "payload", wish->payload);
    add_member(members, "source", value_string(wish->source));
    if (wish->key.len) add_member(members, "key", value_string(wish->key));
    if (wish->is_again) add_member(members, "again", value_bool(true));
    if (wish->reason.len) add_member(members, "reason", value_string(wish->reason));
    Starting *starting = ARENA_NEW(&call->arena, Starting);
    starting->wait_ms = wish->wait_ms;
    call->state = starting;
    if (wish->id.len) add_member(members, "id", value_string(wish->id));
    if (wish->alias.len) add_member(members, "alias", value_string(wish->alias));
    api_petition(call, members, "start", wish->done ? wish->done : started);
}

void start_execution(Call *call, Str tenant, const Cell *revision, const StartWish *wish)
{
    MemberList members = { .arena = &call->arena };
    Digest digest = cell_digest(&revision[REVISIONS_digest]);
    if (!check_start(call, revision, wish->params)) return;
    add_member(&members, "digest", digest_value(&call->arena, &digest));
    add_member(&members, "revision", cell_value(&revision[REVISIONS_version]));
    start_named(call, &members, tenant, wish);
}

/* An empty one would be none: a run that is meant to be there once would be there twice. False after answering. */
static bool is_start_key_usable(Call *call, Value body)
{
    const Value *key = value_get_text(body, "idempotencyKey");
    if (!key || str_trim(value_text(*key)).len) return true;
    return body_refuse(call, "idempotencyKey", "is empty; leave it out, and that of the definition counts");
}

void route_execution_start(Call *call)
{
    static const BodyMember known[] = {
        { "namespace", VALUE_STRING, false }, { "workflowId", VALUE_STRING, true }, { "version", VALUE_INT, false },
        { "parameters", VALUE_OBJECT, false }, { "idempotencyKey", VALUE_STRING, false }, { "again", VALUE_BOOL, false },
        { "reason", VALUE_STRING, false },
    };
    Value body;
    const Cell *revision;
    StartWish wish = { .payload = value_null(), .source = STR("api") };
    if (!call_read_json(call, &body) || !body_check(call, body, known, sizeof known / sizeof *known)) return;
    if (!follow_read(call, &wish.wait_ms)) return;
    Str tenant = api_tenant(call, value_get_string(body, "namespace", STR("")));
    Str workflow = value_get_string(body, "workflowId", STR(""));
    const Value *params = value_get_text(body, "parameters");
    int64_t version = value_get_int(body, "version", 0);
    if (value_get_text(body, "version") && (version < 1 || version > UINT32_MAX)) {
        (void)body_refuse(call, "version", "is from 1 to %u", UINT32_MAX);
        return;
    }
    if (!is_start_key_usable(call, body)) return;
    if (!api_may(call, tenant, PROBLEM_WORKFLOW_NOT_FOUND)) return;
    wish.params = params ? *params : (Value){ .kind = VALUE_OBJECT };
    wish.key = value_get_string(body, "idempotencyKey", STR(""));
    wish.is_again = value_get_bool(body, "again", false);
    wish.reason = value_get_string(body, "reason", STR(""));
    if (api_is_repeat(call, tenant)) {
        Digest none = { { 0 } };
        MemberList members = { .arena = &call->arena };
        add_member(&members, "digest", digest_value(&call->arena, &none));
        start_named(call, &members, tenant, &wish);
    } else if (revision_to_start(call, tenant, workflow, version, &revision)
               && enter_manual(call, tenant, revision, &wish.source)) {
        start_execution(call, tenant, revision, &wish);
    }
}

/* --- look ------------------------------------------------------------------------------------------------------------------------------ */

void route_execution(Call *call)
{
    const Cell *row;
    int64_t wait_ms;
    if (!api_execution(call, &row) || !follow_read(call, &wait_ms)) return;
    if (wait_ms) follow(call, (uint64_t)row[RUNS_run_no].integer, row[RUNS_id].text, 200, wait_ms);
    else call_value(call, 200, document_execution_whole(call, row));
}

typedef struct Listing {
    Page page;
    bool has_state;
    RunState state;
    Str status;
    Str workflow;
    int64_t version;
    uint32_t seen, looked_at;
    int64_t cursor;
    Str tenant;                     /* empty: of all */
    const Cell **found;             /* for the page */
    size_t found_count, found_capacity;
    bool has_more;
    bool is_here;                   /* in the server's thread, for as long as that takes little ... */
    bool is_long;                   /* ... and it takes more */
} Listing;

static const char *row_status(const Cell *row)
{
    return run_status(row_state(row), row_resolution(row), row[RUNS_cancel_requested].integer != 0);
}

static const struct { const char *word, *lower; } status_words[] = {
    { "PENDING", "pending" }, { "RUNNING", "running" }, { "COMPLETED", "completed" }, { "FAILED", "failed" }, { "CANCELLED", "cancelled" },
};

/* A word of `status` means what answers show as that, RUNNING also one that is paused; a word of `state` means that state alone, and so does one
 * of both, as in lower case `running` and `failed` are. False after answering. */
static bool read_state(Call *call, Str word, Listing *listing)
{
    char storage[512];
    Buf known = buf_on(storage, sizeof storage);
    bool is_state = run_state_find(word, &listing->state) && listing->state != RUN_SKIPPED;
    for (size_t i = 0; i < sizeof status_words / sizeof *status_words; i++) {
        if (str_is_text(word, status_words[i].word) || (!is_state && str_is_text(word, status_words[i].lower))) {
            listing->status = str_of(status_words[i].word);
            return true;
        }
        buf_format(&known, "%s, ", status_words[i].word);
    }
    listing->has_state = is_state;
    if (is_state) return true;
    for (int i = 0; i < RUN_SKIPPED; i++) buf_format(&known, "%s%s", i ? ", " : "", run_state_name((RunState)i));
    call_problem(call, PROBLEM_INVALID, "there is no state '%.*s'; there are %.*s", STR_ARG(word), STR_ARG(buf_peek(&known)));
    return false;
}

/* One that is empty or 0 would be none, and list everything. False after answering. */
static bool are_filters_given(Call *call, uint64_t version)
{
    static const char *const names[] = { "namespace", "workflowId", "state" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (call_has_query(call, names[i]) && !call_query(call, names[i]).len) {
            call_problem(call, PROBLEM_INVALID, "'%s' of the query is empty; leave it out to list all", names[i]);
            return false;
        }
    if (version || !call_has_query(call, "version")) return true;
    call_problem(call, PROBLEM_INVALID, "'version' of the query is from 1 up");
    return false;
}

static void find(Listing *listing, const Cell *row)
{
    Arena *arena = &listing->page.call->arena;
    if (listing->found_count == listing->found_capacity)
        listing->found = arena_grow(arena, listing->found, sizeof *listing->found, listing->found_count, &listing->found_capacity);
    listing->found[listing->found_count++] = row;
}

/* Plans are read after it, which may take longer than the store reads for. */
static bool take_execution(void *context, const Cell *cells, uint32_t count)
{
    Listing *listing = context;
    (void)count;
    listing->seen++;
    listing->is_long = listing->is_here && ++listing->looked_at > API_LIST_HERE_COUNT;
    if (listing->is_long) return false;
    listing->cursor = cells[RUNS_run_no].integer;
    if (listing->workflow.len && !str_is(cells[RUNS_definition_key].text, listing->workflow)) return true;
    if (listing->has_state && row_state(cells) != listing->state) return true;
    if (listing->status.len && !str_is_text(listing->status, row_status(cells))) return true;
    if (listing->version && cells[RUNS_definition_version].integer != listing->version) return true;
    if (!api_shows(listing->page.call, listing->page.call->route->verb, cells[RUNS_tenant].text)) return true;
    listing->has_more = listing->found_count == listing->page.limit;
    if (listing->has_more) return false;
    const Cell *row = row_copy(&listing->page.call->arena, cells, count);
    listing->is_long = listing->is_here && (listing->found_count >= API_LIST_HERE_ITEM_COUNT || !document_is_at_hand(listing->page.call, row));
    if (!listing->is_long) find(listing, row);
    return !listing->is_long;
}

/* What was found, as far as there is room for it. */
static void add_found(Listing *listing)
{
    Page *page = &listing->page;
    for (size_t i = 0; i < listing->found_count && page_has_room(page); i++) {
        const Cell *row = listing->found[i];
        PayloadRoom room = { .one_max = API_LISTED_SIZE_MAX, .size = page->size, .size_max = SIZE_MAX };
        page_add(page, document_execution(page->call, row, &room), (Str){ 0 }, row[RUNS_run_no].integer, 0);
        page->size = room.size;
    }
    page->is_full = page->is_full || listing->has_more;
}

/* The query whose index serves the filter best; the rest is looked at row by row. */
static QueryAsk ask_of(const Listing *listing, Str tenant)
{
    Cell stored = listing->has_state ? cell_text(str_of(run_state_stored(listing->state))) : cell_null();
    Cell before = cell_int(listing->cursor), workflow = cell_text(listing->workflow);
    if (!tenant.len) return (QueryAsk){ QUERY_RUNS, { before, stored, cell_null() }, 3, 0 };
    if (listing->workflow.len)
        return (QueryAsk){ QUERY_RUNS_OF_DEFINITION, { cell_text(tenant), workflow, before, stored, cell_null() }, 5, 0 };
    if (listing->has_state)
        return (QueryAsk){ QUERY_RUNS_IN_STATE, { cell_text(tenant), stored, before, cell_null(), cell_null() }, 5, 0 };
    return (QueryAsk){ QUERY_RUNS_OF_TENANT, { cell_text(tenant), before, cell_null() }, 3, 0 };
}

/* False, and nothing is answered, where it takes too long for the server's thread: many rows, or plans that have to be read for some of them. */
static bool list_executions(Call *call, Listing *listing)
{
    Error err;
    Status status;
    uint32_t looked_at = 0;
    listing->cursor = listing->page.has_cursor ? listing->page.number : INT64_MAX;
    do {
        QueryAsk ask = ask_of(listing, listing->tenant);
        listing->seen = 0;
        status = store_select(call->api->store, &ask, take_execution, listing, &err);
        looked_at += listing->seen;
        if (listing->is_long) return false;
    } while (!status && listing->seen && !listing->has_more && looked_at < API_SCAN_COUNT_MAX);
    if (!status) add_found(listing);
    if (listing->seen && !listing->page.is_full) {            /* a short page: others wait for this thread */
        listing->page.is_full = true;
        listing->page.number = listing->cursor;
    }
    if (status) call_error(call, &err);
    else page_answer(&listing->page);
    return true;
}

/* From its beginning, with the same filters. */
static void list_aside(Call *copy)
{
    const Listing *asked = copy->state;
    Listing listing = { .has_state = asked->has_state, .state = asked->state, .status = asked->status, .workflow = asked->workflow,
                        .version = asked->version, .tenant = asked->tenant };
    if (page_begin(&listing.page, copy)) (void)list_executions(copy, &listing);
}

void route_executions(Call *call)
{
    Listing *listing = ARENA_NEW(&call->arena, Listing);
    uint64_t version;
    Str state = call_query(call, "state"), given = call_query(call, "namespace");
    *listing = (Listing){ .workflow = call_query(call, "workflowId"), .is_here = true };
    if (!page_begin(&listing->page, call) || !call_query_number(call, "version", 0, UINT32_MAX, &version)) return;
    if (!are_filters_given(call, version) || (state.len && !read_state(call, state, listing))) return;
    bool is_of_all = !given.len && str_is_text(call->caller.tenant, "*");
    listing->tenant = is_of_all ? STR("") : api_tenant(call, given);
    if (!api_may(call, is_of_all ? STR("*") : listing->tenant, PROBLEM_NOT_FOUND)) return;
    listing->version = (int64_t)version;
    if (list_executions(call, listing)) return;
    call->state = listing;
    aside_begin(call, list_aside, /* done= */ NULL);
}

typedef struct StepListing { Page page; ExecutionName execution; } StepListing;

static bool take_step(void *context, const Cell *cells, uint32_t count)
{
    StepListing *listing = context;
    if (!page_has_room(&listing->page)) return false;
    const Cell *row = row_copy(&listing->page.call->arena, cells, count);
    PayloadRoom room = { .one_max = SIZE_MAX, .size = listing->page.size, .size_max = SIZE_MAX };
    page_add(&listing->page, document_step(listing->page.call, row, &listing->execution, &room), (Str){ 0 },
             row[STEP_RUNS_step_index].integer, 0);
    listing->page.size = room.size;
    return true;
}

void route_steps(Call *call)
{
    StepListing listing;
    const Cell *row;
    Error err;
    if (!api_execution(call, &row) || !page_begin(&listing.page, call)) return;
    listing.execution = document_execution_name(call, row);
    QueryAsk ask = { .query = QUERY_STEP_RUNS, .param_count = 2, .row_count_max = listing.page.limit + 1,
                     .params = { row[RUNS_run_no], cell_int(listing.page.has_cursor ? listing.page.number + 1 : 0) } };
    if (store_select(call->api->store, &ask, take_step, &listing, &err)) call_error(call, &err);
    else page_answer(&listing.page);
}

static bool add_events(void *context, Page *page, const Record *record)
{
    Arena *arena = &page->call->arena;
    (void)context;
    for (uint32_t i = 0; i < record->event_count; i++) {
        int64_t number = (int64_t)(record->head.first_event + i);
        if (number <= page->number) continue;
        if (!page_has_room(page)) return false;
        page_add(page, document_event(arena, record, i), (Str){ 0 }, number, (int64_t)record->head.position);
    }
    return true;
}

void route_execution_events(Call *call)
{
    Page page;
    const Cell *row;
    bool is_stream;
    if (!api_execution(call, &row) || !stream_is_meant(call, &is_stream)) return;
    if (is_stream) stream_of_execution(call, row);
    else if (page_begin(&page, call)) page_of_records(&page, row, add_events, NULL);
}
