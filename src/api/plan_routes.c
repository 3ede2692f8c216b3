/* plan_routes.c - plans before anything runs: what a start would meet; runbooks that are validated, planned, run; definitions of commands that
 * are clients. */
#include "api/aside.h"
#include "api/definition.h"
#include "api/follow.h"
#include "api/routes.h"
#include "base/limits.h"
#include "core/decide.h"
#include "policy/dry_run.h"
#include "value/json.h"
#include "view/revision_row.h"

/* --- dry runs --------------------------------------------------------------------------------------------------------------------------- */

static void answer_dry_run(Call *call, Status status, Value found, const Error *err)
{
    if (status == ERR_INVALID) call_problem_fields(call, PROBLEM_PARAMETERS, str_of(err->text), NULL, 0);
    else if (status) call_error(call, err);
    else call_value(call, 200, found);
}

static Status find_before(Call *call, Str tenant, Str workflow, DryRunAsk *ask, Error *err)
{
    const Cell *row;
    Status status = revision_relied_on(&call->arena, call->api->store, tenant, workflow, &row, err);
    if (status || !row) return status;
    ask->before_version = row[REVISIONS_version].integer;
    return plan_of_revision(call, row, &ask->before, err);
}

typedef struct Trying { const Cell *row; Value params; } Trying;

/* Two plans are read and compared, and policies are asked about each step. */
static void try_out(Call *call)
{
    const Trying *trying = call->state;
    Value found;
    Error err;
    DryRunAsk ask = { .params = trying->params, .actor = call->caller.actor, .now_ms = call->now_ms,
                      .catalog = call->api->catalog };
    Status status = find_before(call, call->segments[0], call->segments[1], &ask, &err);
    if (!status) status = plan_of_revision(call, trying->row, &ask.plan, &err);
    if (status) {
        call_error(call, &err);
        return;
    }
    if (!params_fit(call, decide_declared(ask.plan), ask.params)) return;
    status = dry_run(call->api->guard, &ask, &call->arena, &found, &err);
    answer_dry_run(call, status, found, &err);
}

void route_revision_dry_run(Call *call)
{
    static const BodyMember known[] = { { "parameters", VALUE_OBJECT, false } };
    Trying *trying = ARENA_NEW(&call->arena, Trying);
    Value body;
    if (!revision_of_address(call, &trying->row) || !call_read_json(call, &body) || !body_check(call, body, known, 1)) return;
    const Value *params = value_get_text(body, "parameters");
    trying->params = params ? *params : (Value){ .kind = VALUE_OBJECT };
    call->state = trying;
    aside_begin(call, try_out, /* done= */ NULL);
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

static Value check_value(Call *call, const Compiled *compiled, bool is_planned)
{
    MemberList members = { .arena = &call->arena };
    ValueList found = { .arena = &call->arena };
    for (size_t i = 0; i < compiled->diagnostics.count; i++) value_list_add(&found, diagnostic_value(call, &compiled->diagnostics.items[i]));
    add_member(&members, "valid", value_bool(compiled->is_valid));
    add_member(&members, "diagnostics", value_list_array(&found));
    if (is_planned) add_member(&members, "digest", digest_value(&call->arena, &compiled->plan.digest));
    if (is_planned) add_member(&members, "plan", compiled->plan.document);
    return member_list_object(&members);
}

/* --- what is sent ------------------------------------------------------------------------------------------------------------------------- */

typedef struct Sending {
    Str tenant;
    bool is_checked, is_planned;    /* else it is run */
    Definition definition;
    RevisionCheck check;            /* of one that is run */
    Str answer;                     /* of one that is planned: JSON */
} Sending;

/* As a command runs a file: it becomes the next revision, the active one, and is started. */
static void run_runbook(Call *call, Call *copy, const Sending *sending)
{
    MemberList members = { .arena = &call->arena };
    StartWish wish = { .params = { .kind = VALUE_OBJECT }, .payload = value_null(), .source = STR("api") };
    if (!api_may_do(call, "workflow.create", sending->tenant, PROBLEM_NOT_FOUND)
        || !api_may_do(call, "execution.start", sending->tenant, PROBLEM_NOT_FOUND) || !follow_read(call, &wish.wait_ms)
        || !revision_check(call, &sending->check, "'maestro run --allow-incompatible'"))
        return;
    revision_add_against(&members, &sending->check);
    add_member(&members, "text", value_string(sending->definition.text));
    definition_hand_over(call, copy);
    start_named(call, &members, sending->tenant, &wish);
}

/* Whether it is answered says the server's thread; printing it takes long, too. */
static void print_answer(Call *copy, Sending *sending)
{
    Buf text;
    Error err;
    buf_init(&text, JSON_SIZE_MAX);
    if (json_print(&text, check_value(copy, &sending->definition.compiled, /* is_planned= */ true), JSON_COMPACT, &err)) call_error(copy, &err);
    else buf_char(&text, '\n');
    sending->answer = arena_copy(&copy->arena, buf_peek(&text));
    buf_deinit(&text);
}

static void compile_sent(Call *copy)
{
    Sending *sending = copy->state;
    Definition *definition = &sending->definition;
    const Plan *plan = &definition->compiled.plan;
    if (!definition_compile(copy, definition)) return;
    if (sending->is_checked && !definition->compiled.is_valid && !definition->compiled.is_config) {
        call_value(copy, 200, check_value(copy, &definition->compiled, /* is_planned= */ false));
        return;
    }
    if (definition_is_refused(copy, definition)) return;
    if (plan->kind != PLAN_RUNBOOK) {
        call_problem(copy, PROBLEM_INVALID, "this is a %s and no runbook: POST /api/workflows takes it", plan_kind_name(plan->kind));
        return;
    }
    if (sending->is_checked) call_value(copy, 200, check_value(copy, &definition->compiled, /* is_planned= */ false));
    else if (sending->is_planned) print_answer(copy, sending);
    else if (definition_print(copy, definition))
        (void)revision_compare_with(copy, plan, &sending->check);
}

static void compiled(Call *call, Call *copy)
{
    Sending *sending = call->state;
    Str named = sending->definition.compiled.plan.tenant;
    if (definition_is_unnamed(call, &sending->definition, sending->tenant)) return;
    if (!api_sees(call, named)) {
        (void)api_may(call, named, PROBLEM_NOT_FOUND);
        return;
    }
    if (!api_may_own(call, named, &sending->tenant)) return;
    if (!str_is(named, sending->tenant)) {
        call_problem(call, PROBLEM_INVALID, "the runbook is of the namespace '%.*s', and the address or the key is of another", STR_ARG(named));
        return;
    }
    sending->tenant = arena_copy(&call->arena, sending->tenant);
    if (sending->is_planned) call_text(call, 200, "application/json", sending->answer);
    else run_runbook(call, copy, sending);
}

void route_runbooks(Call *call)
{
    Str action = call_query(call, "action");
    Sending *sending = ARENA_NEW(&call->arena, Sending);
    *sending = (Sending){ .tenant = api_tenant(call, call_query(call, "namespace")), .is_checked = str_is_text(action, "validate"),
                          .is_planned = str_is_text(action, "plan") };
    if (!api_may(call, sending->tenant, PROBLEM_NOT_FOUND)) return;
    if (call_has_query(call, "action") && !sending->is_checked && !sending->is_planned && !str_is_text(action, "run")) {
        call_problem(call, PROBLEM_INVALID, "'action' of the query is validate, plan or run");
        return;
    }
    call->state = sending;
    if (definition_fits(call)) aside_begin(call, compile_sent, compiled);
}

/* --- commands that are clients ------------------------------------------------------------------------------------------------------------ */

typedef struct Planning {
    Str text;
    TextFormat format;
    bool is_dry;
    Value params;
    Definition definition;
} Planning;

static void add_compiled(Call *call, MemberList *members, const Compiled *compiled)
{
    add_member(members, "valid", value_bool(compiled->is_valid));
    add_member(members, "configuration", value_bool(compiled->is_config));
    add_member(members, "oldRunbook", value_bool(compiled->is_old_runbook));
    add_member(members, "errorCount", value_int(compiled->diagnostics.error_count));
    add_member(members, "warningCount", value_int(compiled->diagnostics.warning_count));
    add_member(members, "diagnostics", diagnostics_value(&compiled->diagnostics, &call->arena));
}

static void dry_run_clients(Call *copy, const Planning *planning, MemberList *members)
{
    const Plan *plan = &planning->definition.compiled.plan;
    Value found;
    Error err;
    DryRunAsk ask = { .plan = plan, .params = planning->params, .actor = copy->caller.actor, .now_ms = copy->now_ms, .catalog = copy->api->catalog };
    Status status = find_before(copy, plan->tenant, plan->id, &ask, &err);
    if (!status) status = dry_run(copy->api->guard, &ask, &copy->arena, &found, &err);
    if (!status) add_member(members, "dryRun", found);
    answer_dry_run(copy, status, member_list_object(members), &err);
}

/* What is of a tenant whose definitions the caller may not look at is not answered here. */
static void compile_clients(Call *copy)
{
    Planning *planning = copy->state;
    Definition *definition = &planning->definition;
    MemberList members = { .arena = &copy->arena };
    Error err;
    if (!definition_compile_text(copy, planning->text, planning->format, definition)) return;
    bool has_plan = definition->compiled.is_valid && !definition->compiled.is_config;
    if (has_plan && !api_shows(copy, copy->route->verb, definition->compiled.plan.tenant)) return;
    add_compiled(copy, &members, &definition->compiled);
    if (has_plan && planning->is_dry) {
        dry_run_clients(copy, planning, &members);
        return;
    }
    if (has_plan && definition_document(copy, definition, &err)) {
        call_error(copy, &err);
        return;
    }
    if (has_plan) add_member(&members, "plan", value_string(definition->document));
    call_value(copy, 200, member_list_object(&members));
}

/* What a key of one tenant sends is of that tenant, or no matter of its. */
static void refuse_clients(Call *call, Call *copy)
{
    const Planning *planning = call->state;
    Str named = planning->definition.compiled.plan.tenant;
    (void)copy;
    if (api_sees(call, named)) {
        if (api_may(call, named, PROBLEM_NOT_FOUND)) call_problem(call, PROBLEM_UNAVAILABLE, "the access policy has changed its mind; come again");
        return;
    }
    if (definition_is_unnamed(call, &planning->definition, call->caller.tenant)) return;
    api_refuse_foreign(call, named);
    call_problem(call, PROBLEM_DENIED, "the definition is of another tenant than the key");
}

void route_client_plan(Call *call)
{
    static const BodyMember known[] = { { "definition", VALUE_STRING, true }, { "format", VALUE_STRING, false },
                                        { "parameters", VALUE_OBJECT, false } };
    Planning *planning = ARENA_NEW(&call->arena, Planning);
    Value body;
    if (!api_may(call, call->caller.tenant, PROBLEM_NOT_FOUND) || !call_read_json(call, &body) || !body_check(call, body, known, 3)) return;
    Str format = value_get_string(body, "format", STR("yaml"));
    const Value *params = value_get_text(body, "parameters");
    if (!str_is_text(format, "yaml") && !str_is_text(format, "json")) {
        (void)body_refuse(call, "format", "is yaml or json");
        return;
    }
    *planning = (Planning){ .text = value_get_string(body, "definition", STR("")), .format = str_is_text(format, "json") ? TEXT_JSON : TEXT_YAML,
                            .is_dry = params != NULL, .params = params ? *params : value_null() };
    call->state = planning;
    aside_begin(call, compile_clients, refuse_clients);
}
