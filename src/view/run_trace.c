/* run_trace.c - the spans of a run: its own, one a step run, one an attempt below it. */
#include <string.h>

#include "view/run_history.h"

static Value hex(Arena *arena, const uint8_t *bytes, uint32_t count)
{
    static const char digits[] = "0123456789abcdef";
    char *text = arena_bytes(arena, 2 * count);
    for (uint32_t i = 0; i < count; i++) {
        text[2 * i] = digits[bytes[i] >> 4];
        text[2 * i + 1] = digits[bytes[i] & 15];
    }
    return value_string((Str){ text, 2 * count });
}

typedef struct Span {
    Trace at;
    const Trace *parent;            /* NULL: none is known */
    const char *kind;
    Str name;
    Cell begin, end;
    const char *code;               /* OK, ERROR, UNSET */
    Value message;                  /* null: none */
    MemberList attributes;
} Span;

static void add_span(const RunHistory *it, ValueList *spans, const Span *span)
{
    MemberList members = { .arena = it->arena }, status = { .arena = it->arena };
    member_list_add(&members, STR("spanId"), hex(it->arena, span->at.span, sizeof span->at.span));
    member_list_add(&members, STR("parentSpanId"), span->parent ? hex(it->arena, span->parent->span, sizeof span->parent->span) : value_null());
    member_list_add(&members, STR("kind"), value_string(str_of(span->kind)));
    member_list_add(&members, STR("name"), value_string(span->name));
    member_list_add(&members, STR("startTime"), cell_time(it->arena, &span->begin));
    member_list_add(&members, STR("endTime"), cell_time(it->arena, &span->end));
    member_list_add(&status, STR("code"), value_string(str_of(span->code)));
    if (span->message.kind == VALUE_STRING) member_list_add(&status, STR("message"), span->message);
    member_list_add(&members, STR("status"), member_list_object(&status));
    member_list_add(&members, STR("attributes"), member_list_object(&span->attributes));
    value_list_add(spans, member_list_object(&members));
}

static void attribute(Span *span, const char *name, Value value)
{
    if (value.kind != VALUE_NULL) member_list_add(&span->attributes, str_of(name), value);
}

static Cell time_cell(int64_t ms) { return ms ? cell_int(ms) : cell_null(); }

static const char *code_of(Str result)
{
    return str_is_text(result, "COMPLETED") ? "OK" : str_is_text(result, "FAILED") ? "ERROR" : "UNSET";
}

static void add_attempts(const RunHistory *it, ValueList *spans, uint32_t number, const Trace *parent)
{
    for (size_t i = 0; i < it->history.attempt_count; i++) {
        const HistoryAttempt *attempt = &it->history.attempts[i];
        if (attempt->number != number) continue;
        Span span = { .at = trace_span(&it->history.trace, it->replay.run.seed, SPAN_ATTEMPT, attempt->number, attempt->attempt), .parent = parent,
                      .kind = "attempt", .name = it->plan.steps[attempt->step].id, .begin = time_cell(attempt->dispatched_ms),
                      .end = time_cell(attempt->ended_ms), .attributes = { .arena = it->arena }, .message = value_null(),
                      .code = attempt->end == ATTEMPT_FAILED ? "ERROR" : attempt->end == ATTEMPT_SUCCEEDED ? "OK" : "UNSET" };
        if (attempt->message.len) span.message = value_string(attempt->message);
        attribute(&span, "attempt", value_int(attempt->attempt));
        attribute(&span, "state", value_string(str_of(attempt_end_name(attempt->end))));
        if (attempt->executor.len) attribute(&span, "executor", value_string(attempt->executor));
        attribute(&span, "runner", value_string(it->plan.steps[attempt->step].runner));
        attribute(&span, "event", value_int((int64_t)attempt->first_event));
        if (attempt->cause) attribute(&span, "cause", value_string(str_of(cause_name((Cause)attempt->cause))));
        add_span(it, spans, &span);
    }
}

static void add_step_run(const RunHistory *it, ValueList *spans, const Cell *row, const Trace *parent)
{
    uint32_t number = (uint32_t)row[STEP_RUNS_step_index].integer + 1;
    Str result = row[STEP_RUNS_result].kind == CELL_TEXT ? row[STEP_RUNS_result].text : STR("");
    Span span = { .at = trace_span(&it->history.trace, it->replay.run.seed, SPAN_STEP, number, 0), .parent = parent,
                  .kind = "step", .name = row[STEP_RUNS_step_key].text,
                  .begin = row[STEP_RUNS_started_ms], .end = row[STEP_RUNS_finished_ms], .code = code_of(result),
                  .message = cell_value(&row[STEP_RUNS_error_message]), .attributes = { .arena = it->arena } };
    attribute(&span, "stepIndex", cell_value(&row[STEP_RUNS_step_index]));
    attribute(&span, "stepType", cell_value(&row[STEP_RUNS_step_type]));
    attribute(&span, "job", cell_value(&row[STEP_RUNS_job_key]));
    attribute(&span, "state", value_string(str_of(step_state_name(step_row_state(row)))));
    attribute(&span, "skipReason", cell_value(&row[STEP_RUNS_skip_reason]));
    attribute(&span, "resultId", cell_value(&row[STEP_RUNS_id]));
    add_span(it, spans, &span);
    add_attempts(it, spans, number, &span.at);
}

/* A run that was started within a trace has its caller's span above it; one that was not begins a trace of its own. */
Value run_trace_value(const RunHistory *it)
{
    const Cell *row = it->row;
    const Trace *start = &it->history.trace;
    MemberList members = { .arena = it->arena };
    ValueList spans = { .arena = it->arena };
    Trace own = trace_make(it->replay.run.seed);
    bool is_given = memcmp(own.id, start->id, sizeof own.id) != 0 || memcmp(own.span, start->span, sizeof own.span) != 0;
    char text[TRACE_TEXT_SIZE];
    RunState state = row_state(row);
    Span span = { .at = trace_span(start, it->replay.run.seed, SPAN_RUN, 0, 0), .parent = is_given ? start : NULL,
                  .kind = "run", .name = row[RUNS_definition_key].text, .begin = row[RUNS_started_ms],
                  .end = row[RUNS_completed_ms], .message = cell_value(&row[RUNS_error_message]),
                  .code = state == RUN_SUCCEEDED ? "OK"
                        : state == RUN_FAILED || state == RUN_COMPENSATION_FAILED ? "ERROR" : "UNSET",
                  .attributes = { .arena = it->arena } };
    attribute(&span, "executionId", cell_value(&row[RUNS_id]));
    attribute(&span, "namespace", cell_value(&row[RUNS_tenant]));
    attribute(&span, "version", cell_value(&row[RUNS_definition_version]));
    attribute(&span, "state", value_string(str_of(run_state_name(state))));
    attribute(&span, "source", cell_value(&row[RUNS_source]));
    add_span(it, &spans, &span);
    for (size_t i = 0; i < it->steps.count; i++) add_step_run(it, &spans, it->steps.rows[i], &span.at);
    member_list_add(&members, STR("executionId"), cell_value(&row[RUNS_id]));
    member_list_add(&members, STR("traceId"), hex(it->arena, start->id, sizeof start->id));
    member_list_add(&members, STR("traceparent"), value_string(arena_copy(it->arena, trace_print(&span.at, text))));
    member_list_add(&members, STR("spans"), value_list_array(&spans));
    return member_list_object(&members);
}
