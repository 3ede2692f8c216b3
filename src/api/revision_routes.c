#include <inttypes.h>
#include <string.h>

#include "api/aside.h"
#include "api/definition.h"
#include "api/document.h"
#include "api/page.h"
#include "api/plan_facts.h"
#include "api/routes.h"
#include "base/limits.h"
#include "view/revision_row.h"

/* --- which one ------------------------------------------------------------------------------------------------------------------------- */

static bool newest_of(Call *call, Str tenant, Str workflow, const Cell **out_row)
{
    Error err;
    QueryAsk ask = { .query = QUERY_WORKFLOW_NEWEST, .param_count = 2, .params = { cell_text(tenant), cell_text(workflow) } };
    *out_row = NULL;
    if (row_select(&call->arena, call->api->store, &ask, out_row, &err)) call_error(call, &err);
    else if (!*out_row) call_problem(call, PROBLEM_WORKFLOW_NOT_FOUND, "there is no workflow '%.*s'", STR_ARG(workflow));
    else return true;
    return false;
}

/* NULL: there is none. False after answering. */
static bool active_of(Call *call, Str tenant, Str workflow, const Cell **out_row)
{
    Error err;
    QueryAsk ask = { .query = QUERY_WORKFLOW_ACTIVE, .param_count = 3, .params = { cell_text(tenant), cell_text(workflow), cell_int(1) } };
    *out_row = NULL;
    if (!row_select(&call->arena, call->api->store, &ask, out_row, &err)) return true;
    call_error(call, &err);
    return false;
}

/* As the address of a revision has it: one number, one address. */
static bool version_read(Str text, uint64_t *out_version)
{
    return str_to_u64(text, out_version) && text.ptr[0] != '0' && *out_version <= UINT32_MAX;
}

bool revision_of_address(Call *call, const Cell **out_row)
{
    Str tenant = call->segments[0], workflow = call->segments[1];
    uint64_t version;
    const Cell *newest;
    Error err;
    if (!api_may(call, tenant, PROBLEM_WORKFLOW_NOT_FOUND) || !newest_of(call, tenant, workflow, &newest)) return false;
    *out_row = NULL;
    bool is_number = version_read(call->segments[2], &version);
    QueryAsk ask = { .query = QUERY_REVISION_HEAD, .param_count = 3,
                     .params = { cell_text(tenant), cell_text(workflow), cell_int(is_number ? (int64_t)version : 0) } };
    if (is_number && row_select(&call->arena, call->api->store, &ask, out_row, &err)) call_error(call, &err);
    else if (!*out_row)
        call_problem(call, PROBLEM_REVISION_NOT_FOUND, "workflow '%.*s' has no revision %.*s; its newest is %" PRId64,
                     STR_ARG(workflow), STR_ARG(call->segments[2]), newest[REVISIONS_version].integer);
    else return true;
    return false;
}

/* --- look ---------------------------------------------------------------------------------------------------------------------------------- */

static Value workflow_value(Call *call, const Cell *newest, const Cell *active)
{
    MemberList members = { .arena = &call->arena }, links = { .arena = &call->arena };
    Str tenant = newest[REVISIONS_tenant].text, workflow = newest[REVISIONS_workflow_id].text;
    const Cell *shown = active ? active : newest;
    add_member(&members, "namespace", value_string(tenant));
    add_member(&members, "workflowId", value_string(workflow));
    add_member(&members, "name", cell_value(&shown[REVISIONS_name]));
    add_member(&members, "description", cell_value(&shown[REVISIONS_description]));
    add_member(&members, "newestVersion", cell_value(&newest[REVISIONS_version]));
    add_member(&members, "activeVersion", active ? cell_value(&active[REVISIONS_version]) : value_null());
    add_member(&links, "self", api_link(call, "/api/workflows/%.*s/%.*s", STR_ARG(tenant), STR_ARG(workflow)));
    add_member(&links, "revisions", api_link(call, "/api/workflows/%.*s/%.*s/revisions", STR_ARG(tenant), STR_ARG(workflow)));
    if (api_shows(call, "execution.read", tenant))
        add_member(&links, "executions", api_link(call, "/api/executions?namespace=%.*s&workflowId=%.*s", STR_ARG(tenant), STR_ARG(workflow)));
    if (active)
        add_member(&links, "active", api_link(call, "/api/workflows/%.*s/%.*s/revisions/%" PRId64, STR_ARG(tenant), STR_ARG(workflow),
                                              active[REVISIONS_version].integer));
    add_member(&members, "_links", member_list_object(&links));
    return member_list_object(&members);
}

void route_workflow(Call *call)
{
    Str tenant = call->segments[0], workflow = call->segments[1];
    const Cell *newest, *active;
    if (!api_may(call, tenant, PROBLEM_WORKFLOW_NOT_FOUND) || !newest_of(call, tenant, workflow, &newest)) return;
    if (active_of(call, tenant, workflow, &active)) call_value(call, 200, workflow_value(call, newest, active));
}

bool workflow_after(Call *call, Str tenant, Str after, Str *out_name)
{
    Error err;
    if (!revision_workflow_after(&call->arena, call->api->store, tenant, after, out_name, &err)) return true;
    call_error(call, &err);
    return false;
}

/* The same across tenants, in their order; an empty name: there is none. */
static bool workflow_after_of_all(Call *call, Str *tenant, Str *name)
{
    const Cell *row = NULL;
    Error err;
    QueryAsk ask = { .query = QUERY_WORKFLOW_AFTER, .params = { cell_text(*tenant), cell_text(*name) }, .param_count = 2 };
    if (row_select(&call->arena, call->api->store, &ask, &row, &err)) {
        call_error(call, &err);
        return false;
    }
    *tenant = row ? row[REVISIONS_tenant].text : STR("");
    *name = row ? row[REVISIONS_workflow_id].text : STR("");
    return true;
}

void route_workflows(Call *call)
{
    Page page;
    Str given = call_query(call, "namespace"), tenant = api_tenant(call, given);
    bool is_of_all = !given.len && str_is_text(call->caller.tenant, "*");
    if (!api_may(call, is_of_all ? STR("*") : tenant, PROBLEM_NOT_FOUND) || !page_begin(&page, call)) return;
    Str name = page.text;
    if (is_of_all) {                /* the cursor has both: "acme/order" */
        size_t end = str_find(page.text, '/', 0);
        tenant = str_slice(page.text, 0, end);
        name = str_slice(page.text, end < page.text.len ? end + 1 : end, page.text.len);
    }
    for (;;) {
        const Cell *newest, *active;
        if (!(is_of_all ? workflow_after_of_all(call, &tenant, &name) : workflow_after(call, tenant, name, &name))) return;
        if (!name.len) break;
        if (!api_shows(call, call->route->verb, tenant)) {
            tenant = arena_format(&call->arena, "%.*s\001", STR_ARG(tenant));       /* behind all of its workflows, and before the next tenant */
            name = STR("");
            continue;
        }
        if (!page_has_room(&page)) break;
        if (!newest_of(call, tenant, name, &newest) || !active_of(call, tenant, name, &active)) return;
        page_add(&page, workflow_value(call, newest, active),
                 is_of_all ? arena_format(&call->arena, "%.*s/%.*s", STR_ARG(tenant), STR_ARG(name)) : name, 0, 0);
    }
    page_answer(&page);
}

static bool take_revision(void *context, const Cell *cells, uint32_t count)
{
    Page *page = context;
    if (!page_has_room(page)) return false;
    const Cell *row = row_copy(&page->call->arena, cells, count);
    Value links = document_revision_links(page->call, row);
    Value document = document_revision(page->call, row, links, /* is_whole= */ false, /* compared= */ NULL);
    page_add(page, document, (Str){ 0 }, row[REVISIONS_version].integer, 0);
    return true;
}

void route_revisions(Call *call)
{
    Page page;
    const Cell *newest;
    Error err;
    Str tenant = call->segments[0], workflow = call->segments[1];
    if (!api_may(call, tenant, PROBLEM_WORKFLOW_NOT_FOUND) || !page_begin(&page, call)) return;
    if (!newest_of(call, tenant, workflow, &newest)) return;
    QueryAsk ask = { .query = QUERY_REVISIONS_OF_WORKFLOW, .param_count = 3, .row_count_max = page.limit + 1,
                     .params = { cell_text(tenant), cell_text(workflow), cell_int(page.has_cursor ? page.number : INT64_MAX) } };
    if (store_select(call->api->store, &ask, take_revision, &page, &err)) call_error(call, &err);
    else page_answer(&page);
}

typedef struct Showing { const Cell *row; Value links; unsigned status; const RevisionCompared *compared; } Showing;

static bool is_large(const Cell *row) { return row[REVISIONS_steps].text.len + row[REVISIONS_text].text.len > API_HERE_SIZE_MAX; }

/* The row that was found has neither its steps nor its text, which may be large. */
static void show(Call *call)
{
    const Showing *showing = call->state;
    const Cell *row = NULL, *found = showing->row;
    Digest digest = cell_digest(&found[REVISIONS_digest]);
    Error err;
    QueryAsk ask = { .query = QUERY_REVISION, .param_count = 3,
                     .params = { found[REVISIONS_tenant], found[REVISIONS_workflow_id], found[REVISIONS_version] } };
    if (row_select(&call->arena, call->api->store, &ask, &row, &err)) {
        call_error(call, &err);
        return;
    }
    if (!row) {
        call_problem(call, PROBLEM_REVISION_NOT_FOUND, "the revision was removed meanwhile");
        return;
    }
    plan_facts_put(call->api->facts, &digest, STR(""), (PlanFact){ .is_large = is_large(row) });
    call_add_header(call, "ETag", document_etag(call, row));
    call_value(call, showing->status, document_revision(call, row, showing->links, /* is_whole= */ true, showing->compared));
}

static bool is_small(const Call *call, const Cell *row)
{
    PlanFact fact;
    Digest digest = cell_digest(&row[REVISIONS_digest]);
    return plan_facts_find(call->api->facts, &digest, STR(""), &fact) && !fact.is_large;
}

/* One that is large, or that nobody has looked at yet, beside the server's thread; but what is done is told, though there is no room there. */
static void answer_revision(Call *call, unsigned status, const Cell *row, const RevisionCompared *compared)
{
    Showing *showing = ARENA_NEW(&call->arena, Showing);
    *showing = (Showing){ row, document_revision_links(call, row), status, compared };
    call->state = showing;
    if (is_small(call, row)) show(call);
    else if (!call->is_done) aside_begin(call, show, /* done= */ NULL);
    else if (!aside_try(call, show, /* done= */ NULL)) show(call);
}

static void refuse_stale(Call *call, const Cell *row)
{
    call_problem(call, PROBLEM_PRECONDITION, "the revision is %.*s now", STR_ARG(document_etag(call, row)));
}

void route_revision(Call *call)
{
    const Cell *row;
    if (!revision_of_address(call, &row)) return;
    Str tag = document_etag(call, row);
    if (call_has_header(call, "If-Match") && !call_has_tag(call, "If-Match", tag, /* is_weak_enough= */ false)) {
        refuse_stale(call, row);
        return;
    }
    bool is_unchanged = call_has_tag(call, "If-None-Match", tag, /* is_weak_enough= */ true);
    if (!is_unchanged || is_small(call, row)) {
        answer_revision(call, is_unchanged ? 304 : 200, row, /* compared= */ NULL);
        return;
    }
    call_add_header(call, "ETag", tag);
    call_unchanged(call);
}

/* --- change --------------------------------------------------------------------------------------------------------------------------------- */

typedef struct RevisionTag { uint64_t version, is_active, updated_ms; } RevisionTag;

/* As document_etag() writes it. */
static bool tag_read(Str text, RevisionTag *out)
{
    size_t first = str_find(text, '-', 0), second = str_find(text, '-', first + 1);
    if (text.len < 2 || text.ptr[0] != '"' || text.ptr[text.len - 1] != '"' || second >= text.len) return false;
    return str_to_u64(str_slice(text, 1, first), &out->version) && str_to_u64(str_slice(text, first + 1, second), &out->is_active)
        && str_to_u64(str_slice(text, second + 1, text.len - 1), &out->updated_ms) && out->is_active <= 1 && out->updated_ms <= INT64_MAX;
}

/* What If-Match says goes to the engine, which compares it where the change is decided: of several who saw the same one alone changes it, and
 * a request that comes again with its Idempotency-Key gets its first answer though it has changed what it saw. Of a list the tag that the
 * revision has now is meant, else the first that could be one of it. False after answering. */
static bool add_expected(Call *call, const Cell *row, MemberList *members)
{
    MemberList expected = { .arena = &call->arena };
    RevisionTag tag = { (uint64_t)row[REVISIONS_version].integer, (uint64_t)row[REVISIONS_active].integer,
                        (uint64_t)row[REVISIONS_updated_ms].integer };
    Str list = call_list(call, "If-Match");
    if (!list.len || call_has_tag(call, "If-Match", STR("*"), /* is_weak_enough= */ false)) return true;
    bool is_found = call_has_tag(call, "If-Match", document_etag(call, row), /* is_weak_enough= */ false);
    for (size_t at = 0; at < list.len && !is_found;) {
        size_t end = str_find(list, ',', at);
        is_found = tag_read(str_trim(str_slice(list, at, end)), &tag) && tag.version == (uint64_t)row[REVISIONS_version].integer;
        at = end + 1;
    }
    if (!is_found) {
        refuse_stale(call, row);
        return false;
    }
    add_member(&expected, "active", value_bool(tag.is_active));
    add_member(&expected, "updated", value_int((int64_t)tag.updated_ms));
    add_member(members, "expected", member_list_object(&expected));
    return true;
}

typedef struct Activating { const Cell *row; Value body; RevisionCheck check; uint32_t try_count; } Activating;

static void activate(Call *call);

/* Who names no revision that it saw is not told of a race that it lost to another: what is active by now is compared with. */
static bool refused(Call *call, const BridgeAnswer *answer)
{
    const Cell *row;
    Activating *activating = call->state;
    if (answer->is_overtaken && ++activating->try_count < ACTIVATE_TRY_COUNT_MAX) {
        activate(call);
        return true;
    }
    bool is_removal = call->method == METHOD_DELETE && answer->status == ERR_CONFLICT;
    if (!answer->is_stale && !is_removal) return false;
    if (!revision_of_address(call, &row)) return true;
    if (answer->is_stale) refuse_stale(call, row);
    else if (row[REVISIONS_active].integer) call_problem_fields(call, PROBLEM_ACTIVE_REVISION, str_of(answer->error.text), NULL, 0);
    else return false;
    return true;
}

static void changed(Call *call, const BridgeAnswer *answer)
{
    const Cell *row;
    (void)answer;
    if (revision_of_address(call, &row)) answer_revision(call, 200, row, /* compared= */ NULL);
}

static void deleted(Call *call, const BridgeAnswer *answer)
{
    (void)answer;
    call_empty(call, 204);
}

static void add_revision(const Call *call, MemberList *members, int64_t version)
{
    add_member(members, "tenant", value_string(call->segments[0]));
    add_member(members, "workflow", value_string(call->segments[1]));
    add_member(members, "revision", value_int(version));
}

static void petition_about(Call *call, const Cell *row, MemberList *members, Value body, const char *verb, ApiDone done)
{
    Str reason = value_get_string(body, "reason", STR(""));
    if (!add_expected(call, row, members)) return;
    add_revision(call, members, row[REVISIONS_version].integer);
    if (reason.len) add_member(members, "reason", value_string(reason));
    api_petition_or(call, members, verb, done, refused);
}

Status plan_of_revision(Call *call, const Cell *row, const Plan **out_plan, Error *err)
{
    Digest digest = cell_digest(&row[REVISIONS_digest]);
    return api_plan(call->api, &digest, out_plan, err);
}

bool revision_compare_with(Call *call, const Plan *after, RevisionCheck *out)
{
    const Plan *before;
    const Cell *row;
    Error err;
    Status status = revision_relied_on(&call->arena, call->api->store, after->tenant, after->id, &row, &err);
    Digest digest = !status && row ? cell_digest(&row[REVISIONS_digest]) : (Digest){ 0 };
    bool is_other = !status && row && memcmp(&digest, &after->digest, sizeof digest);
    if (is_other) status = plan_of_revision(call, row, &before, &err);
    if (status) {
        call_error(call, &err);
        return false;
    }
    Compatibility *found = ARENA_NEW(&call->arena, Compatibility);
    if (is_other) compatibility_compare(&call->arena, before, after, found);
    *out = (RevisionCheck){ row, found };
    return true;
}

bool revision_check(Call *call, const RevisionCheck *check, const char *how)
{
    const Compatibility *found = check->found;
    if (!found->total) return true;
    ProblemField fields[COMPATIBILITY_COUNT_MAX];
    for (uint32_t i = 0; i < found->count; i++)
        fields[i] = (ProblemField){ .pointer = found->findings[i].pointer, .detail = found->findings[i].what };
    call_problem_fields(call, PROBLEM_INCOMPATIBLE, arena_format(&call->arena, "%u changes break who relies on revision %" PRId64
                        ", which %s; with %s it is activated all the same", found->total, check->before[REVISIONS_version].integer,
                        revision_standing(check->before), how),
                        fields, found->count);
    return false;
}

void revision_add_against(MemberList *members, const RevisionCheck *check)
{
    bool is_active = check->before && check->before[REVISIONS_active].integer;
    add_member(members, "against", value_int(is_active ? check->before[REVISIONS_version].integer : 0));
}

/* Two plans are read and compared. */
static void compare(Call *copy)
{
    Activating *activating = copy->state;
    const Plan *after;
    Error err;
    if (plan_of_revision(copy, activating->row, &after, &err)) {
        call_error(copy, &err);
        return;
    }
    if (revision_compare_with(copy, after, &activating->check))
        (void)revision_check(copy, &activating->check, "{\"allowIncompatible\": true}");
}

/* Another may become the active one before this does: the engine is told which one it was compared with. */
static void compared(Call *call, Call *copy)
{
    const Activating *activating = call->state;
    MemberList members = { .arena = &call->arena };
    (void)copy;
    revision_add_against(&members, &activating->check);
    petition_about(call, activating->row, &members, activating->body, "activate", changed);
}

static void activate(Call *call) { aside_begin(call, compare, compared); }

void route_revision_activate(Call *call)
{
    static const BodyMember known[] = { { "reason", VALUE_STRING, false }, { "allowIncompatible", VALUE_BOOL, false } };
    MemberList members = { .arena = &call->arena };
    Activating *activating = ARENA_NEW(&call->arena, Activating);
    if (!revision_of_address(call, &activating->row) || !call_read_json(call, &activating->body)
        || !body_check(call, activating->body, known, 2))
        return;
    if (value_get_bool(activating->body, "allowIncompatible", false)) {
        petition_about(call, activating->row, &members, activating->body, "activate", changed);
        return;
    }
    call->state = activating;
    activate(call);
}

void route_revision_deactivate(Call *call)
{
    static const BodyMember known[] = { { "reason", VALUE_STRING, false } };
    MemberList members = { .arena = &call->arena };
    const Cell *row;
    Value body;
    if (!revision_of_address(call, &row) || !call_read_json(call, &body) || !body_check(call, body, known, 1)) return;
    petition_about(call, row, &members, body, "deactivate", changed);
}

void route_revision_delete(Call *call)
{
    MemberList members = { .arena = &call->arena };
    const Cell *row;
    uint64_t version;
    bool is_repeat = api_is_repeat(call, call->segments[0]) && version_read(call->segments[2], &version);
    if (!is_repeat) {
        if (revision_of_address(call, &row)) petition_about(call, row, &members, (Value){ .kind = VALUE_OBJECT }, "remove-revision", deleted);
    } else if (api_may(call, call->segments[0], PROBLEM_WORKFLOW_NOT_FOUND)) {
        add_revision(call, &members, (int64_t)version);
        api_petition_or(call, &members, "remove-revision", deleted, refused);
    }
}

/* --- create ----------------------------------------------------------------------------------------------------------------------------------- */

typedef struct Creating {
    Str tenant, workflow;           /* as the address names them; the workflow may be empty until the definition says it */
    Definition definition;          /* while it is at hand */
    Digest digest;                  /* of its plan */
    RevisionCheck check;            /* while it is at hand */
    RevisionCompared compared;
} Creating;

static void created(Call *call, const BridgeAnswer *answer)
{
    const Creating *creating = call->state;
    const Cell *row = NULL;
    Error err;
    QueryAsk by_digest = { .query = QUERY_REVISION_BY_DIGEST, .param_count = 3,
                     .params = { cell_text(creating->tenant), cell_text(creating->workflow),
                                 cell_blob((Str){ (const char *)creating->digest.bytes, DIGEST_SIZE }) } };
    if (row_select(&call->arena, call->api->store, &by_digest, &row, &err)) {
        call_error(call, &err);
        return;
    }
    if (!row) {
        call_problem(call, PROBLEM_CONFLICT, "%s", api_request_id(call).len
                     ? "the revision that was stored under this Idempotency-Key has been removed since; with another key it is stored again"
                     : "the revision was removed as soon as it was stored");
        return;
    }
    call_add_header(call, "Location", arena_format(&call->arena, "/api/workflows/%.*s/%.*s/revisions/%" PRId64, STR_ARG(creating->tenant),
                                                   STR_ARG(creating->workflow), row[REVISIONS_version].integer));
    answer_revision(call, answer->is_noop ? 200 : 201, row, &creating->compared);
}

/* It is stored whatever it breaks, and its author learns of it now: whoever activates it may be another. */
static RevisionCompared compared_of(Call *call, const RevisionCheck *check)
{
    Value breaks = compatibility_list(&call->arena, check->found);
    return (RevisionCompared){ check->before ? cell_value(&check->before[REVISIONS_version]) : value_null(), breaks };
}

static void compile_sent(Call *copy)
{
    Creating *creating = copy->state;
    if (!definition_compile(copy, &creating->definition) || definition_is_refused(copy, &creating->definition)) return;
    if (definition_print(copy, &creating->definition)) (void)revision_compare_with(copy, &creating->definition.compiled.plan, &creating->check);
}

static void compiled(Call *call, Call *copy)
{
    Creating *creating = call->state;
    const Definition *definition = &creating->definition;
    const Plan *plan = &definition->compiled.plan;
    MemberList members = { .arena = &call->arena };
    if (definition_is_unnamed(call, definition, creating->tenant)) return;
    if (!api_sees(call, plan->tenant)) {
        (void)api_may(call, plan->tenant, creating->workflow.len ? PROBLEM_WORKFLOW_NOT_FOUND : PROBLEM_NOT_FOUND);
        return;
    }
    if (!creating->workflow.len && !api_may_own(call, plan->tenant, &creating->tenant)) return;
    if (!str_is(plan->tenant, creating->tenant) || (creating->workflow.len && !str_is(plan->id, creating->workflow))) {
        call_problem(call, PROBLEM_INVALID, "the definition is of workflow '%.*s' of the namespace '%.*s', and the address or the key is of another",
                     STR_ARG(plan->id), STR_ARG(plan->tenant));
        return;
    }
    creating->digest = definition->digest;
    plan_facts_put(call->api->facts, &creating->digest, STR(""),
                   (PlanFact){ .is_large = definition->document.len + definition->text.len > API_HERE_SIZE_MAX });
    creating->tenant = arena_copy(&call->arena, creating->tenant);
    creating->workflow = arena_copy(&call->arena, plan->id);
    creating->compared = compared_of(call, &creating->check);
    add_member(&members, "tenant", value_string(creating->tenant));
    add_member(&members, "text", value_string(definition->text));
    definition_hand_over(call, copy);
    api_petition(call, &members, "store-revision", created);
}

static void create(Call *call, Str tenant, Str workflow)
{
    Creating *creating = ARENA_NEW(&call->arena, Creating);
    *creating = (Creating){ .tenant = tenant, .workflow = workflow };
    call->state = creating;
    if (definition_fits(call)) aside_begin(call, compile_sent, compiled);
}

void route_workflow_create(Call *call)
{
    Str tenant = api_tenant(call, call_query(call, "namespace"));
    if (api_may(call, tenant, PROBLEM_NOT_FOUND)) create(call, tenant, (Str){ 0 });
}

void route_revision_create(Call *call)
{
    const Cell *newest;
    if (api_may(call, call->segments[0], PROBLEM_WORKFLOW_NOT_FOUND) && newest_of(call, call->segments[0], call->segments[1], &newest))
        create(call, call->segments[0], call->segments[1]);
}
