#include <inttypes.h>
#include <string.h>

#include "api/document.h"
#include "api/page.h"
#include "api/routes.h"
#include "base/limits.h"
#include "lang/compatibility.h"
#include "lang/compile.h"
#include "value/canonical.h"

/* --- which one ------------------------------------------------------------------------------------------------------------------------- */

static bool newest_of(Call *call, Str tenant, Str workflow, const Cell **out_row)
{
    Error err;
    QueryAsk ask = { .query = QUERY_REVISION_NEWEST, .param_count = 2, .params = { cell_text(tenant), cell_text(workflow) } };
    *out_row = NULL;
    if (row_select(&call->arena, call->api->store, &ask, out_row, &err)) call_error(call, &err);
    else if (!*out_row) call_problem(call, PROBLEM_WORKFLOW_NOT_FOUND, "there is no workflow '%.*s'", STR_ARG(workflow));
    else return true;
    return false;
}

bool revision_of_address(Call *call, const Cell **out_row)
{
    Str tenant = call->segments[0], workflow = call->segments[1];
    uint64_t version;
    const Cell *newest;
    Error err;
    if (!api_may(call, tenant, PROBLEM_WORKFLOW_NOT_FOUND) || !newest_of(call, tenant, workflow, &newest)) return false;
    *out_row = NULL;
    bool is_number = str_to_u64(call->segments[2], &version) && version && version <= UINT32_MAX;
    QueryAsk ask = { .query = QUERY_REVISION, .param_count = 3,
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
    add_member(&links, "executions", api_link(call, "/api/executions?namespace=%.*s&workflowId=%.*s", STR_ARG(tenant), STR_ARG(workflow)));
    if (active)
        add_member(&links, "active", api_link(call, "/api/workflows/%.*s/%.*s/revisions/%" PRId64, STR_ARG(tenant), STR_ARG(workflow),
                                              active[REVISIONS_version].integer));
    add_member(&members, "_links", member_list_object(&links));
    return member_list_object(&members);
}

const Cell *revision_active(Call *call, Str tenant, Str workflow)
{
    const Cell *row = NULL;
    Error err;
    QueryAsk ask = { .query = QUERY_REVISION_ACTIVE, .param_count = 3, .params = { cell_text(tenant), cell_text(workflow), cell_int(1) } };
    return row_select(&call->arena, call->api->store, &ask, &row, &err) ? NULL : row;
}

void route_workflow(Call *call)
{
    Str tenant = call->segments[0], workflow = call->segments[1];
    const Cell *newest;
    if (!api_may(call, tenant, PROBLEM_WORKFLOW_NOT_FOUND) || !newest_of(call, tenant, workflow, &newest)) return;
    call_value(call, 200, workflow_value(call, newest, revision_active(call, tenant, workflow)));
}

typedef struct NameScan { Arena *arena; Str name; } NameScan;

static bool take_name(void *context, const Cell *cells, uint32_t count)
{
    NameScan *scan = context;
    (void)count;
    scan->name = arena_copy(scan->arena, cells[REVISIONS_workflow_id].text);
    return false;
}

/* Behind the highest version that a name can have comes the next name. */
bool workflow_after(Call *call, Str tenant, Str after, Str *out_name)
{
    NameScan scan = { .arena = &call->arena };
    Error err;
    QueryAsk ask = { .query = QUERY_REVISIONS_OF_TENANT, .param_count = 3, .row_count_max = 1,
                     .params = { cell_text(tenant), cell_text(after), cell_int(INT64_MAX) } };
    if (store_select(call->api->store, &ask, take_name, &scan, &err)) {
        call_error(call, &err);
        return false;
    }
    *out_name = scan.name;
    return true;
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
    if (!api_may(call, is_of_all ? STR("*") : tenant, PROBLEM_NOT_FOUND) || !page_begin(&page, call, 'w')) return;
    Str name = page.text;
    if (is_of_all) {                /* the cursor has both: "acme/order" */
        size_t end = str_find(page.text, '/', 0);
        tenant = str_slice(page.text, 0, end);
        name = str_slice(page.text, end < page.text.len ? end + 1 : end, page.text.len);
    }
    for (;;) {
        const Cell *newest = NULL;
        if (!(is_of_all ? workflow_after_of_all(call, &tenant, &name) : workflow_after(call, tenant, name, &name))) return;
        if (!name.len || !page_has_room(&page)) break;
        if (!newest_of(call, tenant, name, &newest)) return;
        page_add(&page, workflow_value(call, newest, revision_active(call, tenant, name)),
                 is_of_all ? arena_format(&call->arena, "%.*s/%.*s", STR_ARG(tenant), STR_ARG(name)) : name, 0, 0);
    }
    page_answer(&page);
}

static bool take_revision(void *context, const Cell *cells, uint32_t count)
{
    Page *page = context;
    if (!page_has_room(page)) return false;
    const Cell *row = row_copy(&page->call->arena, cells, count);
    page_add(page, document_revision(page->call, row, /* is_whole= */ false), (Str){ 0 }, row[REVISIONS_version].integer, 0);
    return true;
}

void route_revisions(Call *call)
{
    Page page;
    const Cell *newest;
    Error err;
    Str tenant = call->segments[0], workflow = call->segments[1];
    if (!api_may(call, tenant, PROBLEM_WORKFLOW_NOT_FOUND) || !page_begin(&page, call, 'r')) return;
    if (!newest_of(call, tenant, workflow, &newest)) return;
    QueryAsk ask = { .query = QUERY_REVISIONS_OF_WORKFLOW, .param_count = 3, .row_count_max = page.limit + 1,
                     .params = { cell_text(tenant), cell_text(workflow), cell_int(page.has_cursor ? page.number : INT64_MAX) } };
    if (store_select(call->api->store, &ask, take_revision, &page, &err)) call_error(call, &err);
    else page_answer(&page);
}

static void answer_revision(Call *call, unsigned status, const Cell *row)
{
    call_add_header(call, "ETag", document_etag(call, row));
    call_value(call, status, document_revision(call, row, /* is_whole= */ true));
}

void route_revision(Call *call)
{
    const Cell *row;
    if (!revision_of_address(call, &row)) return;
    answer_revision(call, call_has_tag(call, "If-None-Match", document_etag(call, row), /* is_weak_enough= */ true) ? 304 : 200, row);
}

/* --- change --------------------------------------------------------------------------------------------------------------------------------- */

static bool is_expected(Call *call, const Cell *row)
{
    if (!call_header(call, "If-Match").len || call_has_tag(call, "If-Match", document_etag(call, row), /* is_weak_enough= */ false)) return true;
    call_problem(call, PROBLEM_PRECONDITION, "the revision is %.*s now", STR_ARG(document_etag(call, row)));
    return false;
}

static void changed(Call *call, const BridgeAnswer *answer)
{
    const Cell *row;
    (void)answer;
    if (revision_of_address(call, &row)) answer_revision(call, 200, row);
}

static void deleted(Call *call, const BridgeAnswer *answer)
{
    (void)answer;
    call_empty(call, 204);
}

static void petition_about(Call *call, const Cell *row, Value body, const char *verb, ApiDone done)
{
    MemberList members = { .arena = &call->arena };
    Str reason = value_get_string(body, "reason", STR(""));
    add_member(&members, "tenant", value_string(call->segments[0]));
    add_member(&members, "workflow", value_string(call->segments[1]));
    add_member(&members, "revision", cell_value(&row[REVISIONS_version]));
    if (reason.len) add_member(&members, "reason", value_string(reason));
    api_petition(call, &members, verb, done);
}

Status plan_of_revision(Call *call, const Cell *row, const Plan **out_plan, Error *err)
{
    Digest digest = cell_digest(&row[REVISIONS_digest]);
    return api_plan(call->api, &digest, out_plan, err);
}

bool revision_check(Call *call, const Cell *active, const Plan *after, const char *how)
{
    const Plan *before;
    Error err;
    if (plan_of_revision(call, active, &before, &err)) {
        call_error(call, &err);
        return false;
    }
    Compatibility *found = ARENA_NEW(&call->arena, Compatibility);
    compatibility_compare(&call->arena, before, after, found);
    if (!found->total) return true;
    ProblemField fields[COMPATIBILITY_COUNT_MAX];
    for (uint32_t i = 0; i < found->count; i++)
        fields[i] = (ProblemField){ .pointer = found->findings[i].subject, .detail = found->findings[i].what };
    call_problem_fields(call, PROBLEM_INCOMPATIBLE, arena_format(&call->arena, "%u changes break who relies on revision %" PRId64
                        "; with %s it is activated all the same", found->total, active[REVISIONS_version].integer, how),
                        fields, found->count);
    return false;
}

static bool is_compatible(Call *call, const Cell *row)
{
    const Cell *active = revision_active(call, call->segments[0], call->segments[1]);
    const Plan *after;
    Error err;
    if (!active || active[REVISIONS_version].integer == row[REVISIONS_version].integer) return true;
    if (!plan_of_revision(call, row, &after, &err)) return revision_check(call, active, after, "{\"allowIncompatible\": true}");
    call_error(call, &err);
    return false;
}

void route_revision_activate(Call *call)
{
    static const BodyMember known[] = { { "reason", VALUE_STRING, false }, { "allowIncompatible", VALUE_BOOL, false } };
    const Cell *row;
    Value body;
    if (!revision_of_address(call, &row) || !call_read_json(call, &body) || !check_members(call, body, known, 2)) return;
    if (!is_expected(call, row)) return;
    if (!value_get_bool(body, "allowIncompatible", false) && !is_compatible(call, row)) return;
    petition_about(call, row, body, "activate", changed);
}

void route_revision_deactivate(Call *call)
{
    static const BodyMember known[] = { { "reason", VALUE_STRING, false } };
    const Cell *row;
    Value body;
    if (!revision_of_address(call, &row) || !call_read_json(call, &body) || !check_members(call, body, known, 1)) return;
    if (is_expected(call, row)) petition_about(call, row, body, "deactivate", changed);
}

void route_revision_delete(Call *call)
{
    const Cell *row;
    if (!revision_of_address(call, &row) || !is_expected(call, row)) return;
    if (row[REVISIONS_active].integer) {
        call_problem(call, PROBLEM_ACTIVE_REVISION, "revision %.*s of workflow '%.*s' is active", STR_ARG(call->segments[2]),
                     STR_ARG(call->segments[1]));
        return;
    }
    petition_about(call, row, (Value){ .kind = VALUE_OBJECT }, "remove-revision", deleted);
}

/* --- create ----------------------------------------------------------------------------------------------------------------------------------- */

typedef struct Creating { Digest digest; Str tenant, workflow; } Creating;

static void created(Call *call, const BridgeAnswer *answer)
{
    const Creating *creating = call->state;
    const Cell *row = NULL;
    Error err;
    QueryAsk by_digest = { .query = QUERY_REVISION_BY_DIGEST, .param_count = 3,
                     .params = { cell_text(creating->tenant), cell_text(creating->workflow),
                                 cell_blob((Str){ (const char *)creating->digest.bytes, DIGEST_SIZE }) } };
    Status status = row_select(&call->arena, call->api->store, &by_digest, &row, &err);
    if (!status && row) {
        QueryAsk ask = { .query = QUERY_REVISION, .param_count = 3,
                         .params = { by_digest.params[0], by_digest.params[1], row[REVISIONS_version] } };
        status = row_select(&call->arena, call->api->store, &ask, &row, &err);
    }
    if (status) {
        call_error(call, &err);
        return;
    }
    if (!row) {
        call_problem(call, PROBLEM_CONFLICT, "the revision was removed as soon as it was stored");
        return;
    }
    call_add_header(call, "Location", arena_format(&call->arena, "/api/workflows/%.*s/%.*s/revisions/%" PRId64, STR_ARG(creating->tenant),
                                                   STR_ARG(creating->workflow), row[REVISIONS_version].integer));
    answer_revision(call, answer->is_noop ? 200 : 201, row);
}

void definition_refuse(Call *call, const Diagnostics *diagnostics)
{
    ProblemField fields[64];
    uint32_t count = 0;
    for (size_t i = 0; i < diagnostics->count && count < 64; i++) {
        const Diagnostic *diagnostic = &diagnostics->items[i];
        if (diagnostic->severity != SEVERITY_ERROR) continue;
        Str detail = diagnostic->help.len ? arena_format(&call->arena, "%.*s; %.*s", STR_ARG(diagnostic->message), STR_ARG(diagnostic->help)) : diagnostic->message;
        fields[count++] = (ProblemField){ diagnostic->pointer, detail, diagnostic->line, diagnostic->column };
    }
    call_problem_fields(call, PROBLEM_DEFINITION, arena_format(&call->arena, "the definition has %u mistakes", count), fields, count);
}

bool definition_read(Call *call, Str *out_text, TextFormat *out_format)
{
    Str type = call_header(call, "Content-Type"), body = buf_peek(&call->body);
    Value value;
    *out_format = str_starts(type, STR("application/yaml")) || str_starts(type, STR("text/yaml")) || str_starts(type, STR("application/x-yaml"))
                      ? TEXT_YAML : TEXT_JSON;
    *out_text = body;
    if (*out_format == TEXT_YAML) return call_is_plain(call);
    if (!call_read_json(call, &value)) return false;
    const Value *text = value_get_text(value, "definition");
    if (text && text->kind == VALUE_STRING) {
        *out_text = value_text(*text);
        *out_format = TEXT_YAML;
    }
    return true;
}

static void create(Call *call, Str tenant, Str workflow)
{
    Arena *arena = &call->arena;
    Compiled compiled;
    MemberList members = { .arena = arena };
    Buf document;
    Error err;
    Str text;
    CompileOptions options = { .file = STR("definition"), .catalog = call->api->catalog };
    if (!definition_read(call, &text, &options.format)) return;
    text = arena_copy(arena, text);
    compile(arena, text, &options, &compiled);
    if (!compiled.is_valid || compiled.is_config) {
        definition_refuse(call, &compiled.diagnostics);
        return;
    }
    const Plan *plan = &compiled.plan;
    if (!workflow.len && !api_may_own(call, plan->tenant, &tenant)) return;
    if (!str_is(plan->tenant, tenant) || (workflow.len && !str_is(plan->id, workflow))) {
        call_problem(call, PROBLEM_INVALID, "the definition is of workflow '%.*s' of the namespace '%.*s', and the address or the key is of another",
                     STR_ARG(plan->id), STR_ARG(plan->tenant));
        return;
    }
    buf_init(&document, PLAN_SIZE_MAX);
    if (canonical_print(&document, plan->document, &err)) {
        call_error(call, &err);
        buf_deinit(&document);
        return;
    }
    Creating *creating = ARENA_NEW(arena, Creating);
    *creating = (Creating){ digest_of(buf_peek(&document)), arena_copy(arena, tenant), arena_copy(arena, plan->id) };
    add_member(&members, "tenant", value_string(tenant));
    add_member(&members, "plan", value_string(arena_copy(arena, buf_peek(&document))));
    add_member(&members, "text", value_string(text));
    buf_deinit(&document);
    call->state = creating;
    api_petition(call, &members, "store-revision", created);
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
