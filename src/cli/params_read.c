#include "cli/params_read.h"

#include <string.h>

#include "base/limits.h"
#include "ledger/record.h"
#include "value/json.h"

/* --- as typed ------------------------------------------------------------------------------------------------------------- */

static Str declared_type(Value document, Str name)
{
    const Value *params = value_get_text(document, "params");
    for (uint32_t i = 0; params && i < params->count; i++)
        if (str_is(value_get_string(params->items[i], "name", STR("")), name))
            return value_get_string(params->items[i], "type", STR("string"));
    return STR("string");
}

/* A text is taken as it stands; anything else has to be JSON. What is wrong with it the engine says. */
static Value param_value(Arena *arena, Str type, Str text)
{
    Value value;
    Error err;
    if (str_is_text(type, "string") || json_parse(arena, text, &value, &err)) return value_string(text);
    return value;
}

bool params_read(const Args *args, const char *option, const Plan *plan, Value *out)
{
    MemberList members = { .arena = args->arena };
    for (unsigned i = 0; i < args->given_count; i++) {
        const ArgsGiven *given = &args->given[i];
        if (strcmp(given->option->name, option) != 0) continue;
        Str text = str_of(given->value);
        size_t equals = str_find(text, '=', 0);
        if (equals == text.len || equals == 0) {
            print_note("maestro %s: --%s needs NAME=VALUE, and '%s' has none\n", args->command->name, option, given->value);
            return false;
        }
        Str name = str_slice(text, 0, equals);
        Str type = declared_type(plan->document, name);
        member_list_add(&members, name, param_value(args->arena, type, str_slice(text, equals + 1, text.len)));
    }
    *out = member_list_object(&members);
    return true;
}

/* --- of a run ------------------------------------------------------------------------------------------------------------- */

/* The payload of the last event that changed them, out of one record of the run. */
static Status read_record(Arena *arena, const Cell *cells, bool *out_is_found, Value *out, Error *err)
{
    Record record;
    Status status = record_decode_any(arena, cells[LEDGER_record].text, &record, err);
    for (uint32_t i = status ? 0 : record.event_count; i > 0 && !*out_is_found; i--) {
        const Event *event = &record.events[i - 1];
        Str text;
        if (event->kind != EVENT_PARAMS_CHANGED || event->payload == EVENT_NO_PAYLOAD) continue;
        *out_is_found = true;
        status = record_payload(&record, cells[LEDGER_payload].text, event->payload, &text, err);
        return status ? status : json_parse(arena, arena_copy(arena, text), out, err);
    }
    return status;
}

Status params_now(Arena *arena, Store *store, const Cell *row, Value *out, Error *err)
{
    StepRows records;
    bool is_found = false;
    Status status = run_records(arena, store, row, 0, /* has_payloads= */ true, &records, err);
    for (size_t i = status ? 0 : records.count; !status && i > 0 && !is_found; i--)
        status = read_record(arena, records.rows[i - 1], &is_found, out, err);
    if (!status && !is_found) *out = payload_or_null(arena, store, &row[RUNS_params_at]);
    return status;
}

Str params_difference(Arena *arena, Value before, Value edits)
{
    Buf text;
    Error err;
    buf_init(&text, JSON_SIZE_MAX);
    for (uint32_t i = 0; i < edits.count; i++) {
        Str name = value_text(edits.members[i].key);
        const Value *old = value_get(before, name);
        buf_format(&text, "%s%.*s: ", i ? "; " : "", STR_ARG(name));
        if (!old) buf_text(&text, "none");
        else if (json_print(&text, *old, JSON_COMPACT, &err)) buf_text(&text, "?");
        buf_text(&text, " -> ");
        if (json_print(&text, edits.members[i].value, JSON_COMPACT, &err)) buf_text(&text, "?");
    }
    Str result = arena_copy(arena, buf_peek(&text));
    buf_deinit(&text);
    return result;
}
