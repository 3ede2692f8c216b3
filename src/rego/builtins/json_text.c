/* json_text.c - json.marshal, json.marshal_with_options, json.unmarshal and json.is_valid. */
#include <string.h>

#include "base/limits.h"
#include "base/utf8.h"
#include "rego/builtins/json_text.h"
#include "rego/builtins/operand.h"
#include "rego/builtins/runes.h"
#include "rego/builtins/text.h"
#include "value/json.h"

/* --- writing ----------------------------------------------------------------------------------------------------- */

typedef struct Writer {
    BuiltinContext *context;
    Buf *buf;
    bool is_pretty;
    Str prefix, indent;
} Writer;

static void print_escape(Buf *buf, uint32_t rune)
{
    buf_format(buf, "\\u%04x", rune);
}

/* How many bytes from there on are ordinary: most of most texts. */
static size_t plain_size(Str text, size_t at)
{
    size_t end = at;
    for (; end < text.len; end++) {
        char c = text.ptr[end];
        if (c < ' ' || c > '~' || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&') break;
    }
    return end - at;
}

/* Like Go's encoder: <, > and & are escaped so that the text may stand in HTML, U+2028 and U+2029 so that it may in
 * JavaScript; what is no UTF-8 becomes U+FFFD. */
static void print_string(Buf *buf, Str text)
{
    static const char letters[32] = { ['\b'] = 'b', ['\t'] = 't', ['\n'] = 'n', ['\f'] = 'f', ['\r'] = 'r' };
    buf_char(buf, '"');
    for (size_t at = 0, size; at < text.len; at += size) {
        size = plain_size(text, at);
        if (size) {
            buf_bytes(buf, text.ptr + at, size);
            continue;
        }
        uint32_t rune = rune_first(str_slice(text, at, text.len), &size);
        bool is_broken = rune == RUNE_INVALID && size == 1;
        if (rune == '"' || rune == '\\') {
            buf_char(buf, '\\');
            buf_char(buf, (char)rune);
        } else if (rune < 0x20 && letters[rune]) {
            buf_char(buf, '\\');
            buf_char(buf, letters[rune]);
        } else if (rune < 0x20 || rune == '<' || rune == '>' || rune == '&' || rune == 0x2028 || rune == 0x2029
                   || is_broken) {
            print_escape(buf, rune);
        } else {
            buf_bytes(buf, text.ptr + at, size);
        }
    }
    buf_char(buf, '"');
}

static void print_break(const Writer *writer, uint32_t depth)
{
    if (!writer->is_pretty) return;
    buf_char(writer->buf, '\n');
    buf_str(writer->buf, writer->prefix);
    for (uint32_t i = 0; i < depth; i++) buf_str(writer->buf, writer->indent);
}

static void print_value(const Writer *writer, Value value, uint32_t depth);

static void print_items(const Writer *writer, Value list, uint32_t depth)
{
    buf_char(writer->buf, '[');
    for (uint32_t i = 0; i < list.count; i++) {
        if (i) buf_char(writer->buf, ',');
        print_break(writer, depth + 1);
        print_value(writer, list.items[i], depth + 1);
    }
    if (list.count) print_break(writer, depth);
    buf_char(writer->buf, ']');
}

Value json_named_members(Arena *arena, Value object)
{
    bool has_names = true;
    for (uint32_t i = 0; i < object.count; i++) has_names = has_names && object.members[i].key.kind == VALUE_STRING;
    if (has_names) return object;
    Member *members = ARENA_ARRAY(arena, Member, object.count);
    for (uint32_t i = 0; i < object.count; i++) {
        members[i] = object.members[i];
        if (members[i].key.kind == VALUE_STRING) continue;
        Buf name;
        buf_init(&name, REGO_VALUE_SIZE_MAX);
        print_value(&(Writer){ .buf = &name }, members[i].key, 0);
        members[i].key = value_string(arena_copy(arena, buf_peek(&name)));
        buf_deinit(&name);
    }
    return value_object(arena, members, object.count);
}

static void print_members(const Writer *writer, Value object, uint32_t depth)
{
    Arena scratch;
    arena_init(&scratch, SIZE_MAX);
    object = json_named_members(&scratch, object);
    buf_char(writer->buf, '{');
    for (uint32_t i = 0; i < object.count; i++) {
        if (i) buf_char(writer->buf, ',');
        print_break(writer, depth + 1);
        print_string(writer->buf, value_text(object.members[i].key));
        buf_text(writer->buf, writer->is_pretty ? ": " : ":");
        print_value(writer, object.members[i].value, depth + 1);
    }
    if (object.count) print_break(writer, depth);
    buf_char(writer->buf, '}');
    arena_deinit(&scratch);
}

static void print_value(const Writer *writer, Value value, uint32_t depth)
{
    switch ((ValueKind)value.kind) {
    case VALUE_STRING:
        print_string(writer->buf, value_text(value));
        return;
    case VALUE_ARRAY:
    case VALUE_SET:
        print_items(writer, value, depth);
        return;
    case VALUE_OBJECT:
        print_members(writer, value, depth);
        return;
    case VALUE_NULL:
    case VALUE_BOOL:
    case VALUE_INT:
    case VALUE_DECIMAL:
        value_print(writer->buf, value);
        return;
    }
}

void json_text_print(Buf *buf, Value value)
{
    print_value(&(Writer){ .buf = buf }, value, 0);
}

static BuiltinResult marshal(Writer *writer, Value value, Value *out, Error *err)
{
    uint64_t weight;
    if (!builtin_weigh(writer->context, value, &weight, err)) return BUILTIN_HALT;
    Buf buf;
    builtin_text_begin(writer->context, &buf);
    writer->buf = &buf;
    if (writer->is_pretty) buf_str(&buf, writer->prefix);
    print_value(writer, value, 0);
    return builtin_text_end(writer->context, &buf, out, err);
}

BuiltinResult builtin_json_marshal(BuiltinContext *context, const Value *args, Value *out_result, Error *err)
{
    return marshal(&(Writer){ .context = context }, args[0], out_result, err);
}

/* An option of type string, or the refusal in OPA's words. */
static BuiltinResult read_option(const Member *option, Str *out, Error *err)
{
    if (option->value.kind != VALUE_STRING)
        return operand_error(err, 1, "key \"%.*s\" failed cast to string: operand 0 must be string but got %s",
                             STR_ARG(value_text(option->key)), value_kind_name(option->value));
    *out = value_text(option->value);
    return BUILTIN_OK;
}

/* A prefix or an indent asks for line breaks, unless "pretty" says otherwise. */
BuiltinResult builtin_json_marshal_with_options(BuiltinContext *context, const Value *args, Value *out_result,
                                                Error *err)
{
    if (!operand_is(args, 1, &OPERAND_OBJECT, err)) return BUILTIN_TYPE_ERROR;
    Writer writer = { .context = context, .indent = STR("\t") };
    bool wants_pretty = false, says_pretty = false;
    for (uint32_t i = 0; i < args[1].count; i++) {
        const Member *option = &args[1].members[i];
        BuiltinResult result = BUILTIN_OK;
        if (option->key.kind != VALUE_STRING)
            return operand_error(err, 1,
                                 "failed to stringify key %s at index %u: operand 0 must be string but got %s", "", i,
                                 value_kind_name(option->key));
        Str name = value_text(option->key);
        if (str_is(name, STR("pretty"))) {
            if (option->value.kind != VALUE_BOOL) return operand_error(err, 1, "key \"pretty\" failed cast to bool");
            says_pretty = true;
            writer.is_pretty = value_is_true(option->value);
        } else if (str_is(name, STR("indent"))) {
            result = read_option(option, &writer.indent, err);
            wants_pretty = true;
        } else if (str_is(name, STR("prefix"))) {
            result = read_option(option, &writer.prefix, err);
            wants_pretty = true;
        } else {
            return operand_error(err, 1, "object contained unknown key \"%.*s\"", STR_ARG(name));
        }
        if (result) return result;
    }
    if (!says_pretty) writer.is_pretty = wants_pretty;
    return marshal(&writer, args[0], out_result, err);
}

/* --- reading ----------------------------------------------------------------------------------------------------- */

static bool is_surrogate_escape(Str text, size_t at, char low, char high)
{
    if (at + 6 > text.len || text.ptr[at] != '\\' || text.ptr[at + 1] != 'u') return false;
    char third = ascii_to_lower(text.ptr[at + 3]);
    return ascii_to_lower(text.ptr[at + 2]) == 'd' && third >= low && third <= high;
}

/* The reader of JSON refuses what no UTF-8 text can hold. The policy language reads it as U+FFFD: broken bytes, and
 * escaped halves of surrogate pairs. */
static void mend(Buf *buf, Str text)
{
    for (size_t at = 0, size; at < text.len; at += size) {
        if (text.ptr[at] == '\\') {
            bool is_high = is_surrogate_escape(text, at, '8', 'b'), is_low = is_surrogate_escape(text, at, 'c', 'f');
            bool is_pair = is_high && is_surrogate_escape(text, at + 6, 'c', 'f');
            size = is_pair ? 12 : is_high || is_low ? 6 : 2;
            if (is_high != is_pair || is_low) buf_text(buf, "\\ufffd");
            else buf_str(buf, str_slice(text, at, at + size));
            continue;
        }
        uint32_t rune = rune_first(str_slice(text, at, text.len), &size);
        if (rune == RUNE_INVALID) rune_print(buf, rune);
        else buf_bytes(buf, text.ptr + at, size);
    }
}

static BuiltinResult parse(BuiltinContext *context, Str text, Value *out, Error *err)
{
    /* Every byte may become a value and its share of a container. */
    if (!builtin_spend(context, text.len / 4, err) || !builtin_fits(context, text.len, err)) return BUILTIN_HALT;
    Error why;
    Status status = json_parse(context->arena, text, out, &why);
    if (status == OK) return BUILTIN_OK;
    char reason[128];
    Buf buf = buf_on(reason, sizeof reason - 1);
    if (status == ERR_LIMIT) return builtin_limit(err, "%s", why.text);
    if (!json_explain(&buf, text)) return builtin_error(err, "%s", why.text);
    reason[buf.len] = '\0';
    return builtin_error(err, "%s", reason);
}

BuiltinResult json_text_parse(BuiltinContext *context, Str text, Value *out_value, Error *err)
{
    bool is_sound = utf8_valid_size(text) == text.len && text_find(text, STR("\\ud"), 0) > text.len
                 && text_find(text, STR("\\uD"), 0) > text.len;
    if (is_sound) return parse(context, text, out_value, err);
    Buf mended;
    buf_init(&mended, REGO_VALUE_SIZE_MAX);
    mend(&mended, text);
    BuiltinResult result = parse(context, buf_peek(&mended), out_value, err);
    buf_deinit(&mended);
    return result;
}

BuiltinResult builtin_json_unmarshal(BuiltinContext *context, const Value *args, Value *out_result, Error *err)
{
    Str text;
    if (!operand_string(args, 0, &text, err)) return BUILTIN_TYPE_ERROR;
    return json_text_parse(context, text, out_result, err);
}

BuiltinResult builtin_json_is_valid(BuiltinContext *context, const Value *args, Value *out_result, Error *err)
{
    Value ignored;
    BuiltinResult result = BUILTIN_ERROR;
    if (args[0].kind == VALUE_STRING) result = json_text_parse(context, value_text(args[0]), &ignored, err);
    if (result == BUILTIN_HALT) return result;
    *out_result = value_bool(result == BUILTIN_OK);
    return BUILTIN_OK;
}
