#include "cli/policy_report.h"

#include <stdio.h>
#include <string.h>

#include "base/limits.h"
#include "base/utf8.h"
#include "rego/ast.h"
#include "value/number.h"

#define NOTES_SIZE_MAX (16u << 20)

/* --- compiling ------------------------------------------------------------------------------------------------------ */

ExitCode policy_compile(const Args *args, const PolicySet *set, RegoCompileOptions options, RegoPolicy **out_policy)
{
    RegoErrors errors;
    rego_errors_init(&errors, args->arena);
    Status status = rego_compile(set->modules, (uint32_t)set->module_count, set->data, &options, out_policy, &errors);
    return status ? policy_refuse(args, set, STR(""), &errors) : EXIT_CODE_OK;
}

Value policy_eval_error_value(Arena *arena, const RegoEvalError *error)
{
    return policy_error_at(arena, arena_copy(arena, str_of(error->error.text)), rego_eval_code_name(error->code), error->file, error->loc);
}

/* --- results ------------------------------------------------------------------------------------------------------------------- */

Value policy_decimal(Arena *arena, double number)
{
    char text[64];
    Value value;
    snprintf(text, sizeof text, "%.15g", number);
    return number_read(arena, arena_copy(arena, str_of(text)), &value, NULL) ? value_int(0) : value;
}

void policy_duration(Buf *out, uint64_t ns)
{
    if (ns < 1000) buf_format(out, "%uns", (unsigned)ns);
    else if (ns < 1000000) buf_format(out, "%.3fµs", (double)ns / 1e3);
    else if (ns < 1000000000) buf_format(out, "%.3fms", (double)ns / 1e6);
    else buf_format(out, "%.3fs", (double)ns / 1e9);
}

static void table_rule(Buf *out, const size_t *widths, size_t count, const char *left, const char *middle, const char *right)
{
    buf_text(out, left);
    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < widths[i] + 2; k++) buf_text(out, "─");
        buf_text(out, i + 1 < count ? middle : right);
    }
    buf_char(out, '\n');
}

void policy_table(Buf *out, const Str *cells, size_t row_count, size_t column_count)
{
    enum { COLUMN_COUNT_MAX = 64 };
    size_t widths[COLUMN_COUNT_MAX] = { 0 };
    if (column_count > COLUMN_COUNT_MAX) column_count = COLUMN_COUNT_MAX;
    for (size_t i = 0; i < row_count * column_count; i++)
        if (utf8_width(cells[i]) > widths[i % column_count]) widths[i % column_count] = utf8_width(cells[i]);
    table_rule(out, widths, column_count, "┌", "┬", "┐");
    for (size_t row = 0; row < row_count; row++) {
        if (row == 1) table_rule(out, widths, column_count, "├", "┼", "┤");
        for (size_t i = 0; i < column_count; i++) {
            Str cell = cells[row * column_count + i];
            buf_text(out, i ? " │ " : "│ ");
            buf_str(out, cell);
            buf_repeat(out, ' ', widths[i] - utf8_width(cell));
        }
        buf_text(out, " │\n");
    }
    table_rule(out, widths, column_count, "└", "┴", "┘");
}

/* --- coverage ---------------------------------------------------------------------------------------------------------------------- */

typedef struct Coverage {
    uint64_t covered, missed;           /* lines */
} Coverage;

static Value place_value(Arena *arena, uint32_t row, uint32_t col)
{
    MemberList members = { .arena = arena };
    member_list_add(&members, STR("row"), value_int(row));
    member_list_add(&members, STR("col"), value_int(col));
    return member_list_object(&members);
}

/* From its first character to behind its last one. */
static Value range_value(Arena *arena, Str text, RegoLoc loc)
{
    Str inside = rego_loc_text(text, loc);
    uint32_t row = loc.row, col = loc.col;
    for (size_t i = 0; i < inside.len; i++) {
        if (inside.ptr[i] == '\n') {
            row++;
            col = 1;
        } else if (((unsigned char)inside.ptr[i] & 0xc0) != 0x80) {
            col++;
        }
    }
    MemberList members = { .arena = arena };
    member_list_add(&members, STR("start"), place_value(arena, loc.row, loc.col));
    member_list_add(&members, STR("end"), place_value(arena, row, col));
    return member_list_object(&members);
}

static void add_counts(MemberList *members, Coverage coverage)
{
    uint64_t total = coverage.covered + coverage.missed;
    member_list_add(members, STR("covered_lines"), value_int((int64_t)coverage.covered));
    member_list_add(members, STR("not_covered_lines"), value_int((int64_t)coverage.missed));
    member_list_add(members, STR("coverage"), policy_decimal(members->arena, total ? 100.0 * (double)coverage.covered / (double)total : 0));
}

/* A line counts once: as covered where anything on it was. */
static Coverage count_lines(Arena *arena, const RegoPolicy *policy, Str file, Str text, const uint64_t *counts)
{
    uint32_t row_count = 2;
    for (size_t i = 0; i < text.len; i++) row_count += text.ptr[i] == '\n';
    uint8_t *lines = ARENA_ARRAY(arena, uint8_t, row_count);
    Coverage coverage = { 0, 0 };
    for (uint32_t i = 0; i < rego_place_count(policy); i++) {
        RegoPlace place = rego_place(policy, i);
        if (str_is(place.file, file) && place.loc.row < row_count) lines[place.loc.row] |= counts[i] ? 2 : 1;
    }
    for (uint32_t i = 0; i < row_count; i++) {
        coverage.covered += (lines[i] & 2) != 0;
        coverage.missed += lines[i] == 1;
    }
    return coverage;
}

static Value file_coverage(Arena *arena, const RegoPolicy *policy, Str file, Str text, const uint64_t *counts, Coverage coverage)
{
    ValueList covered = { .arena = arena }, missed = { .arena = arena };
    MemberList members = { .arena = arena };
    for (uint32_t i = 0; i < rego_place_count(policy); i++) {
        RegoPlace place = rego_place(policy, i);
        if (str_is(place.file, file)) value_list_add(counts[i] ? &covered : &missed, range_value(arena, text, place.loc));
    }
    if (covered.count) member_list_add(&members, STR("covered"), value_list_array(&covered));
    if (missed.count) member_list_add(&members, STR("not_covered"), value_list_array(&missed));
    add_counts(&members, coverage);
    return member_list_object(&members);
}

Value policy_coverage(Arena *arena, const PolicySet *set, const RegoPolicy *policy, const uint64_t *eval_counts, double *out_percent)
{
    MemberList files = { .arena = arena }, members = { .arena = arena };
    Coverage all = { 0, 0 };
    for (size_t i = 0; i < set->module_count; i++) {
        Str file = set->modules[i].file, text = set->modules[i].text;
        Coverage coverage = count_lines(arena, policy, file, text, eval_counts);
        if (coverage.covered + coverage.missed == 0) continue;
        member_list_add(&files, file, file_coverage(arena, policy, file, text, eval_counts, coverage));
        all.covered += coverage.covered;
        all.missed += coverage.missed;
    }
    member_list_add(&members, STR("files"), member_list_object(&files));
    add_counts(&members, all);
    *out_percent = all.covered + all.missed ? 100.0 * (double)all.covered / (double)(all.covered + all.missed) : 0;
    return member_list_object(&members);
}

/* --- traces -------------------------------------------------------------------------------------------------------------------------- */

static const char *const trace_names[REGO_TRACE_COUNT] = {
    [REGO_TRACE_ENTER] = "Enter", [REGO_TRACE_EVAL] = "Eval", [REGO_TRACE_FAIL] = "Fail",
    [REGO_TRACE_REDO] = "Redo",   [REGO_TRACE_EXIT] = "Exit", [REGO_TRACE_NOTE] = "Note",
};

static void keep(PolicyTrace *trace, const RegoTraceEvent *event)
{
    trace->events = arena_grow(trace->arena, trace->events, sizeof *trace->events, trace->count, &trace->capacity);
    trace->events[trace->count++] = *event;
}

/* What leads to an event that is kept: the rules it happened in. */
static void keep_open(PolicyTrace *trace, uint32_t depth)
{
    size_t kept = 0;
    for (size_t i = 0; i < trace->open_count; i++)
        if (trace->open[i].depth <= depth) keep(trace, &trace->open[i]);
        else trace->open[kept++] = trace->open[i];
    trace->open_count = kept;
}

static void open_rule(PolicyTrace *trace, const RegoTraceEvent *event)
{
    while (trace->open_count && trace->open[trace->open_count - 1].depth >= event->depth) trace->open_count--;
    trace->open = arena_grow(trace->arena, trace->open, sizeof *trace->open, trace->open_count, &trace->open_capacity);
    trace->open[trace->open_count++] = *event;
}

static void take_note(PolicyTrace *trace, const RegoTraceEvent *event)
{
    if (trace->prints) {
        fprintf(stderr, "%.*s\n", STR_ARG(event->note));
        return;
    }
    buf_str(&trace->notes, event->note);
    buf_char(&trace->notes, '\n');
}

static void take_event(void *context, const RegoTraceEvent *event)
{
    PolicyTrace *trace = context;
    if (event->kind == REGO_TRACE_NOTE) take_note(trace, event);
    if (trace->filter == TRACE_OFF) return;
    RegoTraceEvent kept = *event;
    kept.note = arena_copy(trace->arena, event->note);
    bool is_wanted = trace->filter == TRACE_FULL || (trace->filter == TRACE_NOTES && event->kind == REGO_TRACE_NOTE)
                  || (trace->filter == TRACE_FAILS && event->kind == REGO_TRACE_FAIL);
    if (is_wanted) {
        keep_open(trace, event->depth);
        keep(trace, &kept);
    } else if (event->kind == REGO_TRACE_ENTER) {
        open_rule(trace, &kept);
    }
}

void policy_trace_init(PolicyTrace *trace, Arena *arena, TraceFilter filter, bool prints)
{
    *trace = (PolicyTrace){ .tracer = { take_event, trace }, .arena = arena, .filter = filter, .prints = prints };
    buf_init(&trace->notes, NOTES_SIZE_MAX);
}

void policy_trace_deinit(PolicyTrace *trace)
{
    buf_deinit(&trace->notes);
}

TraceFilter policy_trace_filter(const char *word)
{
    static const struct { const char *word; TraceFilter filter; } filters[] = {
        { "full", TRACE_FULL }, { "notes", TRACE_NOTES }, { "fails", TRACE_FAILS },
    };
    for (size_t i = 0; word && i < sizeof filters / sizeof *filters; i++)
        if (strcmp(filters[i].word, word) == 0) return filters[i].filter;
    return TRACE_OFF;
}

static Str event_place(Arena *arena, const RegoTraceEvent *event)
{
    return arena_format(arena, "%.*s:%u", STR_ARG(event->file.len ? event->file : STR("query")), event->loc.row);
}

/* The first line of what was written; the rest of a long rule says nothing about the way through it. */
static Str event_text(const RegoTraceEvent *event)
{
    Str text = event->kind == REGO_TRACE_NOTE ? event->note : event->text;
    return str_slice(text, 0, str_find(text, '\n', 0));
}

void policy_trace_print(const PolicyTrace *trace, const char *margin, Buf *out)
{
    size_t width = 0;
    for (size_t i = 0; i < trace->count; i++) {
        size_t size = event_place(trace->arena, &trace->events[i]).len;
        if (size > width) width = size;
    }
    for (size_t i = 0; i < trace->count; i++) {
        const RegoTraceEvent *event = &trace->events[i];
        Str place = event_place(trace->arena, event);
        buf_text(out, margin);
        buf_str(out, place);
        buf_repeat(out, ' ', width - place.len + 4);
        for (uint32_t depth = 0; depth < event->depth; depth++) buf_text(out, "| ");
        if (event->kind == REGO_TRACE_NOTE) buf_text(out, "Note \"");
        else buf_format(out, "%s ", trace_names[event->kind]);
        buf_str(out, event_text(event));
        buf_text(out, event->kind == REGO_TRACE_NOTE ? "\"\n" : "\n");
    }
}

Value policy_trace_value(Arena *arena, const PolicyTrace *trace)
{
    ValueList list = { .arena = arena };
    for (size_t i = 0; i < trace->count; i++) {
        const RegoTraceEvent *event = &trace->events[i];
        MemberList members = { .arena = arena };
        member_list_add(&members, STR("op"), value_string(str_of(trace_names[event->kind])));
        member_list_add(&members, STR("depth"), value_int(event->depth));
        member_list_add(&members, STR("location"), policy_location_value(arena, event->file, event->loc));
        if (event->text.len) member_list_add(&members, STR("text"), value_string(event->text));
        if (event->kind == REGO_TRACE_NOTE) member_list_add(&members, STR("message"), value_string(event->note));
        value_list_add(&list, member_list_object(&members));
    }
    return value_list_array(&list);
}
