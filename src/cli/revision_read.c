#include "cli/revision_read.h"

#include <inttypes.h>
#include <string.h>

#include "cli/problem.h"
#include "cli/server_order.h"
#include "lang/compatibility.h"
#include "value/json.h"
#include "view/revision_row.h"
#include "view/run_rows.h"

Str revision_tenant(const Args *args) { return server_tenant(args); }

static QueryAsk ask_for(Query query, Str tenant, Str workflow)
{
    return (QueryAsk){ .query = query, .params = { cell_text(tenant), cell_text(workflow) }, .param_count = 2,
                       .row_count_max = 1 };
}

static Status select_with(Arena *arena, Store *store, QueryAsk ask, Cell third, const Cell **out_row, Error *err)
{
    ask.params[2] = third;
    ask.param_count = 3;
    return row_select(arena, store, &ask, out_row, err);
}

/* A number is a version first of all; an author may still call one so. */
static Status select_version(const Args *args, Store *store, Str workflow, Str version, const Cell **out_row, Error *err)
{
    uint64_t number;
    Str tenant = revision_tenant(args);
    *out_row = NULL;
    Status status = OK;
    if (str_to_u64(version, &number) && number <= UINT32_MAX)
        status = select_with(args->arena, store, ask_for(QUERY_REVISION, tenant, workflow), cell_int((int64_t)number), out_row,
                             err);
    if (!status && !*out_row)
        status = select_with(args->arena, store, ask_for(QUERY_REVISION_BY_LABEL, tenant, workflow), cell_text(version),
                             out_row, err);
    return status;
}

ExitCode revision_find(const Args *args, Store *store, const char *operand, const Cell **out_row)
{
    Str text = str_of(operand), tenant = revision_tenant(args);
    size_t at = str_find(text, '@', 0);
    Str workflow = str_slice(text, 0, at), version = str_slice(text, at < text.len ? at + 1 : at, text.len);
    const Cell *newest = NULL;
    Error err = { 0 };
    QueryAsk ask = ask_for(QUERY_REVISION_NEWEST, tenant, workflow);
    Status status = row_select(args->arena, store, &ask, &newest, &err);
    if (status) return fail(&err);
    if (!newest) {
        error_set(&err, ERR_NOT_FOUND, "there is no workflow '%.*s' of tenant '%.*s' in this store; 'maestro revisions' lists "
                                       "them",
                  STR_ARG(workflow), STR_ARG(tenant));
        return problem_report(PROBLEM_WORKFLOW_NOT_FOUND, &err);
    }
    if (at < text.len) status = select_version(args, store, workflow, version, out_row, &err);
    else status = select_with(args->arena, store, ask_for(QUERY_REVISION_ACTIVE, tenant, workflow), cell_int(1), out_row, &err);
    if (status) return fail(&err);
    if (*out_row) return EXIT_CODE_OK;
    if (at == text.len) {
        error_set(&err, ERR_CONFLICT, "no revision of '%.*s' is active; 'maestro revisions activate %.*s@%" PRId64 "' activates "
            "the newest",
                  STR_ARG(workflow), STR_ARG(workflow), newest[REVISIONS_version].integer);
        return problem_report(PROBLEM_REVISION_NOT_ACTIVE, &err);
    }
    error_set(&err, ERR_NOT_FOUND, "workflow '%.*s' has no revision '%.*s'; its newest is %" PRId64, STR_ARG(workflow),
              STR_ARG(version),
              newest[REVISIONS_version].integer);
    return problem_report(PROBLEM_REVISION_NOT_FOUND, &err);
}

ExitCode revision_plan(const Args *args, Store *store, const Cell *row, Plan *out_plan, Str *out_document)
{
    const Cell *plan = NULL;
    Value document;
    Error err = { 0 };
    QueryAsk ask = { .query = QUERY_PLAN, .params = { row[REVISIONS_digest] }, .param_count = 1 };
    Status status = row_select(args->arena, store, &ask, &plan, &err);
    if (!status && !plan) status = error_set(&err, ERR_CORRUPT, "the plan of revision %" PRId64 " of '%.*s' is not in the store",
                                             row[REVISIONS_version].integer, STR_ARG(row[REVISIONS_workflow_id].text));
    if (!status) status = json_parse(args->arena, plan[PLANS_document].text, &document, &err);
    if (!status) status = plan_read(args->arena, document, out_plan, &err);
    if (status) return fail(&err);
    *out_document = plan[PLANS_document].text;
    return EXIT_CODE_OK;
}

Status revision_plan_of(Arena *arena, Store *store, const Plan *plan, uint32_t version, Plan *out_plan, Error *err)
{
    const Cell *row = NULL;
    Digest digest;
    Status status = select_with(arena, store, ask_for(QUERY_REVISION, plan->tenant, plan->id), cell_int(version), &row, err);
    if (status) return status;
    if (!row || row[REVISIONS_digest].text.len != DIGEST_SIZE)
        return error_set(err, ERR_NOT_FOUND, "workflow '%.*s' has no revision %" PRIu32 ": see 'maestro revisions'", STR_ARG(plan->id), version);
    memcpy(&digest, row[REVISIONS_digest].text.ptr, DIGEST_SIZE);
    return store_plan(store, arena, &digest, out_plan, err);
}

ExitCode revision_of_plan(const Args *args, Store *store, const Plan *plan, const Cell **out_row)
{
    Error err = { 0 };
    const Cell *found = NULL, *row = NULL;
    Cell digest = cell_blob((Str){ (const char *)plan->digest.bytes, DIGEST_SIZE });
    Status status = select_with(args->arena, store, ask_for(QUERY_REVISION_BY_DIGEST, plan->tenant, plan->id), digest, &found, &err);
    if (!status && found)
        status = select_with(args->arena, store, ask_for(QUERY_REVISION, plan->tenant, plan->id), found[REVISIONS_version], &row, &err);
    if (status) return fail(&err);
    if (!row) {
        error_set(&err, ERR_NOT_FOUND, "this definition of '%.*s' is no revision: see 'maestro revisions'", STR_ARG(plan->id));
        return problem_report(PROBLEM_REVISION_NOT_FOUND, &err);
    }
    *out_row = row;
    return EXIT_CODE_OK;
}

/* --- what takes the place of another ------------------------------------------------------------------------------------- */

ExitCode revision_compare(const Args *args, Store *store, const Plan *plan, RevisionCheck *out)
{
    Plan before;
    Str document;
    Error err;
    *out = (RevisionCheck){ 0 };
    if (revision_relied_on(args->arena, store, plan->tenant, plan->id, &out->before, &err)) return fail(&err);
    const Cell *row = out->before;
    if (!row || memcmp(row[REVISIONS_digest].text.ptr, plan->digest.bytes, sizeof plan->digest.bytes) == 0) return EXIT_CODE_OK;
    ExitCode code = revision_plan(args, store, row, &before, &document);
    if (!code) compatibility_compare(args->arena, &before, plan, &out->found);
    return code;
}

void revision_warn(Str workflow, const RevisionCheck *check, const char *consequence)
{
    Buf text;
    if (!check->found.total) return;
    buf_init(&text, SIZE_MAX);
    buf_format(&text, "maestro: this version of %.*s is not compatible with revision %" PRId64 ", which %s:\n", STR_ARG(workflow),
               check->before[REVISIONS_version].integer, revision_standing(check->before));
    compatibility_print(&check->found, &text);
    buf_text(&text, consequence);
    print_err(&text);
    buf_deinit(&text);
}

ExitCode revision_admit(const Args *args, Store *store, const Plan *plan, RevisionSeen *out_seen)
{
    RevisionCheck check;
    bool is_allowed = args_flag(args, "allow-incompatible");
    ExitCode code = revision_compare(args, store, plan, &check);
    if (code) return code;
    bool is_active = check.before && check.before[REVISIONS_active].integer;
    *out_seen = (RevisionSeen){ .has_active = !is_allowed, .active = is_active ? (uint32_t)check.before[REVISIONS_version].integer : 0 };
    revision_warn(plan->id, &check, is_allowed ? "" : "nothing was done; --allow-incompatible does it all the same\n");
    return check.found.total && !is_allowed ? EXIT_CODE_DATA : EXIT_CODE_OK;
}
