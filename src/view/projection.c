#include "view/projection.h"

#include <string.h>

#include "base/check.h"
#include "base/civil.h"
#include "core/command.h"
#include "core/terms.h"
#include "value/json.h"
#include "view/id_derive.h"

typedef struct Pending { uint64_t hash; Cell *cells; } Pending;        /* cells: ours to write to, or NULL */

struct Projection {
    Arena *arena;
    RowChange *changes;
    Pending *pendings;              /* beside the changes */
    uint32_t count;
    size_t change_capacity, pending_capacity;
    uint32_t *slots;                /* hash -> index + 1 */
    uint32_t slot_count;            /* a power of two */
};

/* --- rows by key --------------------------------------------------------------------------------------------------- */

#define SLOT_COUNT_FIRST 64u

Projection *projection_make(Arena *arena)
{
    Projection *projection = ARENA_NEW(arena, Projection);
    projection->arena = arena;
    projection->slot_count = SLOT_COUNT_FIRST;
    projection->slots = ARENA_ARRAY(arena, uint32_t, SLOT_COUNT_FIRST);
    return projection;
}

static uint64_t mix(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * UINT64_C(0x9E3779B97F4A7C15);
    return hash ^ hash >> 29;
}

/* Where rows are in a batch is nobody's secret, and no answer depends on it: a quick hash is enough. */
static uint64_t key_hash(Table table, const Cell *key, uint32_t count)
{
    uint64_t hash = mix(0, table + 1u);
    for (uint32_t i = 0; i < count; i++) {
        if (key[i].kind == CELL_INT) {
            hash = mix(hash, (uint64_t)key[i].integer);
            continue;
        }
        Str text = key[i].text;
        for (; text.len >= 8; text = str_slice(text, 8, SIZE_MAX)) {
            uint64_t word;
            memcpy(&word, text.ptr, 8);
            hash = mix(hash, word);
        }
        for (size_t b = 0; b < text.len; b++) hash = mix(hash, (uint8_t)text.ptr[b]);
    }
    return hash;
}

static bool key_is(const Cell *a, const Cell *b, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (a[i].kind != b[i].kind) return false;
        if (a[i].kind == CELL_INT ? a[i].integer != b[i].integer : !str_is(a[i].text, b[i].text)) return false;
    }
    return true;
}

static void grow_slots(Projection *projection)
{
    projection->slot_count *= 4;
    projection->slots = ARENA_ARRAY(projection->arena, uint32_t, projection->slot_count);
    for (uint32_t i = 0; i < projection->count; i++) {
        uint32_t at = (uint32_t)projection->pendings[i].hash & (projection->slot_count - 1);
        while (projection->slots[at]) at = (at + 1) & (projection->slot_count - 1);
        projection->slots[at] = i + 1;
    }
}

/* The change of the row with this key, or a new one with an empty mask; `out_is_new` tells which. */
static uint32_t row_at(Projection *projection, Table table, const Cell *key, bool *out_is_new)
{
    uint32_t key_count = table_info(table)->key_count;
    uint64_t hash = key_hash(table, key, key_count);
    uint32_t at = (uint32_t)hash & (projection->slot_count - 1);
    for (; projection->slots[at]; at = (at + 1) & (projection->slot_count - 1)) {
        uint32_t index = projection->slots[at] - 1;
        const RowChange *change = &projection->changes[index];
        if (projection->pendings[index].hash != hash || change->table != table || !key_is(change->cells, key, key_count)) continue;
        *out_is_new = false;
        return index;
    }
    uint32_t index = projection->count++;
    projection->changes = arena_grow(projection->arena, projection->changes, sizeof(RowChange), index, &projection->change_capacity);
    projection->pendings = arena_grow(projection->arena, projection->pendings, sizeof(Pending), index, &projection->pending_capacity);
    projection->changes[index] = (RowChange){ .table = (uint8_t)table };
    projection->pendings[index] = (Pending){ .hash = hash };
    projection->slots[at] = index + 1;
    if (projection->count * 2 > projection->slot_count) grow_slots(projection);
    *out_is_new = true;
    return index;
}

/* Cells of that change that may be written to. */
static Cell *own_cells(Projection *projection, uint32_t index, const Cell *key)
{
    Pending *pending = &projection->pendings[index];
    RowChange *change = &projection->changes[index];
    if (pending->cells) return pending->cells;
    const TableInfo *info = table_info(change->table);
    Cell *cells = ARENA_ARRAY(projection->arena, Cell, info->column_count);
    for (uint32_t i = 0; i < info->key_count; i++) cells[i] = key[i];
    for (uint64_t left = change->mask; left; left &= left - 1) {
        uint32_t column = (uint32_t)__builtin_ctzll(left);
        cells[column] = change->cells[column];
    }
    pending->cells = cells;
    change->cells = cells;
    return cells;
}

/* What two operations on a row are together. */
static const uint8_t together[ROW_OP_COUNT][ROW_OP_COUNT] = {      /* [before][then] */
    [ROW_INSERT] = { ROW_INSERT, ROW_INSERT, ROW_INSERT, ROW_DELETE },
    [ROW_UPDATE] = { ROW_UPDATE, ROW_UPDATE, ROW_UPDATE, ROW_DELETE },
    [ROW_PUT]    = { ROW_PUT,    ROW_PUT,    ROW_PUT,    ROW_DELETE },
    [ROW_DELETE] = { ROW_PUT,    ROW_PUT,    ROW_PUT,    ROW_DELETE },
};

void projection_row(Projection *projection, Table table, RowOp op, uint64_t mask, const Cell *cells)
{
    const TableInfo *info = table_info(table);
    mask &= table_mask(info);
    bool is_new;
    uint32_t index = row_at(projection, table, cells, &is_new);
    RowChange *change = &projection->changes[index];
    if (is_new || op == ROW_DELETE) {
        *change = (RowChange){ (uint8_t)table, (uint8_t)op, op == ROW_DELETE ? 0 : mask, cells };
        projection->pendings[index].cells = NULL;
        return;
    }
    Cell *own = own_cells(projection, index, cells);
    for (uint64_t left = mask; left; left &= left - 1) {
        uint32_t column = (uint32_t)__builtin_ctzll(left);
        own[column] = cells[column];
    }
    change = &projection->changes[index];
    change->mask |= mask;
    change->op = together[change->op][op];
}

void projection_finish(Projection *projection, const RowChange **out_changes, uint32_t *out_count)
{
    *out_changes = projection->changes;
    *out_count = projection->count;
}

/* --- a row being written ------------------------------------------------------------------------------------------- */

typedef struct RowPen { Projection *projection; uint32_t index; } RowPen;

static RowPen pen_at(Projection *projection, Table table, RowOp op, const Cell *key)
{
    bool is_new;
    uint32_t index = row_at(projection, table, key, &is_new);
    if (is_new) {
        projection->changes[index].op = (uint8_t)op;
        own_cells(projection, index, key);
    } else {
        own_cells(projection, index, key);
        projection->changes[index].op = together[projection->changes[index].op][op];
    }
    return (RowPen){ projection, index };
}

static void put(RowPen pen, uint32_t column, Cell cell)
{
    pen.projection->pendings[pen.index].cells[column] = cell;
    pen.projection->changes[pen.index].mask |= COLUMN_BIT(column);
}

static void put_int(RowPen pen, uint32_t column, uint64_t number) { put(pen, column, cell_int((int64_t)number)); }
static void put_name(RowPen pen, uint32_t column, const char *name) { put(pen, column, cell_text(str_of(name))); }
static void put_null(RowPen pen, uint32_t column) { put(pen, column, cell_null()); }

static void put_time(RowPen pen, uint32_t column, int64_t ms)
{
    if (ms) put(pen, column, cell_int(ms));
}

/* A time as text: 24 bytes. */
static void put_moment(RowPen pen, uint32_t column, int64_t ms)
{
    if (!ms) return;
    char text[32];
    Buf buf = buf_on(text, sizeof text);
    civil_print_ms(&buf, ms);
    put(pen, column, cell_text(arena_copy(pen.projection->arena, buf_peek(&buf))));
}

/* Texts of plans and runs outlive the batch; those of events do not. */
static void put_borrowed(RowPen pen, uint32_t column, Str text)
{
    if (text.len) put(pen, column, cell_text(text));
}

static void put_copied(RowPen pen, uint32_t column, Str text)
{
    if (text.len) put(pen, column, cell_text(arena_copy(pen.projection->arena, text)));
}

/* --- the fold ------------------------------------------------------------------------------------------------------ */

typedef struct Fold {
    Projection *projection;
    const ProjectionInput *input;
    RowPen run;
    const Event *event;
    uint64_t event_number;
    uint32_t *numbers;              /* NULL: those of the run */
} Fold;

static int64_t now_of(const Fold *fold) { return fold->input->head->now_ms; }

/* Where the event's payload lies, in three columns one behind the other: _at, _offset, _size. */
static void put_payload(const Fold *fold, RowPen pen, uint32_t column)
{
    uint32_t index = fold->event->payload;
    if (index == EVENT_NO_PAYLOAD) return;
    const Payload *payload = &fold->input->payloads[index];
    put_int(pen, column, fold->input->record->position);
    put_int(pen, column + 1, payload->offset);
    put_int(pen, column + 2, payload->size);
}

static void put_no_payload(RowPen pen, uint32_t column)
{
    for (uint32_t i = 0; i < 3; i++) put_null(pen, column + i);
}

static void put_failure(const Fold *fold, RowPen pen, uint32_t class_column, uint32_t cause_column, uint32_t message_column)
{
    const Event *event = fold->event;
    put_name(pen, class_column, failure_class_name((FailureClass)event->class_));
    put_name(pen, cause_column, cause_name((Cause)event->cause));
    put_copied(pen, message_column, event->text);
}

/* --- step runs ----------------------------------------------------------------------------------------------------- */

static uint32_t number_of(const Fold *fold, uint32_t step)
{
    return fold->numbers ? fold->numbers[step] : fold->input->run->steps[step].number;
}

/* A step run begins with this number: its row is new. */
static RowPen step_begin(Fold *fold, uint32_t step, uint32_t number)
{
    const ProjectionInput *input = fold->input;
    const PlanStep *plan_step = &input->plan->steps[step];
    if (fold->numbers) fold->numbers[step] = number;
    *input->begun_count = number;
    Cell key[2] = { cell_int((int64_t)input->record->run_no), cell_int((int64_t)number - 1) };
    RowPen pen = pen_at(fold->projection, TABLE_STEP_RUNS, ROW_INSERT, key);
    put_int(pen, STEP_RUNS_step_run_no, (*input->next_step_run_no)++);
    Id id = id_derive(&input->run->id, DERIVED_STEP_RUN, number);
    put_copied(pen, STEP_RUNS_id, id_peek(&id));
    put_borrowed(pen, STEP_RUNS_step_key, plan_step->id);
    put_name(pen, STEP_RUNS_step_type, step_kind_name((StepKind)plan_step->kind));
    if (plan_step->job != PLAN_NONE) put_borrowed(pen, STEP_RUNS_job_key, input->plan->jobs[plan_step->job].id);
    put_borrowed(pen, STEP_RUNS_branch_key, plan_step->branch_key);
    return pen;
}

static RowPen step_pen(Fold *fold, uint32_t step)
{
    uint32_t number = number_of(fold, step);
    CHECK(number);                              /* what happens to a step run happens after it began */
    Cell key[2] = { cell_int((int64_t)fold->input->record->run_no), cell_int((int64_t)number - 1) };
    return pen_at(fold->projection, TABLE_STEP_RUNS, ROW_UPDATE, key);
}

/* Whether the event begins the step run that it names; not all that name one do. */
static bool event_begins(const Fold *fold) { return fold->event->number > *fold->input->begun_count; }

/* The row of the event's step run, which the event may begin. */
static RowPen event_pen(Fold *fold)
{
    const Event *event = fold->event;
    return event_begins(fold) ? step_begin(fold, event->step, event->number) : step_pen(fold, event->step);
}

static RowPen attempt_pen(Fold *fold, uint32_t step, uint32_t attempt)
{
    Cell key[3] = { cell_int((int64_t)fold->input->record->run_no), cell_int((int64_t)number_of(fold, step) - 1),
                    cell_int(attempt) };
    return pen_at(fold->projection, TABLE_ATTEMPTS, ROW_PUT, key);
}

static void put_status(RowPen pen, StepState state) { put_name(pen, STEP_RUNS_status, step_state_stored(state)); }

static void put_result(const Fold *fold, RowPen pen, StepState state, bool began)
{
    put_status(pen, state);
    put_name(pen, STEP_RUNS_result, step_status(state, began, /* has_output= */ false));
    put_time(pen, STEP_RUNS_finished_ms, now_of(fold));
}

static void note_dedupe(Fold *fold)
{
    const Event *event = fold->event;
    const ProjectionInput *input = fold->input;
    const StepTerms *terms = &input->plan->terms->steps[event->step];
    if (!terms->key.len || !event->key.len) return;
    Arena *arena = fold->projection->arena;
    Cell key[4] = { cell_text(arena_copy(arena, input->run->tenant)), cell_text(terms->domain),
                    cell_text(arena_copy(arena, event->key)), cell_int((int64_t)event->count) };
    RowPen pen = pen_at(fold->projection, TABLE_DEDUPE, ROW_PUT, key);
    put_int(pen, DEDUPE_run_no, input->record->run_no);
    put_int(pen, DEDUPE_step_index, number_of(fold, event->step) - 1);
}

static void step_dispatched(Fold *fold)
{
    const Event *event = fold->event;
    const ProjectionInput *input = fold->input;
    RowPen pen = event_pen(fold);
    put_status(pen, STEP_DISPATCHED);
    put_int(pen, STEP_RUNS_attempt, event->attempt);
    put_copied(pen, STEP_RUNS_executor, event->name);
    put_copied(pen, STEP_RUNS_idempotency_key, event->key);
    put_payload(fold, pen, STEP_RUNS_input_at);
    put_time(pen, STEP_RUNS_dispatched_ms, now_of(fold));
    if (event->attempt > 1) {
        put_null(pen, STEP_RUNS_queued_ms);
        put_null(pen, STEP_RUNS_retry_ms);
        RowPen attempt = attempt_pen(fold, event->step, event->attempt);
        put_copied(attempt, ATTEMPTS_executor, event->name);
        put_time(attempt, ATTEMPTS_dispatched_ms, now_of(fold));
    }
    put_borrowed(fold->run, RUNS_current_step, input->plan->steps[event->step].id);
    note_dedupe(fold);
}

static void step_running(Fold *fold)
{
    const Event *event = fold->event;
    RowPen pen = step_pen(fold, event->step);
    put_status(pen, STEP_RUNNING);
    put_time(pen, STEP_RUNS_deadline_ms, event->due_ms);
    put_time(pen, STEP_RUNS_lease_ms, event->lease_ms);
    if (event->holder) put_int(pen, STEP_RUNS_holder, event->holder);
    uint32_t attempt = fold->input->run->steps[event->step].attempt;
    if (attempt > 1) put_time(attempt_pen(fold, event->step, attempt), ATTEMPTS_started_ms, now_of(fold));
    else put_time(pen, STEP_RUNS_started_ms, now_of(fold));
}

static void step_succeeded(Fold *fold)
{
    const Event *event = fold->event;
    RowPen pen = event_pen(fold);
    put_result(fold, pen, STEP_SUCCEEDED, /* began= */ true);
    if (event->payload != EVENT_NO_PAYLOAD) put_payload(fold, pen, STEP_RUNS_output_at);
    else if (!(event->flags & 1)) put_no_payload(pen, STEP_RUNS_output_at);      /* else: the one kept back */
}

static void step_failed(Fold *fold)
{
    RowPen pen = event_pen(fold);
    put_result(fold, pen, STEP_FAILED, /* began= */ true);
    put_failure(fold, pen, STEP_RUNS_error_class, STEP_RUNS_error_cause, STEP_RUNS_error_message);
    put_payload(fold, pen, STEP_RUNS_details_at);
    put_no_payload(pen, STEP_RUNS_output_at);                                    /* I5: outputs of failed steps are discarded */
}

static void attempt_failed(Fold *fold)
{
    RowPen pen = attempt_pen(fold, fold->event->step, fold->event->attempt);
    put_failure(fold, pen, ATTEMPTS_error_class, ATTEMPTS_error_cause, ATTEMPTS_error_message);
    put_time(pen, ATTEMPTS_finished_ms, now_of(fold));
}

static void step_requeued(Fold *fold)
{
    RowPen pen = step_pen(fold, fold->event->step);
    put_status(pen, STEP_QUEUED);
    put_time(pen, STEP_RUNS_queued_ms, now_of(fold));
    put_time(pen, STEP_RUNS_retry_ms, fold->event->due_ms);
    put_null(pen, STEP_RUNS_deadline_ms);
    put_null(pen, STEP_RUNS_lease_ms);
    put_null(pen, STEP_RUNS_holder);
}

static void step_skipped(Fold *fold)
{
    const Event *event = fold->event;
    bool is_new = event_begins(fold);
    for (uint32_t step = event->step; step <= event->last; step++) {
        RowPen pen = is_new ? step_begin(fold, step, event->number + (step - event->step)) : step_pen(fold, step);
        put_result(fold, pen, STEP_SKIPPED, /* began= */ false);
        put_name(pen, STEP_RUNS_skip_reason, skip_reason_name((SkipReason)event->reason));
    }
}

static void step_cancelled(Fold *fold)
{
    bool began = !event_begins(fold);           /* else it begins by being cancelled */
    RowPen pen = event_pen(fold);
    put_result(fold, pen, STEP_CANCELLED, began);
    put_no_payload(pen, STEP_RUNS_output_at);
    if (!began) return;
    put_name(pen, STEP_RUNS_error_class, failure_class_name(cause_class(CAUSE_CANCELLED)));
    put_name(pen, STEP_RUNS_error_cause, cause_name(CAUSE_CANCELLED));
    put_name(pen, STEP_RUNS_error_message, "cancelled");
}

static void step_waiting(Fold *fold)
{
    RowPen pen = step_pen(fold, fold->event->step);
    put_status(pen, STEP_WAITING_SIGNAL);
    put_copied(pen, STEP_RUNS_waiting_for, fold->event->name);
    put(pen, STEP_RUNS_deadline_ms, fold->event->due_ms ? cell_int(fold->event->due_ms) : cell_null());
    put_payload(fold, pen, STEP_RUNS_output_at);            /* kept back: shown once it has succeeded */
}

static void step_resumed(Fold *fold)
{
    RowPen pen = step_pen(fold, fold->event->step);
    put_status(pen, STEP_RUNNING);
    put_null(pen, STEP_RUNS_waiting_for);
    put(pen, STEP_RUNS_deadline_ms, fold->event->due_ms ? cell_int(fold->event->due_ms) : cell_null());
}

static void effect_committed(Fold *fold)
{
    if (fold->event->payload != EVENT_NO_PAYLOAD) put_payload(fold, step_pen(fold, fold->event->step), STEP_RUNS_output_at);
}

static void lease_expired(Fold *fold)
{
    RowPen pen = step_pen(fold, fold->event->step);
    put_null(pen, STEP_RUNS_lease_ms);
    put_null(pen, STEP_RUNS_holder);
}

/* What the body's steps did in the round before is history now. */
static void loop_repeated(Fold *fold)
{
    const Plan *plan = fold->input->plan;
    CHECK(fold->numbers);
    for (uint32_t l = 0; l < plan->loop_count; l++) {
        const PlanLoop *loop = &plan->loops[l];
        if (loop->head != fold->event->step || loop->tail != fold->event->last) continue;
        for (uint32_t i = 0; i < loop->body_count; i++) {
            uint32_t step = loop->body[i].step;
            if (!fold->numbers[step]) continue;
            RowPen pen = step_pen(fold, step);
            put_status(pen, STEP_SUPERSEDED);
            put_moment(pen, STEP_RUNS_superseded_at, now_of(fold));
            fold->numbers[step] = 0;
        }
        return;
    }
}

/* The new step run is there at once, and waits. */
static void step_superseded(Fold *fold)
{
    const Event *event = fold->event;
    const ProjectionInput *input = fold->input;
    RowPen pen = step_begin(fold, event->step, event->number);
    put_status(pen, STEP_QUEUED);
    put_name(pen, STEP_RUNS_retry_source, retry_source_name((RetrySource)event->sort));
    put_time(pen, STEP_RUNS_queued_ms, now_of(fold));
    if (!event->count) return;
    Cell key[2] = { cell_int((int64_t)input->record->run_no), cell_int((int64_t)event->count - 1) };
    RowPen old = pen_at(fold->projection, TABLE_STEP_RUNS, ROW_UPDATE, key);
    Id id = id_derive(&input->run->id, DERIVED_STEP_RUN, event->number);
    put_status(old, STEP_SUPERSEDED);
    put_copied(old, STEP_RUNS_superseded_by_id, id_peek(&id));
    put_moment(old, STEP_RUNS_superseded_at, now_of(fold));
}

/* --- branches and signals ------------------------------------------------------------------------------------------ */

/* ["a","b"] of "a,b". */
static Str keys_json(Arena *arena, Str keys)
{
    Buf buf;
    buf_init(&buf, SIZE_MAX);
    buf_char(&buf, '[');
    for (size_t at = 0; keys.len && at <= keys.len;) {
        size_t end = str_find(keys, ',', at);
        if (at) buf_char(&buf, ',');
        json_print_string(&buf, str_slice(keys, at, end));
        at = end + 1;
    }
    buf_char(&buf, ']');
    Str text = arena_copy(arena, buf_peek(&buf));
    buf_deinit(&buf);
    return text;
}

static void branch_taken(Fold *fold)
{
    const Event *event = fold->event;
    const ProjectionInput *input = fold->input;
    const PlanTerms *terms = input->plan->terms;
    Arena *arena = fold->projection->arena;
    Id id = id_derive(&input->run->id, DERIVED_BRANCH, fold->event_number);
    Cell key = cell_text(arena_copy(arena, id_peek(&id)));
    RowPen pen = pen_at(fold->projection, TABLE_BRANCHES, ROW_INSERT, &key);
    put_int(pen, BRANCHES_workflow_id, input->record->run_no);
    put_borrowed(pen, BRANCHES_branch_point_key, input->plan->steps[event->step].id);
    uint32_t condition = terms->steps[event->step].select;
    put(pen, BRANCHES_condition_class, cell_text(condition != CONDITION_NONE ? terms->conditions[condition].text : STR("")));
    put(pen, BRANCHES_selected_branches, cell_text(keys_json(arena, event->name)));
    put_time(pen, BRANCHES_evaluated_ms, now_of(fold));
    if (event->payload == EVENT_NO_PAYLOAD) return;
    const Payload *payload = &input->payloads[event->payload];
    Str text = str_slice(input->record->payload, SALT_SIZE + payload->offset, SALT_SIZE + payload->offset + payload->size);
    if (text.len && text.len <= TEXT_SIZE_MAX) put(pen, BRANCHES_input_summary, cell_text(text));     /* else: a summary it is not */
}

static void signal_received(Fold *fold)
{
    const Event *event = fold->event;
    Arena *arena = fold->projection->arena;
    Cell key[2] = { cell_int((int64_t)fold->input->record->run_no), cell_int((int64_t)event->count) };
    RowPen pen = pen_at(fold->projection, TABLE_SIGNALS, ROW_INSERT, key);
    put(pen, SIGNALS_name, cell_text(arena_copy(arena, event->name)));
    put_name(pen, SIGNALS_kind, signal_kind_name((SignalKind)event->sort));
    put_copied(pen, SIGNALS_source, event->source);
    put_payload(fold, pen, SIGNALS_payload_at);
    put_time(pen, SIGNALS_received_ms, now_of(fold));
}

/* --- runs ---------------------------------------------------------------------------------------------------------- */

static void put_state(Fold *fold, RunState state) { put_name(fold->run, RUNS_state, run_state_stored(state)); }

static void run_created(Fold *fold)
{
    const Event *event = fold->event;
    const ProjectionInput *input = fold->input;
    Arena *arena = fold->projection->arena;
    RowPen pen = fold->run;
    put(pen, RUNS_id, cell_text(arena_copy(arena, id_peek(&input->run->id))));
    put(pen, RUNS_tenant, cell_text(arena_copy(arena, event->tenant)));
    put(pen, RUNS_definition_key, cell_text(arena_copy(arena, event->name)));
    put_int(pen, RUNS_definition_version, event->revision);
    put(pen, RUNS_plan_digest, cell_blob((Str){ (const char *)input->plan->digest.bytes, DIGEST_SIZE }));
    put_state(fold, RUN_QUEUED);
    put_int(pen, RUNS_cancel_requested, 0);
    put_name(pen, RUNS_priority, priority_name((Priority)event->priority));
    put_copied(pen, RUNS_idempotency_key, event->key);
    put_int(pen, RUNS_key_generation, event->count);
    put_payload(fold, pen, RUNS_params_at);
    put_time(pen, RUNS_created_ms, now_of(fold));
    put_time(pen, RUNS_started_ms, now_of(fold));
    put_moment(pen, RUNS_deadline_at, event->due_ms);
    put_copied(pen, RUNS_source, event->source);
    put_copied(pen, RUNS_parent_id, event->parent);
    const Value *resolution = value_get_text(input->plan->document, "failure_resolution");
    put_borrowed(pen, RUNS_failure_resolution_strategy,
                 resolution ? value_get_string(*resolution, "strategy", STR("AWAIT_DECISION")) : STR("AWAIT_DECISION"));
}

static void run_dispatched(Fold *fold) { put_state(fold, RUN_DISPATCHED); }
static void run_paused(Fold *fold) { put_state(fold, RUN_PAUSED); }
static void run_waiting(Fold *fold) { put_state(fold, RUN_WAITING_SIGNAL); }

static void run_running(Fold *fold)
{
    put_state(fold, RUN_RUNNING);
    /* The first time only: later the column, and the index over it, stay as they are. */
    if (fold->input->run->started_ms == now_of(fold)) put_time(fold->run, RUNS_started_ms, now_of(fold));
}

static void run_ended(Fold *fold, RunState state)
{
    put_state(fold, state);
    Resolution resolution = (Resolution)fold->event->resolution;
    if (resolution != RESOLUTION_NONE) put_name(fold->run, RUNS_resolution, resolution_name(resolution));
    if (run_state_is_settled(state, resolution)) put_time(fold->run, RUNS_completed_ms, now_of(fold));
}

static void run_succeeded(Fold *fold) { run_ended(fold, RUN_SUCCEEDED); }

static void run_cancelled(Fold *fold)
{
    run_ended(fold, RUN_CANCELLED);
    put_null(fold->run, RUNS_resolution);
    put_null(fold->run, RUNS_auto_retry_at);
}

static void run_failed(Fold *fold)
{
    run_ended(fold, RUN_FAILED);
    put_null(fold->run, RUNS_auto_retry_at);            /* one that is scheduled follows */
    put_failure(fold, fold->run, RUNS_error_class, RUNS_error_cause, RUNS_error_message);
    const Plan *plan = fold->input->plan;
    if (fold->event->step < plan->step_count)
        put_borrowed(fold->run, RUNS_failed_step_key, plan->steps[fold->event->step].id);
}

/* --- decisions, retries, compensation ------------------------------------------------------------------------------ */

static void decision_made(Fold *fold)
{
    const Event *event = fold->event;
    const ProjectionInput *input = fold->input;
    Arena *arena = fold->projection->arena;
    DecisionKind kind = (DecisionKind)event->sort;
    Id id = id_derive(&input->run->id, DERIVED_DECISION, fold->event_number);
    Cell key = cell_text(arena_copy(arena, id_peek(&id)));
    RowPen pen = pen_at(fold->projection, TABLE_DECISIONS, ROW_INSERT, &key);
    put_int(pen, DECISIONS_workflow_id, input->record->run_no);
    put_name(pen, DECISIONS_decision_type, decision_kind_name(kind));
    put_copied(pen, DECISIONS_decided_by, event->source);
    put_copied(pen, DECISIONS_reason, event->text);
    if (kind == DECISION_RETRY_FROM_STEP && event->step < input->plan->step_count)
        put_borrowed(pen, DECISIONS_retry_from_step_key, input->plan->steps[event->step].id);
    if (kind == DECISION_COMPENSATE && event->name.len)
        put(pen, DECISIONS_compensate_step_keys, cell_text(keys_json(arena, event->name)));
    put_time(pen, DECISIONS_created_ms, now_of(fold));
}

static void retry_scheduled(Fold *fold)
{
    put_int(fold->run, RUNS_auto_retry_count, fold->event->attempt);
    put_moment(fold->run, RUNS_auto_retry_at, fold->event->due_ms);
}

/* C-07: the ledger keeps what the row forgets. */
static void run_requeued(Fold *fold)
{
    static const uint32_t forgotten[] = { RUNS_resolution, RUNS_completed_ms, RUNS_error_message, RUNS_error_class, RUNS_error_cause,
                                          RUNS_failed_step_key, RUNS_auto_retry_at };
    put_state(fold, RUN_QUEUED);
    for (size_t i = 0; i < sizeof forgotten / sizeof *forgotten; i++) put_null(fold->run, forgotten[i]);
    put_int(fold->run, RUNS_cancel_requested, 0);
    put_moment(fold->run, RUNS_deadline_at, fold->event->due_ms);
}

static void compensation_started(Fold *fold)
{
    put_state(fold, RUN_COMPENSATING);
    put_null(fold->run, RUNS_resolution);
    put_null(fold->run, RUNS_completed_ms);
    put_null(fold->run, RUNS_auto_retry_at);
    put_moment(fold->run, RUNS_compensation_started_at, now_of(fold));
}

static RowPen compensation_pen(Fold *fold, RowOp op)
{
    const ProjectionInput *input = fold->input;
    Id id = id_derive(&input->run->id, DERIVED_COMPENSATION, fold->event->number);
    Cell key = cell_text(arena_copy(fold->projection->arena, id_peek(&id)));
    RowPen pen = pen_at(fold->projection, TABLE_COMPENSATIONS, op, &key);
    put_time(pen, COMPENSATIONS_updated_ms, now_of(fold));
    return pen;
}

static void put_compensation(RowPen pen, CompensationState state)
{
    put_name(pen, COMPENSATIONS_status, compensation_state_name(state));
}

static void compensation_planned(Fold *fold)
{
    const Event *event = fold->event;
    bool is_skipped = event->flags & 1;
    RowPen pen = compensation_pen(fold, ROW_INSERT);
    put_int(pen, COMPENSATIONS_workflow_id, fold->input->record->run_no);
    put_borrowed(pen, COMPENSATIONS_step_key, fold->input->plan->steps[event->step].id);
    put(pen, COMPENSATIONS_compensation_job_class, cell_text(arena_copy(fold->projection->arena, event->name)));
    put_compensation(pen, is_skipped ? COMPENSATION_SKIPPED : COMPENSATION_PENDING);
    put_int(pen, COMPENSATIONS_attempt, 0);
    put_int(pen, COMPENSATIONS_max_attempts, event->count);
    put_time(pen, COMPENSATIONS_created_ms, now_of(fold));
    if (!is_skipped) return;
    put_time(pen, COMPENSATIONS_finished_ms, now_of(fold));
    put_copied(pen, COMPENSATIONS_failure_message, event->text);
}

static void compensation_running(Fold *fold)
{
    RowPen pen = compensation_pen(fold, ROW_UPDATE);
    put_compensation(pen, COMPENSATION_RUNNING);
    put_int(pen, COMPENSATIONS_attempt, fold->event->attempt);
    if (fold->event->attempt == 1) put_time(pen, COMPENSATIONS_started_ms, now_of(fold));
}

static void compensation_attempt_failed(Fold *fold)
{
    const Event *event = fold->event;
    const ProjectionInput *input = fold->input;
    RowPen pen = compensation_pen(fold, ROW_UPDATE);
    put_compensation(pen, COMPENSATION_FAILED);
    put_int(pen, COMPENSATIONS_attempt, event->attempt);
    put_copied(pen, COMPENSATIONS_failure_message, event->text);
    if (!event->due_ms) put_time(pen, COMPENSATIONS_finished_ms, now_of(fold));
    if (event->payload == EVENT_NO_PAYLOAD) return;
    const Payload *payload = &input->payloads[event->payload];
    Str text = str_slice(input->record->payload, SALT_SIZE + payload->offset, SALT_SIZE + payload->offset + payload->size);
    if (text.len && text.len <= TEXT_SIZE_MAX) put(pen, COMPENSATIONS_failure_trace, cell_text(text));
}

static void compensation_succeeded(Fold *fold)
{
    RowPen pen = compensation_pen(fold, ROW_UPDATE);
    put_compensation(pen, COMPENSATION_SUCCEEDED);
    put_time(pen, COMPENSATIONS_finished_ms, now_of(fold));
    put_null(pen, COMPENSATIONS_failure_message);
    put_null(pen, COMPENSATIONS_failure_trace);
}

static void compensation_skipped(Fold *fold)
{
    RowPen pen = compensation_pen(fold, ROW_UPDATE);
    put_compensation(pen, COMPENSATION_SKIPPED);
    put_time(pen, COMPENSATIONS_finished_ms, now_of(fold));
}

static void compensation_resumed(Fold *fold)
{
    put_state(fold, RUN_COMPENSATING);
    put_null(fold->run, RUNS_completed_ms);
    if (!fold->event->count) return;
    RowPen pen = compensation_pen(fold, ROW_UPDATE);
    put_int(pen, COMPENSATIONS_max_attempts, fold->event->count);
    put_null(pen, COMPENSATIONS_finished_ms);
}

static void run_compensated(Fold *fold)
{
    run_ended(fold, RUN_COMPENSATED);
    put_copied(fold->run, RUNS_error_message, fold->event->text);
    put_moment(fold->run, RUNS_compensated_at, now_of(fold));
}

static void run_compensation_failed(Fold *fold)
{
    run_ended(fold, RUN_COMPENSATION_FAILED);
    put_copied(fold->run, RUNS_error_message, fold->event->text);
}

static void run_cancelling(Fold *fold) { put_int(fold->run, RUNS_cancel_requested, 1); }
static void cost_reported(Fold *fold) { put_int(fold->run, RUNS_cost_micro, fold->input->run->cost_micro); }

/* --- the table ----------------------------------------------------------------------------------------------------- */

typedef void (*FoldKind)(Fold *fold);

/* Kinds that are not here change no row but that of the run, which each record changes. */
static const FoldKind fold_kinds[EVENT_KIND_END] = {
    [EVENT_RUN_CREATED] = run_created,         [EVENT_RUN_DISPATCHED] = run_dispatched,
    [EVENT_RUN_RUNNING] = run_running,         [EVENT_RUN_PAUSED] = run_paused,
    [EVENT_RUN_WAITING_SIGNAL] = run_waiting,  [EVENT_RUN_SUCCEEDED] = run_succeeded,
    [EVENT_RUN_FAILED] = run_failed,           [EVENT_RUN_CANCELLED] = run_cancelled,
    [EVENT_RUN_CANCELLING] = run_cancelling,   [EVENT_STEP_DISPATCHED] = step_dispatched,
    [EVENT_STEP_RUNNING] = step_running,       [EVENT_STEP_SUCCEEDED] = step_succeeded,
    [EVENT_STEP_FAILED] = step_failed,         [EVENT_ATTEMPT_FAILED] = attempt_failed,
    [EVENT_STEP_REQUEUED] = step_requeued,     [EVENT_STEP_SKIPPED] = step_skipped,
    [EVENT_STEP_CANCELLED] = step_cancelled,   [EVENT_STEP_WAITING] = step_waiting,
    [EVENT_STEP_RESUMED] = step_resumed,       [EVENT_BRANCH_TAKEN] = branch_taken,
    [EVENT_LOOP_REPEATED] = loop_repeated,     [EVENT_EFFECT_COMMITTED] = effect_committed,
    [EVENT_LEASE_EXPIRED] = lease_expired,     [EVENT_COST_REPORTED] = cost_reported,
    [EVENT_SIGNAL_RECEIVED] = signal_received, [EVENT_STEP_SUPERSEDED] = step_superseded,
    [EVENT_DECISION_MADE] = decision_made,     [EVENT_AUTO_RETRY_SCHEDULED] = retry_scheduled,
    [EVENT_RUN_REQUEUED] = run_requeued,       [EVENT_COMPENSATION_STARTED] = compensation_started,
    [EVENT_COMPENSATION_PLANNED] = compensation_planned,
    [EVENT_COMPENSATION_RUNNING] = compensation_running,
    [EVENT_COMPENSATION_ATTEMPT_FAILED] = compensation_attempt_failed,
    [EVENT_COMPENSATION_SUCCEEDED] = compensation_succeeded,
    [EVENT_COMPENSATION_SKIPPED] = compensation_skipped,
    [EVENT_COMPENSATION_RESUMED] = compensation_resumed,
    [EVENT_RUN_COMPENSATED] = run_compensated, [EVENT_RUN_COMPENSATION_FAILED] = run_compensation_failed,
};

static void finish_run(const Fold *fold)
{
    const ProjectionInput *input = fold->input;
    put_int(fold->run, RUNS_event_count, input->run->event_count);
    put(fold->run, RUNS_head, cell_blob((Str){ (const char *)input->record->hash.bytes, DIGEST_SIZE }));
    put_int(fold->run, RUNS_last_position, input->record->position);
    put_time(fold->run, RUNS_updated_ms, input->run->updated_ms);
}

void projection_record(Projection *projection, const ProjectionInput *input)
{
    Fold fold = { .projection = projection, .input = input };
    if (input->plan->loop_count) {
        CHECK(input->step_numbers);
        fold.numbers = input->step_numbers;
    }
    Cell key = cell_int((int64_t)input->record->run_no);
    fold.run = pen_at(projection, TABLE_RUNS, input->record->first_event == 1 ? ROW_INSERT : ROW_UPDATE, &key);
    for (uint32_t i = 0; i < input->event_count; i++) {
        fold.event = &input->events[i];
        fold.event_number = input->record->first_event + i;
        if (fold_kinds[fold.event->kind]) fold_kinds[fold.event->kind](&fold);
    }
    finish_run(&fold);
}

void projection_numbers(const Run *run, uint32_t *out_step_numbers)
{
    for (uint32_t i = 0; i < run->step_count; i++) out_step_numbers[i] = run->steps[i].number;
}

void projection_replay(Projection *projection, const ProjectionInput *input, Run *run)
{
    EventPlace place = { .now_ms = input->head->now_ms, .position = input->record->position };
    for (uint32_t i = 0; i < input->event_count; i++) run_apply(run, input->plan, &input->events[i], &place);
    projection_record(projection, input);
}
