/* plan_routes.c - plans before anything runs: what a start would meet; runbooks that are validated, planned, run. */
#include "api/follow.h"
#include "api/routes.h"
#include "base/limits.h"
#include "policy/dry_run.h"
#include "value/canonical.h"

/* --- dry runs --------------------------------------------------------------------------------------------------------------------------- */

void route_revision_dry_run(Call *call)
{
    static const BodyMember known[] = { { "parameters", VALUE_OBJECT, false } };
    const Cell *row;
    Value body, found;
    Error err;
    if (!revision_of_address(call, &row) || !call_read_json(call, &body) || !check_members(call, body, known, 1)) return;
    const Value *params = value_get_text(body, "parameters");
    const Cell *active = revision_active(call, call->segments[0], call->segments[1]);
    DryRunAsk ask = { .params = params ? *params : (Value){ .kind = VALUE_OBJECT }, .actor = call->caller.actor, .now_ms = call->now_ms,
                      .catalog = call->api->catalog };
    Status status = OK;
    if (active) {
        ask.before_version = active[REVISIONS_version].integer;
        status = plan_of_revision(call, active, &ask.before, &err);
    }
    if (!status) status = plan_of_revision(call, row, &ask.plan, &err);
    if (status) {
        call_error(call, &err);
        return;
    }
    status = dry_run(call->api->guard, &ask, &call->arena, &found, &err);
    if (status == ERR_INVALID) refuse_params(call, &err);
    else if (status) call_error(call, &err);
    else call_value(call, 200, found);
}

/* --- runbooks --------------------------------------------------------------------------------------------------------------------------- */

static Value diagnostic_value(Call *call, const Diagnostic *diagnostic)
{
    MemberList members = { .arena = &call->arena };
    add_member(&members, "severity", value_string(diagnostic->severity == SEVERITY_ERROR ? STR("error") : STR("warning")));
    add_member(&members, "pointer", value_string(diagnostic->pointer));
    add_member(&members, "line", value_int(diagnostic->line));
    add_member(&members, "column", value_int(diagnostic->column));
    add_member(&members, "message", value_string(diagnostic->message));
    add_member(&members, "help", diagnostic->help.len ? value_string(diagnostic->help) : value_null());
    return member_list_object(&members);
}

static void answer_check(Call *call, const Compiled *compiled, bool is_planned)
{
    MemberList members = { .arena = &call->arena };
    ValueList found = { .arena = &call->arena };
    for (size_t i = 0; i < compiled->diagnostics.count; i++) value_list_add(&found, diagnostic_value(call, &compiled->diagnostics.items[i]));
    add_member(&members, "valid", value_bool(compiled->is_valid));
    add_member(&members, "diagnostics", value_list_array(&found));
    if (is_planned) add_member(&members, "digest", digest_value(&call->arena, &compiled->plan.digest));
    if (is_planned) add_member(&members, "plan", compiled->plan.document);
    call_value(call, 200, member_list_object(&members));
}

/* As a command runs a file: it becomes the next revision, the active one, and is started. */
static void run_runbook(Call *call, Str tenant, Str text, const Plan *plan)
{
    MemberList members = { .arena = &call->arena };
    StartWish wish = { .params = { .kind = VALUE_OBJECT }, .payload = value_null(), .source = STR("api") };
    Buf document;
    Error err;
    const Cell *active = revision_active(call, tenant, plan->id);
    if (!api_may_do(call, "workflow.create", tenant, PROBLEM_NOT_FOUND) || !api_may_do(call, "execution.start", tenant, PROBLEM_NOT_FOUND)
        || !follow_read(call, &wish.wait_ms)) return;
    if (active && !revision_check(call, active, plan, "'maestro run --allow-incompatible'")) return;
    revision_add_against(&members, active);
    buf_init(&document, PLAN_SIZE_MAX);
    Status status = canonical_print(&document, plan->document, &err);
    add_member(&members, "plan", value_string(arena_copy(&call->arena, buf_peek(&document))));
    add_member(&members, "text", value_string(text));
    buf_deinit(&document);
    if (status) call_error(call, &err);
    else start_named(call, &members, tenant, &wish);
}

void route_runbooks(Call *call)
{
    Str action = call_query(call, "action"), tenant = api_tenant(call, call_query(call, "namespace")), text;
    CompileOptions options = { .file = STR("definition"), .catalog = call->api->catalog };
    Compiled compiled;
    bool is_checked = str_is_text(action, "validate"), is_planned = str_is_text(action, "plan");
    if (!api_may(call, tenant, PROBLEM_NOT_FOUND)) return;
    if (action.len && !is_checked && !is_planned && !str_is_text(action, "run")) {
        call_problem(call, PROBLEM_INVALID, "'action' of the query is validate, plan or run");
        return;
    }
    if (!definition_read(call, &text, &options.format)) return;
    text = arena_copy(&call->arena, text);
    compile(&call->arena, text, &options, &compiled);
    if (is_checked && !compiled.is_config) answer_check(call, &compiled, /* is_planned= */ false);
    else if (!compiled.is_valid || compiled.is_config) definition_refuse(call, &compiled.diagnostics);
    else if (compiled.plan.kind != PLAN_RUNBOOK)
        call_problem(call, PROBLEM_INVALID, "this is a %s and no runbook: POST /api/workflows takes it", plan_kind_name(compiled.plan.kind));
    else if (!api_may_own(call, compiled.plan.tenant, &tenant)) return;
    else if (!str_is(compiled.plan.tenant, tenant))
        call_problem(call, PROBLEM_INVALID, "the runbook is of the namespace '%.*s', and the address or the key is of another", STR_ARG(compiled.plan.tenant));
    else if (is_planned) answer_check(call, &compiled, /* is_planned= */ true);
    else run_runbook(call, tenant, text, &compiled.plan);
}
