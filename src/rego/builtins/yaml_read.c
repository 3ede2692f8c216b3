/* yaml.unmarshal and yaml.is_valid, and the reader that they share with whoever else has YAML. */
#include "rego/builtins/yaml_read.h"

#include <yaml.h>

#include "base/limits.h"
#include "rego/builtins/float_text.h"
#include "rego/builtins/operand.h"
#include "rego/builtins/text.h"
#include "rego/builtins/yaml_scalar.h"
#include "value/number.h"

#define EVENT_STEPS 4u               /* for what libyaml finds next: a scalar, the begin or end of a container */

typedef struct YamlReader {
    BuiltinContext *context;
    Error *err;
    yaml_parser_t parser;
    yaml_event_t event;                     /* the present one */
    bool has_event;
    bool as_written;                        /* metadata: numbers keep the text they have, where JSON knows it */
    MemberList anchors;                     /* by name; later ones hide earlier ones */
} YamlReader;

static BuiltinResult read_node(YamlReader *reader, uint32_t depth, Value *out);

/* --- events ------------------------------------------------------------------------------------------------------ */

/* The place is given as Go's reader gives it: by the line where the context began, and not at all for the first
 * line. */
static BuiltinResult refuse_syntax(YamlReader *reader)
{
    const yaml_parser_t *parser = &reader->parser;
    size_t line = parser->context_mark.line ? parser->context_mark.line : parser->problem_mark.line;
    if (line && parser->error == YAML_SCANNER_ERROR) line++;
    const char *problem = parser->problem ? parser->problem : "unknown problem parsing YAML content";
    if (line) return builtin_error(reader->err, "yaml: line %zu: %s", line, problem);
    return builtin_error(reader->err, "yaml: %s", problem);
}

static BuiltinResult next_event(YamlReader *reader)
{
    if (reader->has_event) yaml_event_delete(&reader->event);
    reader->has_event = false;
    if (!builtin_spend(reader->context, EVENT_STEPS, reader->err)) return BUILTIN_HALT;
    if (!yaml_parser_parse(&reader->parser, &reader->event)) return refuse_syntax(reader);
    reader->has_event = true;
    return BUILTIN_OK;
}

static Str text_of(const yaml_char_t *text)
{
    return str_of((const char *)text);
}

static Str scalar_text(const yaml_event_t *event)
{
    return (Str){ (const char *)event->data.scalar.value, event->data.scalar.length };
}

/* Neither quoted nor tagged: what it means is up to its text. */
static bool is_plain_scalar(const yaml_event_t *event)
{
    return event->type == YAML_SCALAR_EVENT && event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE
        && !event->data.scalar.tag;
}

/* --- anchors ----------------------------------------------------------------------------------------------------- */

static void remember(YamlReader *reader, Str anchor, Value value)
{
    if (anchor.len) member_list_add(&reader->anchors, arena_copy(reader->context->arena, anchor), value);
}

/* An alias shares the value, but whoever walks over it walks again: its weight is spent each time it is named. */
static BuiltinResult read_alias(YamlReader *reader, Value *out)
{
    Str name = text_of(reader->event.data.alias.anchor);
    uint64_t weight;
    for (size_t i = reader->anchors.count; i--;) {
        if (!str_is(value_text(reader->anchors.members[i].key), name)) continue;
        *out = reader->anchors.members[i].value;
        return builtin_weigh(reader->context, *out, &weight, reader->err) ? BUILTIN_OK : BUILTIN_HALT;
    }
    return builtin_error(reader->err, "yaml: unknown anchor '%.*s' referenced", STR_ARG(name));
}

/* --- scalars ----------------------------------------------------------------------------------------------------- */

static Value number_value(YamlReader *reader, const YamlScalar *scalar)
{
    char storage[512];
    Buf text = buf_on(storage, sizeof storage);
    if (scalar->kind == YAML_FLOAT) {
        yaml_print_double(&text, scalar->real);
    } else {
        if (scalar->negative && scalar->magnitude) buf_char(&text, '-');
        buf_u64(&text, scalar->magnitude);
    }
    return number_make(reader->context->arena, buf_peek(&text));
}

static BuiltinResult scalar_value(YamlReader *reader, Str text, const YamlScalar *scalar, Value *out)
{
    switch (scalar->kind) {
    case YAML_NULL:
        *out = value_null();
        return BUILTIN_OK;
    case YAML_BOOL:
        *out = value_bool(scalar->truth);
        return BUILTIN_OK;
    case YAML_INTEGER:
    case YAML_FLOAT:
        if (reader->as_written && number_check(text, NULL) == OK) {
            *out = number_make(reader->context->arena, text);
            return BUILTIN_OK;
        }
        if (scalar->kind == YAML_FLOAT && !float_spend(reader->context, scalar->real, reader->err)) return BUILTIN_HALT;
        *out = number_value(reader, scalar);
        return BUILTIN_OK;
    case YAML_NO_NUMBER:
        return builtin_error(reader->err, "json: unsupported value: %s",
                             ascii_to_lower(text.ptr[text.len - 1]) == 'n' ? "NaN"
                             : text.ptr[0] == '-'                          ? "-Inf" : "+Inf");
    case YAML_TEXT:
    case YAML_TIME:
        break;
    }
    *out = value_string(arena_copy(reader->context->arena, text));
    return BUILTIN_OK;
}

/* A tag asks for a type: the text has to be of it. */
static BuiltinResult tagged_value(YamlReader *reader, Str text, Str type, Value *out)
{
    YamlScalar scalar = yaml_resolve(text);
    static const struct { const char *tag; uint32_t kinds; } tags[] = {
        { "int", 1u << YAML_INTEGER }, { "float", 1u << YAML_INTEGER | 1u << YAML_FLOAT | 1u << YAML_NO_NUMBER },
        { "bool", 1u << YAML_BOOL },   { "null", 1u << YAML_NULL },
    };
    for (size_t i = 0; i < sizeof tags / sizeof tags[0]; i++) {
        if (!str_is_text(type, tags[i].tag)) continue;
        if (tags[i].kinds & 1u << scalar.kind) return scalar_value(reader, text, &scalar, out);
        return builtin_error(reader->err, "yaml: cannot decode !!str `%.*s` as a !!%s", STR_ARG(text), tags[i].tag);
    }
    *out = value_string(arena_copy(reader->context->arena, text));
    if (!str_is_text(type, "binary")) return BUILTIN_OK;
    Value encoded = *out;
    if (builtin_base64_decode(reader->context, &encoded, out, reader->err) == BUILTIN_OK) return BUILTIN_OK;
    return builtin_error(reader->err, "yaml: !!binary value contains invalid base64 data");
}

static BuiltinResult read_scalar(YamlReader *reader, Value *out)
{
    Str text = scalar_text(&reader->event);
    Str tag = text_of(reader->event.data.scalar.tag), core = STR("tag:yaml.org,2002:");
    if (!builtin_spend(reader->context, text.len / REGO_BYTES_PER_STEP, reader->err)) return BUILTIN_HALT;
    if (str_starts(tag, core)) return tagged_value(reader, text, str_slice(tag, core.len, tag.len), out);
    YamlScalar scalar = { .kind = YAML_TEXT };
    if (is_plain_scalar(&reader->event)) scalar = yaml_resolve(text);
    return scalar_value(reader, text, &scalar, out);
}

/* --- containers -------------------------------------------------------------------------------------------------- */

static BuiltinResult read_sequence(YamlReader *reader, uint32_t depth, Value *out)
{
    ValueList items = { .arena = reader->context->arena };
    for (;;) {
        BuiltinResult result = next_event(reader);
        if (result) return result;
        if (reader->event.type == YAML_SEQUENCE_END_EVENT) break;
        Value item;
        result = read_node(reader, depth, &item);
        if (result) return result;
        if (!builtin_list_add(reader->context, &items, item, reader->err)) return BUILTIN_HALT;
    }
    *out = value_list_array(&items);
    return BUILTIN_OK;
}

/* Keys of JSON are strings: numbers and booleans are written out, floats in a notation of their own (1e+08); nothing
 * else is a key. */
static BuiltinResult read_key(YamlReader *reader, uint32_t depth, Str *out)
{
    Buf text;
    buf_init(&text, REGO_VALUE_SIZE_MAX);
    YamlScalar scalar = { .kind = YAML_TEXT };
    if (is_plain_scalar(&reader->event)) scalar = yaml_resolve(scalar_text(&reader->event));
    Value key = value_null();
    BuiltinResult result = BUILTIN_OK;
    if (scalar.kind == YAML_FLOAT) {
        float_format(&text, scalar.real, 'g', -1);
        *out = arena_copy(reader->context->arena, str_slice(buf_peek(&text), !scalar.real.negative, text.len));
    } else {
        result = read_node(reader, depth, &key);
        bool is_scalar = key.kind == VALUE_STRING || key.kind == VALUE_BOOL || value_is_number(key);
        if (!result && key.kind == VALUE_NULL)
            result = builtin_error(reader->err, "unsupported map key of type: %%!s(<nil>), key: <nil>");
        else if (!result && !is_scalar)
            result = builtin_error(reader->err, "yaml: invalid map key: %s", value_kind_name(key));
        if (!result && key.kind != VALUE_STRING) value_print(&text, key);
        if (!result)
            *out = key.kind == VALUE_STRING ? value_text(key) : arena_copy(reader->context->arena, buf_peek(&text));
    }
    buf_deinit(&text);
    return result;
}

/* What "<<" brings in stands before the mapping's own members, so that those win; of several mappings the first
 * wins. */
static BuiltinResult merge_into(YamlReader *reader, Value value, MemberList *merged)
{
    if (value.kind == VALUE_ARRAY) {
        for (uint32_t i = value.count; i--;) {
            BuiltinResult result = value.items[i].kind == VALUE_OBJECT
                                 ? merge_into(reader, value.items[i], merged)
                                 : builtin_error(reader->err,
                                                 "yaml: map merge requires map or sequence of maps as the value");
            if (result) return result;
        }
        return BUILTIN_OK;
    }
    if (value.kind != VALUE_OBJECT)
        return builtin_error(reader->err, "yaml: map merge requires map or sequence of maps as the value");
    if (!builtin_spend(reader->context, value.count, reader->err)) return BUILTIN_HALT;
    for (uint32_t i = 0; i < value.count; i++)
        member_list_add(merged, value_text(value.members[i].key), value.members[i].value);
    return BUILTIN_OK;
}

/* Metadata may not name a member twice; documents may, and the last one counts. */
static BuiltinResult refuse_twice(YamlReader *reader, const MemberList *own, const ValueList *lines, Str name, size_t line)
{
    if (!reader->as_written) return BUILTIN_OK;
    if (!builtin_spend(reader->context, own->count / 8, reader->err)) return BUILTIN_HALT;
    for (size_t i = 0; i < own->count; i++)
        if (str_is(value_text(own->members[i].key), name))
            return builtin_error(reader->err, "yaml: unmarshal errors:\n  line %zu: mapping key \"%.*s\" already defined at "
                                 "line %lld", line, STR_ARG(name), (long long)lines->items[i].integer);
    return BUILTIN_OK;
}

static BuiltinResult read_mapping(YamlReader *reader, uint32_t depth, Value *out)
{
    Arena *arena = reader->context->arena;
    MemberList own = { .arena = arena }, merged = { .arena = arena };
    ValueList lines = { .arena = arena };
    for (;;) {
        BuiltinResult result = next_event(reader);
        if (result) return result;
        if (reader->event.type == YAML_MAPPING_END_EVENT) break;
        size_t line = reader->event.start_mark.line + 1;
        bool is_merge = is_plain_scalar(&reader->event) && str_is(scalar_text(&reader->event), STR("<<"));
        Value value;
        Str name;
        result = read_key(reader, depth, &name);
        if (!result && !is_merge) result = refuse_twice(reader, &own, &lines, name, line);
        if (!result) result = next_event(reader);
        if (!result) result = read_node(reader, depth, &value);
        if (!result && is_merge) result = merge_into(reader, value, &merged);
        if (result) return result;
        if (is_merge) continue;
        member_list_add(&own, name, value);
        if (reader->as_written) value_list_add(&lines, value_int((int64_t)line));
    }
    for (size_t i = 0; i < own.count; i++)
        member_list_add(&merged, value_text(own.members[i].key), own.members[i].value);
    *out = member_list_object(&merged);
    return BUILTIN_OK;
}

/* The node whose first event is the present one. */
static BuiltinResult read_node(YamlReader *reader, uint32_t depth, Value *out)
{
    if (depth > JSON_DEPTH_MAX)
        return builtin_limit(reader->err, "yaml: the text nests deeper than JSON_DEPTH_MAX (%u)", JSON_DEPTH_MAX);
    yaml_event_type_t type = reader->event.type;
    if (type == YAML_ALIAS_EVENT) return read_alias(reader, out);
    if (type == YAML_SCALAR_EVENT) {
        BuiltinResult result = read_scalar(reader, out);
        if (!result) remember(reader, text_of(reader->event.data.scalar.anchor), *out);
        return result;
    }
    bool is_sequence = type == YAML_SEQUENCE_START_EVENT;
    const yaml_char_t *name = is_sequence ? reader->event.data.sequence_start.anchor
                                          : reader->event.data.mapping_start.anchor;
    Str anchor = name ? arena_copy(reader->context->arena, text_of(name)) : STR("");
    BuiltinResult result = (is_sequence ? read_sequence : read_mapping)(reader, depth + 1, out);
    if (!result) remember(reader, anchor, *out);
    return result;
}

/* What follows the first document is not kept, but has to be YAML; another document has to say that it begins. */
static BuiltinResult check_rest(YamlReader *reader)
{
    while (reader->event.type != YAML_STREAM_END_EVENT) {
        BuiltinResult result = next_event(reader);
        if (result) return result;
        const yaml_event_t *event = &reader->event;
        if (event->type != YAML_DOCUMENT_START_EVENT || !event->data.document_start.implicit) continue;
        if (event->start_mark.line == 0) return builtin_error(reader->err, "yaml: did not find expected <document start>");
        return builtin_error(reader->err, "yaml: line %zu: did not find expected <document start>", event->start_mark.line);
    }
    return BUILTIN_OK;
}

/* The stream's and the document's beginning, then its node; an empty stream is null. */
static BuiltinResult read_document(YamlReader *reader, Value *out)
{
    for (;;) {
        BuiltinResult result = next_event(reader);
        if (result) return result;
        yaml_event_type_t type = reader->event.type;
        if (type == YAML_STREAM_END_EVENT) {
            *out = value_null();
            return BUILTIN_OK;
        }
        if (type == YAML_STREAM_START_EVENT || type == YAML_DOCUMENT_START_EVENT) continue;
        result = read_node(reader, 0, out);
        return result ? result : check_rest(reader);
    }
}

/* The place of the event that was refused, or of the text that is no event at all. */
static yaml_mark_t place_of(const YamlReader *reader)
{
    if (reader->has_event) return reader->event.start_mark;
    return reader->parser.error ? reader->parser.problem_mark : reader->parser.mark;
}

static BuiltinResult parse(BuiltinContext *context, Str text, bool as_written, Value *out, yaml_mark_t *out_place,
                           Error *err)
{
    YamlReader reader = { .context = context, .err = err, .as_written = as_written,
                          .anchors = { .arena = context->arena } };
    if (!builtin_fits(context, text.len, err)) return BUILTIN_HALT;
    if (!yaml_parser_initialize(&reader.parser)) return builtin_error(err, "yaml: out of memory");
    if (!text.len) text = STR("");          /* libyaml permits no null pointer */
    yaml_parser_set_input_string(&reader.parser, (const unsigned char *)text.ptr, text.len);
    BuiltinResult result = read_document(&reader, out);
    *out_place = place_of(&reader);
    if (reader.has_event) yaml_event_delete(&reader.event);
    yaml_parser_delete(&reader.parser);
    return result;
}

static Status value_read(Arena *arena, Str text, bool as_written, Value *out_value, Error *err)
{
    /* A node is an event and an item, and a container one event more; long scalars are paid by their size. */
    uint64_t steps = (1 + 2 * EVENT_STEPS) * (uint64_t)REGO_YAML_NODE_COUNT_MAX + text.len / REGO_BYTES_PER_STEP;
    BuiltinContext context = { .arena = arena, .arena_size_max = SIZE_MAX, .steps_left = &steps, .step_count_max = steps };
    yaml_mark_t place = { 0 };
    if (text.len > REGO_VALUE_SIZE_MAX)
        return error_set(err, ERR_LIMIT, "a YAML text exceeds REGO_VALUE_SIZE_MAX (%u bytes)", REGO_VALUE_SIZE_MAX);
    BuiltinResult result = parse(&context, text, as_written, out_value, &place, err);
    if (result == BUILTIN_OK) return OK;
    uint32_t line = (uint32_t)place.line + 1, column = (uint32_t)place.column + 1;
    if (result == BUILTIN_HALT && steps == 0)
        return error_at(err, ERR_LIMIT, line, column, "the YAML text has more nodes than REGO_YAML_NODE_COUNT_MAX (%u)",
                        REGO_YAML_NODE_COUNT_MAX);
    err->line = line;
    err->column = column;
    return err->status;
}

Status yaml_value_read(Arena *arena, Str text, Value *out_value, Error *err)
{
    return value_read(arena, text, /* as_written= */ false, out_value, err);
}

Status yaml_metadata_read(Arena *arena, Str text, Value *out_value, Error *err)
{
    return value_read(arena, text, /* as_written= */ true, out_value, err);
}

BuiltinResult builtin_yaml_unmarshal(BuiltinContext *context, const Value *args, Value *out_result, Error *err)
{
    Str text;
    if (!operand_string(args, 0, &text, err)) return BUILTIN_TYPE_ERROR;
    yaml_mark_t place;
    return parse(context, text, /* as_written= */ false, out_result, &place, err);
}

BuiltinResult builtin_yaml_is_valid(BuiltinContext *context, const Value *args, Value *out_result, Error *err)
{
    Value ignored;
    BuiltinResult result = BUILTIN_ERROR;
    yaml_mark_t place;
    if (args[0].kind == VALUE_STRING) result = parse(context, value_text(args[0]), false, &ignored, &place, err);
    if (result == BUILTIN_HALT) return result;
    *out_result = value_bool(result == BUILTIN_OK);
    return BUILTIN_OK;
}
