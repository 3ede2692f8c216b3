/* look.c - what is durable about runs, as JSON. */
#include "embed/embed.h"
#include "base/limits.h"
#include "view/run_rows.h"

typedef struct Look {
    Id run_id;
    Str step;                           /* of one step alone */
    Status (*make)(struct Look *look, Store *store, const Cell *row, Value *out, Error *err);
    Arena arena;
    Value value;
} Look;

static void add(MemberList *members, const char *name, Value value) { member_list_add(members, str_of(name), value); }

static Value state_name(const char *name) { return value_string(str_of(name)); }

/* Null where nothing has failed. */
static Value error_value(Arena *arena, const Cell *message, const Cell *class_, const Cell *cause, const Cell *step)
{
    MemberList members = { .arena = arena };
    if (cause->kind == CELL_NULL && message->kind == CELL_NULL) return value_null();
    add(&members, "message", cell_value(message));
    add(&members, "class", cell_value(class_));
    add(&members, "cause", cell_value(cause));
    if (step) add(&members, "step", cell_value(step));
    return member_list_object(&members);
}

/* A run's payload is {"params": ..., "payload": ...}. */
static Value params_value(Arena *arena, Store *store, const Cell *row)
{
    Value started = payload_or_null(arena, store, &row[RUNS_params_at]);
    const Value *params = value_get_text(started, "params");
    return params ? *params : started;
}

static Status make_run(Look *look, Store *store, const Cell *row, Value *out, Error *err)
{
    Arena *arena = &look->arena;
    MemberList members = { .arena = arena };
    (void)err;
    add(&members, "id", cell_value(&row[RUNS_id]));
    add(&members, "definition", cell_value(&row[RUNS_definition_key]));
    add(&members, "tenant", cell_value(&row[RUNS_tenant]));
    add(&members, "state", state_name(run_state_name(row_state(row))));
    add(&members, "resolution", cell_value(&row[RUNS_resolution]));
    add(&members, "settled", value_bool(row_is_settled(row)));
    add(&members, "key", cell_value(&row[RUNS_idempotency_key]));
    add(&members, "params", params_value(arena, store, row));
    add(&members, "error", error_value(arena, &row[RUNS_error_message], &row[RUNS_error_class], &row[RUNS_error_cause],
                                       &row[RUNS_failed_step_key]));
    add(&members, "created", cell_time(arena, &row[RUNS_created_ms]));
    add(&members, "started", cell_time(arena, &row[RUNS_started_ms]));
    add(&members, "completed", cell_time(arena, &row[RUNS_completed_ms]));
    *out = member_list_object(&members);
    return OK;
}

static Value step_value(Arena *arena, Store *store, const Cell *row)
{
    MemberList members = { .arena = arena };
    add(&members, "step", cell_value(&row[STEP_RUNS_step_key]));
    add(&members, "state", state_name(step_state_name(step_row_state(row))));
    add(&members, "attempt", cell_value(&row[STEP_RUNS_attempt]));
    add(&members, "skip_reason", cell_value(&row[STEP_RUNS_skip_reason]));
    add(&members, "waiting_for", cell_value(&row[STEP_RUNS_waiting_for]));
    add(&members, "output", payload_or_null(arena, store, &row[STEP_RUNS_output_at]));
    add(&members, "error", error_value(arena, &row[STEP_RUNS_error_message], &row[STEP_RUNS_error_class],
                                       &row[STEP_RUNS_error_cause], /* step= */ NULL));
    add(&members, "started", cell_time(arena, &row[STEP_RUNS_started_ms]));
    add(&members, "finished", cell_time(arena, &row[STEP_RUNS_finished_ms]));
    return member_list_object(&members);
}

static Status make_steps(Look *look, Store *store, const Cell *row, Value *out, Error *err)
{
    Arena *arena = &look->arena;
    StepRows steps;
    ValueList list = { .arena = arena };
    Status status = run_steps(arena, store, row, &steps, err);
    for (size_t i = 0; !status && i < steps.count; i++) value_list_add(&list, step_value(arena, store, steps.rows[i]));
    if (!status) *out = value_list_array(&list);
    return status;
}

static Status make_step(Look *look, Store *store, const Cell *row, Value *out, Error *err)
{
    Arena *arena = &look->arena;
    const Cell *step;
    Status status = run_step_row(arena, store, row, look->step, &step, err);
    if (!status && !step)
        status = error_set(err, ERR_NOT_FOUND, "no step '%.*s' of run %s has begun", STR_ARG(look->step), look->run_id.text);
    if (!status) *out = step_value(arena, store, step);
    return status;
}

static Status make_outputs(Look *look, Store *store, const Cell *row, Value *out, Error *err)
{
    Arena *arena = &look->arena;
    StepRows steps;
    MemberList members = { .arena = arena };
    Status status = run_steps(arena, store, row, &steps, err);
    for (size_t i = 0; !status && i < steps.count; i++)
        if (step_row_state(steps.rows[i]) == STEP_SUCCEEDED)
            member_list_add(&members, steps.rows[i][STEP_RUNS_step_key].text,
                            payload_or_null(arena, store, &steps.rows[i][STEP_RUNS_output_at]));
    if (!status) *out = member_list_object(&members);
    return status;
}

/* On the thread that may read the store. */
static Status look_at(Store *store, void *context, Error *err)
{
    Look *look = context;
    const Cell *row;
    Status status = run_row(&look->arena, store, id_peek(&look->run_id), &row, err);
    if (!status && !row) status = error_set(err, ERR_NOT_FOUND, "there is no run %s", look->run_id.text);
    return status ? status : look->make(look, store, row, &look->value, err);
}

static MaestroStatus look_give(Maestro *maestro, Look *look, const char *run_id, char **out_json, MaestroError *err)
{
    Error error;
    Status status = take_run_id(run_id, &look->run_id, &error);
    if (!status) status = enter(maestro, &error);
    if (status) return give_error(&error, err);
    arena_init(&look->arena, SIZE_MAX);
    status = store_look(maestro, look_at, look, &error);
    if (!status) status = give_json(look->value, out_json, &error);
    arena_deinit(&look->arena);
    leave(maestro);
    return status ? give_error(&error, err) : MAESTRO_OK;
}

MaestroStatus maestro_run_read(Maestro *maestro, const char *run_id, char **out_json, MaestroError *err)
{
    return look_give(maestro, &(Look){ .make = make_run }, run_id, out_json, err);
}

MaestroStatus maestro_run_steps(Maestro *maestro, const char *run_id, char **out_json, MaestroError *err)
{
    return look_give(maestro, &(Look){ .make = make_steps }, run_id, out_json, err);
}

MaestroStatus maestro_run_step(Maestro *maestro, const char *run_id, const char *step, char **out_json, MaestroError *err)
{
    Error error;
    Look look = { .make = make_step };
    if (take_text(step, "the step", TEXT_SIZE_MAX, &look.step, &error)) return give_error(&error, err);
    return look_give(maestro, &look, run_id, out_json, err);
}

MaestroStatus maestro_run_outputs(Maestro *maestro, const char *run_id, char **out_json, MaestroError *err)
{
    return look_give(maestro, &(Look){ .make = make_outputs }, run_id, out_json, err);
}
