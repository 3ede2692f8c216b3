#include "cli/policy_trace.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "base/utf8.h"
#include "rego/builtins/format.h"
#include "rego/builtins/text.h"
#include "rego/print.h"

#define NOTES_SIZE_MAX (16u << 20)
#define LINE_SIZE_MAX (16u << 20)
#define COLUMN_GAP 5u                   /* spaces between two columns */
#define VALUE_WIDTH_MAX 32u             /* of a variable's value, */
#define VALUE_TEXT_SIZE_MAX 4096u       /* and how much of it is printed to know its beginning */

static const char *const trace_names[REGO_TRACE_COUNT] = {
    [REGO_TRACE_ENTER] = "Enter", [REGO_TRACE_EVAL] = "Eval",   [REGO_TRACE_FAIL] = "Fail", [REGO_TRACE_REDO] = "Redo",
    [REGO_TRACE_EXIT] = "Exit",   [REGO_TRACE_INDEX] = "Index", [REGO_TRACE_NOTE] = "Note",
};

/* There is no unification to be shown: debug is full. */
static const struct { const char *word; TraceFilter filter; } filters[] = {
    { "fails", TRACE_FAILS }, { "full", TRACE_FULL }, { "notes", TRACE_NOTES }, { "debug", TRACE_FULL },
};
const char *const policy_trace_words[] = { "fails", "full", "notes", "debug", NULL };

TraceFilter policy_trace_filter(const char *word)
{
    for (size_t i = 0; word && i < sizeof filters / sizeof *filters; i++)
        if (strcmp(filters[i].word, word) == 0) return filters[i].filter;
    return TRACE_OFF;
}

/* --- keeping events ----------------------------------------------------------------------------------------------- */

#define EVENT_SIZE_TEXT 512u            /* what an event takes with its place and line, the text of its statement apart */
#define EVENT_SIZE_JSON 4096u           /* what its members take as values and as text */
#define LOCAL_SIZE_JSON 1024u
#define VALUE_SIZE_JSON 128u            /* a value inside of others: itself, and an indented line */

/* Takes what a value's JSON will need; false where that is more than is left. */
static bool charge_value(uint64_t *left, Value value)
{
    bool is_object = value.kind == VALUE_OBJECT, is_list = value.kind == VALUE_ARRAY || value.kind == VALUE_SET;
    bool is_text = value.kind == VALUE_STRING || value.kind == VALUE_DECIMAL;
    uint64_t size = VALUE_SIZE_JSON + (is_text ? 2 * (uint64_t)value.count : 0);
    if (size > *left) return false;
    *left -= size;
    for (uint32_t i = 0; is_list && i < value.count; i++)
        if (!charge_value(left, value.items[i])) return false;
    for (uint32_t i = 0; is_object && i < value.count; i++)
        if (!charge_value(left, value.members[i].key) || !charge_value(left, value.members[i].value)) return false;
    return true;
}

/* Takes what keeping and showing an event will need; once something does not fit, nothing more is kept. */
static bool charge(PolicyTrace *trace, const TraceEvent *kept)
{
    const RegoTraceEvent *event = &kept->event;
    bool is_json = trace->form == TRACE_AS_JSON, fits = !trace->dropped;
    uint64_t left = trace->size_left;
    uint64_t size = EVENT_SIZE_TEXT + 2 * ((uint64_t)event->message.len + event->loc.size + 2 * event->depth)
                  + (uint64_t)kept->local_count * (2 * sizeof(TraceLocal) + VALUE_WIDTH_MAX);
    if (is_json) size += EVENT_SIZE_JSON + (uint64_t)kept->local_count * LOCAL_SIZE_JSON;
    fits = fits && size <= left;
    if (fits) left -= size;
    if (fits && is_json && event->place) fits = charge_value(&left, event->place->node);
    for (uint32_t i = 0; fits && is_json && i < kept->local_count; i++)
        fits = charge_value(&left, kept->locals[i].value);
    if (fits) trace->size_left = left;
    else trace->dropped++;
    return fits;
}

/* The event and those of its variables that have a value, in memory that is used again. */
static TraceEvent copy_event(PolicyTrace *trace, const RegoTraceEvent *event, TraceLocals *locals)
{
    uint32_t count = 0;
    for (const RegoLocal *local = event->locals; local; local = local->before) count++;
    if (count > locals->capacity) {
        locals->capacity = 2 * count;
        locals->items = ARENA_ARRAY(trace->arena, TraceLocal, locals->capacity);
    }
    TraceEvent copy = { .event = *event, .locals = locals->items };
    for (const RegoLocal *local = event->locals; local; local = local->before) {
        Value value = event->values[local->slot];
        if (value.kind <= VALUE_SET) locals->items[copy.local_count++] = (TraceLocal){ local, value };
    }
    copy.event.locals = NULL;
    copy.event.values = NULL;
    return copy;
}

/* Keeps an event whose variables and message may change afterwards. */
static void keep(PolicyTrace *trace, const TraceEvent *event)
{
    if (!charge(trace, event)) return;
    TraceEvent kept = *event;
    kept.event.message = arena_copy(trace->arena, event->event.message);
    kept.locals = arena_copy_items(trace->arena, event->locals, sizeof *event->locals * event->local_count);
    trace->events = arena_grow(trace->arena, trace->events, sizeof *trace->events, trace->count, &trace->capacity);
    trace->events[trace->count++] = kept;
}

/* The last beginning of each rule around an event leads to it; once told it is not told again. */
static void keep_path(PolicyTrace *trace, const RegoTraceEvent *event)
{
    uint64_t wanted = event->query_id;
    size_t from = event->depth;
    while (from > 0 && from <= trace->open_count && trace->open[from - 1].begun.event.depth
           && trace->open[from - 1].begun.event.query_id == wanted) {
        wanted = trace->open[from - 1].begun.event.parent_id;
        from--;
    }
    for (size_t i = from; i < event->depth && i < trace->open_count; i++) keep(trace, &trace->open[i].begun);
    for (size_t i = 0; i < trace->open_count; i++) trace->open[i].begun.event.depth = 0;
}

static void open_begin(PolicyTrace *trace, const RegoTraceEvent *event)
{
    while (trace->open_count < event->depth) {
        trace->open = arena_grow(trace->arena, trace->open, sizeof *trace->open, trace->open_count,
                                 &trace->open_capacity);
        trace->open[trace->open_count++] = (TraceOpen){ 0 };
    }
    TraceOpen *open = &trace->open[event->depth - 1];
    open->begun = copy_event(trace, event, &open->locals);
    Buf message = buf_on(open->message, sizeof open->message);
    buf_str(&message, event->message);
    open->begun.event.message = buf_peek(&message);
}

static void take_print(PolicyTrace *trace, const RegoTraceEvent *event)
{
    if (trace->prints) {
        fprintf(stderr, "%.*s\n", STR_ARG(event->message));
        return;
    }
    buf_str(&trace->notes, event->message);
    buf_char(&trace->notes, '\n');
}

static void take_event(void *context, const RegoTraceEvent *event)
{
    PolicyTrace *trace = context;
    if (trace->observe) trace->observe(trace->observer, event);
    if (event->kind == REGO_TRACE_NOTE && event->is_print) {
        take_print(trace, event);
        return;
    }
    bool is_beginning = (event->kind == REGO_TRACE_ENTER || event->kind == REGO_TRACE_REDO)
                     && event->place->kind != REGO_PLACE_EXPR;
    bool is_wanted = trace->filter == TRACE_FULL || (trace->filter == TRACE_NOTES && event->kind == REGO_TRACE_NOTE)
                  || (trace->filter == TRACE_FAILS && event->kind == REGO_TRACE_FAIL);
    if (trace->dropped) {                       /* it is full */
        trace->dropped += is_wanted;
    } else if (is_wanted) {
        if (trace->filter != TRACE_FULL) keep_path(trace, event);
        TraceEvent now = copy_event(trace, event, &trace->locals);
        keep(trace, &now);
    } else if (trace->filter != TRACE_OFF && is_beginning) {
        open_begin(trace, event);
    }
}

void policy_trace_init(PolicyTrace *trace, Arena *arena, TraceFilter filter, TraceForm form, bool prints)
{
    *trace = (PolicyTrace){ .tracer = { take_event, trace }, .arena = arena, .filter = filter, .form = form,
                            .prints = prints, .size_left = TRACE_SIZE_MAX };
    buf_init(&trace->notes, NOTES_SIZE_MAX);
}

void policy_trace_deinit(PolicyTrace *trace)
{
    buf_deinit(&trace->notes);
}

/* --- as text ------------------------------------------------------------------------------------------------------ */

static Str event_place(Arena *arena, const RegoTraceEvent *event)
{
    return arena_format(arena, "%.*s:%u", STR_ARG(event->file.len ? event->file : STR("query")), event->loc.row);
}

static void print_path(Buf *out, const Value *path, uint32_t count)
{
    buf_text(out, "data");
    for (uint32_t i = 0; i < count; i++) {
        bool is_name = path[i].kind == VALUE_STRING && rego_name_is_plain(value_text(path[i]));
        buf_char(out, is_name ? '.' : '[');
        if (is_name) buf_str(out, value_text(path[i]));
        else if (path[i].kind == VALUE_STRING) rego_print_quoted(out, value_text(path[i]));
        else format_value(out, path[i]);
        if (!is_name) buf_char(out, ']');
    }
}

/* Beginnings stand where the rule is, everything else inside of it. */
static uint32_t event_indent(const RegoTraceEvent *event)
{
    bool is_outside = event->kind == REGO_TRACE_ENTER
                   || (event->kind == REGO_TRACE_REDO && event->place->kind != REGO_PLACE_EXPR);
    return is_outside ? event->depth - 1 : event->depth;
}

static Str event_line(Arena *arena, const RegoTraceEvent *event)
{
    Buf out;
    buf_init(&out, LINE_SIZE_MAX);
    for (uint32_t i = 0; i < event_indent(event); i++) buf_text(&out, "| ");
    buf_format(&out, "%s ", trace_names[event->kind]);
    if (event->kind == REGO_TRACE_NOTE) buf_format(&out, "\"%.*s\"", STR_ARG(event->message));
    else if (event->kind == REGO_TRACE_INDEX) print_path(&out, event->path, event->path_count);
    else if (event->place->kind == REGO_PLACE_RULE) buf_str(&out, event->place->name);
    else rego_node_print(&out, event->place->node);
    if (event->kind != REGO_TRACE_NOTE && event->message.len) buf_format(&out, " %.*s", STR_ARG(event->message));
    Str line = arena_copy(arena, buf_peek(&out));
    buf_deinit(&out);
    return line;
}

/* Whether the tree speaks of that variable; of a rule its head counts. */
static bool node_has_var(Value node, Str name)
{
    if (node.kind == VALUE_ARRAY) {
        for (uint32_t i = 0; i < node.count; i++)
            if (node_has_var(node.items[i], name)) return true;
        return false;
    }
    if (node.kind != VALUE_OBJECT) return false;
    if (str_is_text(value_get_string(node, "type", (Str){ 0 }), "var"))
        return str_is(value_get_string(node, "value", (Str){ 0 }), name);
    const Value *head = value_get_text(node, "head");
    if (head) return node_has_var(*head, name);
    for (uint32_t i = 0; i < node.count; i++)
        if (node_has_var(node.members[i].value, name)) return true;
    return false;
}

static int by_name(const void *a, const void *b)
{
    return str_compare((*(const TraceLocal *const *)a)->local->name, (*(const TraceLocal *const *)b)->local->name);
}

static Str shown_name(Str name)
{
    return name.len && name.ptr[0] == '$' ? STR("_") : name;
}

static Str short_value(Arena *arena, Value value)
{
    Buf text;                                   /* large values end early: nothing is printed beyond its size */
    buf_init(&text, VALUE_TEXT_SIZE_MAX);
    Str string = value.kind == VALUE_STRING ? value_text(value) : STR("");
    if (value.kind == VALUE_STRING)
        rego_print_quoted(&text, utf8_head(string, VALUE_WIDTH_MAX));
    else if (value_is_number(value)) format_value(&text, value);
    else value_print(&text, value);
    Str whole = buf_peek(&text);
    bool is_long = whole.len > VALUE_WIDTH_MAX;
    Str shown = arena_format(arena, "%.*s%s", STR_ARG(utf8_head(whole, is_long ? VALUE_WIDTH_MAX - 3 : whole.len)),
                             is_long ? "..." : "");
    buf_deinit(&text);
    return shown;
}

static Str values_text(Arena *arena, const TraceEvent *event)
{
    const TraceLocal **locals = ARENA_ARRAY(arena, const TraceLocal *, event->local_count + 1u);
    size_t count = 0;
    for (uint32_t i = 0; event->event.place && i < event->local_count; i++)
        if (node_has_var(event->event.place->node, event->locals[i].local->name)) locals[count++] = &event->locals[i];
    if (count) qsort(locals, count, sizeof *locals, by_name);
    Buf out;
    buf_init(&out, LINE_SIZE_MAX);
    buf_char(&out, '{');
    for (size_t i = 0; i < count; i++) {
        if (i) buf_text(&out, ", ");
        buf_format(&out, "%.*s: %.*s", STR_ARG(shown_name(locals[i]->local->name)),
                   STR_ARG(short_value(arena, locals[i]->value)));
    }
    buf_char(&out, '}');
    Str text = arena_copy(arena, buf_peek(&out));
    buf_deinit(&out);
    return text;
}

void policy_trace_print(const PolicyTrace *trace, const char *margin, bool with_values, Buf *out)
{
    size_t width = 0, line_width = 0;
    Str *places = ARENA_ARRAY(trace->arena, Str, trace->count + 1);
    Str *lines = ARENA_ARRAY(trace->arena, Str, trace->count + 1);
    for (size_t i = 0; i < trace->count; i++) {
        places[i] = event_place(trace->arena, &trace->events[i].event);
        lines[i] = event_line(trace->arena, &trace->events[i].event);
        if (places[i].len > width) width = places[i].len;
        if (lines[i].len > line_width) line_width = lines[i].len;
    }
    for (size_t i = 0; i < trace->count; i++) {
        buf_text(out, margin);
        buf_str(out, places[i]);
        buf_repeat(out, ' ', width - places[i].len + COLUMN_GAP);
        buf_str(out, lines[i]);
        if (with_values) {
            buf_repeat(out, ' ', line_width - lines[i].len + COLUMN_GAP);
            buf_str(out, values_text(trace->arena, &trace->events[i]));
        }
        buf_char(out, '\n');
    }
    policy_trace_print_missing(trace, margin, out);
}

void policy_trace_print_missing(const PolicyTrace *trace, const char *margin, Buf *out)
{
    if (trace->dropped)
        buf_format(out, "%s(%" PRIu64 " further events beyond TRACE_SIZE_MAX (%u bytes))\n", margin, trace->dropped,
                   TRACE_SIZE_MAX);
}

/* --- as JSON ------------------------------------------------------------------------------------------------------ */

static Value term_value(Arena *arena, const char *type, Value value)
{
    MemberList members = { .arena = arena };
    member_list_add(&members, STR("type"), value_string(str_of(type)));
    member_list_add(&members, STR("value"), value);
    return member_list_object(&members);
}

static Value path_value(Arena *arena, const RegoTraceEvent *event)
{
    ValueList list = { .arena = arena };
    value_list_add(&list, term_value(arena, "var", value_string(STR("data"))));
    for (uint32_t i = 0; i < event->path_count; i++)
        value_list_add(&list, term_value(arena, value_kind_name(event->path[i]),
                                         rego_value_to_json(arena, event->path[i])));
    return value_list_array(&list);
}

static Value locals_value(Arena *arena, const TraceEvent *event)
{
    ValueList list = { .arena = arena };
    for (uint32_t i = event->local_count; i-- > 0;) {
        MemberList members = { .arena = arena };
        Value value = event->locals[i].value;
        member_list_add(&members, STR("name"), value_string(shown_name(event->locals[i].local->name)));
        member_list_add(&members, STR("type"), value_string(str_of(value_kind_name(value))));
        member_list_add(&members, STR("value"), rego_value_to_json(arena, value));
        value_list_add(&list, member_list_object(&members));
    }
    return value_list_array(&list);
}

static Value metadata_value(Arena *arena, const TraceEvent *event)
{
    MemberList list = { .arena = arena };
    for (uint32_t i = 0; i < event->local_count; i++) {
        const RegoLocal *local = event->locals[i].local;
        MemberList members = { .arena = arena };
        member_list_add(&members, STR("name"), value_string(local->name));
        member_list_add(&members, STR("location"),
                        local->loc.row ? policy_location_value(arena, event->event.file, local->loc) : value_null());
        member_list_add(&list, local->name, member_list_object(&members));
    }
    return member_list_object(&list);
}

static Value event_value(Arena *arena, const TraceEvent *kept)
{
    const RegoTraceEvent *event = &kept->event;
    bool is_note = event->kind == REGO_TRACE_NOTE;
    MemberList members = { .arena = arena };
    member_list_add(&members, STR("Op"), value_string(str_of(trace_names[event->kind])));
    member_list_add(&members, STR("Node"), is_note ? value_null() : rego_value_to_json(arena, event->place->node));
    member_list_add(&members, STR("Location"), policy_location_value(arena, event->file, event->loc));
    member_list_add(&members, STR("QueryID"), value_int((int64_t)event->query_id));
    member_list_add(&members, STR("ParentID"), value_int((int64_t)event->parent_id));
    member_list_add(&members, STR("Locals"), is_note ? value_null() : locals_value(arena, kept));
    member_list_add(&members, STR("LocalMetadata"), is_note ? value_null() : metadata_value(arena, kept));
    member_list_add(&members, STR("Message"), value_string(event->message));
    member_list_add(&members, STR("Ref"), event->kind == REGO_TRACE_INDEX ? path_value(arena, event) : value_null());
    return member_list_object(&members);
}

Value policy_trace_value(Arena *arena, const PolicyTrace *trace)
{
    ValueList list = { .arena = arena };
    for (size_t i = 0; i < trace->count; i++) value_list_add(&list, event_value(arena, &trace->events[i]));
    return value_list_array(&list);
}
