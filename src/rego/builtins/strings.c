/* strings.c - searching, cutting, joining and replacing. Results that are parts of an operand share its bytes. */
#include <string.h>

#include "base/limits.h"
#include "base/utf8.h"
#include "rego/builtins/operand.h"
#include "rego/builtins/runes.h"

static bool spend_text(BuiltinContext *context, Str text, Error *err)
{
    return builtin_spend(context, text.len / REGO_BYTES_PER_STEP, err);
}

/* The first `count` operands as texts, their size spent. */
static BuiltinResult read_texts(BuiltinContext *context, const Value *args, uint32_t count, Str *out_texts, Error *err)
{
    for (uint32_t i = 0; i < count; i++)
        if (!operand_string(args, i, &out_texts[i], err)) return BUILTIN_TYPE_ERROR;
    for (uint32_t i = 0; i < count; i++)
        if (!spend_text(context, out_texts[i], err)) return BUILTIN_HALT;
    return BUILTIN_OK;
}

/* Every character mapped; what is no UTF-8 becomes U+FFFD. */
static BuiltinResult map_runes(BuiltinContext *context, uint32_t (*map)(uint32_t), Str text, Value *out, Error *err)
{
    Buf buf;
    builtin_text_begin(context, &buf);
    for (size_t at = 0, size; at < text.len; at += size) {
        uint32_t rune = map(rune_first(str_slice(text, at, text.len), &size));
        if (rune < 0x80) buf_char(&buf, (char)rune);
        else rune_print(&buf, rune);
    }
    return builtin_text_end(context, &buf, out, err);
}

static uint32_t rune_itself(uint32_t rune)
{
    return rune;
}

/* --- searching --------------------------------------------------------------------------------------------------- */

typedef bool (*TextQuestion)(Str text, Str part);

static bool text_contains(Str text, Str part)
{
    return text_find(text, part, 0) <= text.len;
}

static BuiltinResult ask(BuiltinContext *context, TextQuestion question, const Value *args, Value *out, Error *err)
{
    Str texts[2];
    BuiltinResult result = read_texts(context, args, 2, texts, err);
    if (!result) *out = value_bool(question(texts[0], texts[1]));
    return result;
}

BuiltinResult builtin_contains(BuiltinContext *context, const Value *args, Value *out_result, Error *err)
{
    return ask(context, text_contains, args, out_result, err);
}

BuiltinResult builtin_startswith(BuiltinContext *context, const Value *args, Value *out_result, Error *err)
{
    return ask(context, str_starts, args, out_result, err);
}

BuiltinResult builtin_endswith(BuiltinContext *context, const Value *args, Value *out_result, Error *err)
{
    return ask(context, str_ends, args, out_result, err);
}

BuiltinResult builtin_indexof(BuiltinContext *context, const Value *args, Value *out_result, Error *err)
{
    Str texts[2];
    BuiltinResult result = read_texts(context, args, 2, texts, err);
    if (result) return result;
    if (texts[1].len == 0) return builtin_error(err, "empty search character");
    size_t at = text_find(texts[0], texts[1], 0);
    *out_result = value_int(at > texts[0].len ? -1 : (int64_t)runes_count(str_slice(texts[0], 0, at)));
    return BUILTIN_OK;
}

/* Places may overlap: "aa" is twice in "aaa". */
BuiltinResult builtin_indexof_n(BuiltinContext *context, const Value *args, Value *out_result, Error *err)
{
    Str texts[2];
    BuiltinResult result = read_texts(context, args, 2, texts, err);
    if (result) return result;
    if (texts[1].len == 0) return builtin_error(err, "empty search character");
    ValueList places = { .arena = context->arena };
    size_t index = 0, counted = 0, size;
    for (size_t at = 0; (at = text_find(texts[0], texts[1], at)) <= texts[0].len; at += size) {
        index += runes_count(str_slice(texts[0], counted, at));
        counted = at;
        if (!builtin_list_add(context, &places, value_int((int64_t)index), err)) return BUILTIN_HALT;
        rune_first(str_slice(texts[0], at, texts[0].len), &size);
    }
    *out_result = value_list_array(&places);
    return BUILTIN_OK;
}

/* The empty text is once before each character, and once at the end. */
BuiltinResult builtin_strings_count(BuiltinContext *context, const Value *args, Value *out_result, Error *err)
{
    Str texts[2];
    BuiltinResult result = read_texts(context, args, 2, texts, err);
    if (result) return result;
    int64_t count = 0;
    if (texts[1].len == 0) {
        count = (int64_t)runes_count(texts[0]) + 1;
    } else {
        for (size_t at = 0; (at = text_find(texts[0], texts[1], at)) <= texts[0].len; at += texts[1].len) count++;
    }
    *out_result = value_int(count);
    return BUILTIN_OK;
}

/* --- cutting ----------------------------------------------------------------------------------------------------- */

BuiltinResult builtin_substring(BuiltinContext *context, const Value *args, Value *out_result, Error *err)
{
    Str text;
    int64_t offset, length;
    if (!operand_string(args, 0, &text, err) || !operand_int(args, 1, "number", &offset, err)
        || !operand_int(args, 2, "number", &length, err))
        return BUILTIN_TYPE_ERROR;
    if (offset < 0) return builtin_error(err, "negative offset");
    if (!spend_text(context, text, err)) return BUILTIN_HALT;
    Str rest = str_slice(text, runes_offset(text, (size_t)offset), text.len);
    if (length >= 0) rest = str_slice(rest, 0, runes_offset(rest, (size_t)length));
    if (utf8_valid_size(rest) < rest.len) return map_runes(context, rune_itself, rest, out_result, err);
    *out_result = value_string(rest);
    return BUILTIN_OK;
}

static bool set_has_rune(Str set, uint32_t rune)
{
    for (size_t at = 0, size; at < set.len; at += size)
        if (rune_first(str_slice(set, at, set.len), &size) == rune) return true;
    return false;
}

static Str trim_left(Str text, Str set)
{
    while (text.len) {
        size_t size;
        if (!set_has_rune(set, rune_first(text, &size))) break;
        text = str_slice(text, size, text.len);
    }
    return text;
}

static Str trim_right(Str text, Str set)
{
    while (text.len) {
        size_t size;
        if (!set_has_rune(set, rune_last(text, &size))) break;
        text.len -= size;
    }
    return text;
}

static Str trim_both(Str text, Str set)
{
    return trim_right(trim_left(text, set), set);
}

static Str trim_prefix(Str text, Str prefix)
{
    return str_starts(text, prefix) ? str_slice(text, prefix.len, text.len) : text;
}

static Str trim_suffix(Str text, Str suffix)
{
    return str_ends(text, suffix) ? str_slice(text, 0, text.len - suffix.len) : text;
}

typedef Str (*Trimming)(Str text, Str part);

static BuiltinResult trim(BuiltinContext *context, Trimming trimming, const Value *args, Value *out, Error *err)
{
    Str texts[2];
    BuiltinResult result = read_texts(context, args, 2, texts, err);
    if (result) return result;
    if (!builtin_spend(context, (uint64_t)texts[0].len * texts[1].len / REGO_BYTES_PER_STEP, err))
        return BUILTIN_HALT;
    *out = value_string(trimming(texts[0], texts[1]));
    return BUILTIN_OK;
}

#define TRIM(function, trimming) \
    BuiltinResult function(BuiltinContext *context, const Value *args, Value *out_result, Error *err) \
    { \
        return trim(context, trimming, args, out_result, err); \
    }

TRIM(builtin_trim, trim_both)
TRIM(builtin_trim_left, trim_left)
TRIM(builtin_trim_right, trim_right)
TRIM(builtin_trim_prefix, trim_prefix)
TRIM(builtin_trim_suffix, trim_suffix)

BuiltinResult builtin_trim_space(BuiltinContext *context, const Value *args, Value *out_result, Error *err)
{
    Str text;
    BuiltinResult result = read_texts(context, args, 1, &text, err);
    if (result) return result;
    size_t size;
    while (text.len && rune_is_space(rune_first(text, &size))) text = str_slice(text, size, text.len);
    while (text.len && rune_is_space(rune_last(text, &size))) text.len -= size;
    *out_result = value_string(text);
    return BUILTIN_OK;
}

/* Without a delimiter the parts are the characters. */
static BuiltinResult split(BuiltinContext *context, Str text, Str delimiter, ValueList *parts, Error *err)
{
    size_t at = 0;
    while (delimiter.len ? at <= text.len : at < text.len) {
        size_t end, next;
        if (delimiter.len) {
            end = text_find(text, delimiter, at);
            if (end > text.len) end = text.len;
            next = end + delimiter.len;
            if (end == text.len) next = text.len + 1;
        } else {
            rune_first(str_slice(text, at, text.len), &next);
            next += at;
            end = next;
        }
        if (!builtin_list_add(context, parts, value_string(str_slice(text, at, end)), err)) return BUILTIN_HALT;
        at = next;
    }
    return BUILTIN_OK;
}

BuiltinResult builtin_split(BuiltinContext *context, const Value *args, Value *out_result, Error *err)
{
    Str texts[2];
    ValueList parts = { .arena = context->arena };
    BuiltinResult result = read_texts(context, args, 2, texts, err);
    if (!result) result = split(context, texts[0], texts[1], &parts, err);
    if (!result) *out_result = value_list_array(&parts);
    return result;
}

/* The first n parts, or the last ones where n is negative. */
BuiltinResult builtin_strings_split_n(BuiltinContext *context, const Value *args, Value *out_result, Error *err)
{
    Str texts[2];
    int64_t wanted;
    ValueList parts = { .arena = context->arena };
    BuiltinResult result = read_texts(context, args, 2, texts, err);
    if (result) return result;
    if (!operand_int(args, 2, "number", &wanted, err)) return BUILTIN_TYPE_ERROR;
    result = split(context, texts[0], texts[1], &parts, err);
    if (result) return result;
    uint64_t count = wanted < 0 ? 0 - (uint64_t)wanted : (uint64_t)wanted;
    if (count > parts.count) count = parts.count;
    *out_result = value_array(parts.items + (wanted < 0 ? parts.count - count : 0), (uint32_t)count);
    return BUILTIN_OK;
}

/* --- joining and mapping ----------------------------------------------------------------------------------------- */

BuiltinResult builtin_concat(BuiltinContext *context, const Value *args, Value *out_result, Error *err)
{
    Str delimiter;
    if (!operand_string(args, 0, &delimiter, err) || !operand_is(args, 1, &OPERAND_SET_OR_ARRAY, err)
        || !operand_of_strings(args, 1, err))
        return BUILTIN_TYPE_ERROR;
    if (!builtin_spend(context, args[1].count, err)) return BUILTIN_HALT;
    Buf buf;
    builtin_text_begin(context, &buf);
    for (uint32_t i = 0; i < args[1].count; i++) {
        if (i) buf_str(&buf, delimiter);
        buf_str(&buf, value_text(args[1].items[i]));
    }
    return builtin_text_end(context, &buf, out_result, err);
}

BuiltinResult builtin_lower(BuiltinContext *context, const Value *args, Value *out_result, Error *err)
{
    Str text;
    BuiltinResult result = read_texts(context, args, 1, &text, err);
    return result ? result : map_runes(context, rune_to_lower, text, out_result, err);
}

BuiltinResult builtin_upper(BuiltinContext *context, const Value *args, Value *out_result, Error *err)
{
    Str text;
    BuiltinResult result = read_texts(context, args, 1, &text, err);
    return result ? result : map_runes(context, rune_to_upper, text, out_result, err);
}

BuiltinResult builtin_strings_reverse(BuiltinContext *context, const Value *args, Value *out_result, Error *err)
{
    Str text;
    BuiltinResult result = read_texts(context, args, 1, &text, err);
    if (result) return result;
    if (!spend_text(context, text, err)) return BUILTIN_HALT;
    char *reversed = builtin_alloc(context, text.len, err);
    if (!reversed) return BUILTIN_HALT;
    for (size_t at = 0, size; at < text.len; at += size) {
        rune_first(str_slice(text, at, text.len), &size);
        memcpy(reversed + text.len - at - size, text.ptr + at, size);
    }
    *out_result = value_string((Str){ reversed, text.len });
    return BUILTIN_OK;
}

/* --- replacing --------------------------------------------------------------------------------------------------- */

/* The empty text is found before each byte (not: character) and at the end, as OPA has it. */
BuiltinResult builtin_replace(BuiltinContext *context, const Value *args, Value *out_result, Error *err)
{
    Str texts[3];
    BuiltinResult result = read_texts(context, args, 3, texts, err);
    if (result) return result;
    Str text = texts[0], old = texts[1];
    Buf buf;
    builtin_text_begin(context, &buf);
    size_t copied = 0;
    for (size_t at = 0; (at = text_find(text, old, at)) <= text.len && !buf_overflowed(&buf);) {
        buf_str(&buf, str_slice(text, copied, at));
        buf_str(&buf, texts[2]);
        copied = at + old.len;
        at += old.len ? old.len : 1;
    }
    buf_str(&buf, str_slice(text, copied, text.len));
    return builtin_text_end(context, &buf, out_result, err);
}

/* Patterns lie sorted, so those that begin with one byte lie side by side: from[byte] .. from[byte + 1]. */
typedef struct Patterns {
    const Member *members;
    bool has_empty;                     /* it is the first then */
    uint32_t from[257];
} Patterns;

static void patterns_index(Patterns *patterns, Value object)
{
    *patterns = (Patterns){ .members = object.members };
    patterns->has_empty = object.count && object.members[0].key.count == 0;
    uint32_t at = patterns->has_empty;
    for (uint32_t byte = 0; byte < 256; byte++) {
        patterns->from[byte] = at;
        while (at < object.count && (unsigned char)object.members[at].key.text[0] == byte) at++;
    }
    patterns->from[256] = at;
}

/* The first pattern, in their order, that the text goes on with. */
static const Member *patterns_match(const Patterns *patterns, Str rest, bool may_be_empty)
{
    if (patterns->has_empty && may_be_empty) return &patterns->members[0];
    if (rest.len == 0) return NULL;
    unsigned char byte = (unsigned char)rest.ptr[0];
    for (uint32_t i = patterns->from[byte]; i < patterns->from[byte + 1]; i++)
        if (str_starts(rest, value_text(patterns->members[i].key))) return &patterns->members[i];
    return NULL;
}

BuiltinResult builtin_strings_replace_n(BuiltinContext *context, const Value *args, Value *out_result, Error *err)
{
    if (!operand_is(args, 0, &OPERAND_OBJECT, err)) return BUILTIN_TYPE_ERROR;
    for (uint32_t i = 0; i < args[0].count; i++) {
        if (args[0].members[i].key.kind != VALUE_STRING)
            return operand_error(err, 0, "non-string key found in pattern object");
        if (args[0].members[i].value.kind != VALUE_STRING)
            return operand_error(err, 0, "non-string value found in pattern object");
    }
    Str text;
    if (!operand_string(args, 1, &text, err)) return BUILTIN_TYPE_ERROR;
    if (!builtin_spend(context, text.len + args[0].count, err)) return BUILTIN_HALT;

    Patterns patterns;
    patterns_index(&patterns, args[0]);
    Buf buf;
    builtin_text_begin(context, &buf);
    bool was_empty = false;
    for (size_t at = 0; at <= text.len && !buf_overflowed(&buf);) {
        const Member *match = patterns_match(&patterns, str_slice(text, at, text.len), !was_empty);
        was_empty = match && match->key.count == 0;
        if (match) {
            buf_str(&buf, value_text(match->value));
            at += match->key.count;
            if (was_empty) continue;            /* what else begins here? */
        } else {
            if (at < text.len) buf_char(&buf, text.ptr[at]);
            at++;
        }
    }
    return builtin_text_end(context, &buf, out_result, err);
}

/* --- many at once ------------------------------------------------------------------------------------------------ */

/* The texts of an operand, sorted; mirrored where ends are to be compared, so that a suffix becomes a prefix. */
static BuiltinResult sorted_texts(BuiltinContext *context, const Value *args, uint32_t index, bool mirrored, Value *out,
                                  Error *err)
{
    static const OperandType texts = { KIND(VALUE_STRING) | KIND(VALUE_SET) | KIND(VALUE_ARRAY),
                                       "one of {string, set, array}" };
    if (!operand_is(args, index, &texts, err)) return BUILTIN_TYPE_ERROR;
    bool is_one = args[index].kind == VALUE_STRING;
    if (!is_one && !operand_of_strings(args, index, err)) return BUILTIN_TYPE_ERROR;
    ValueList list = { .arena = context->arena };
    uint32_t count = is_one ? 1 : args[index].count;
    for (uint32_t i = 0; i < count; i++) {
        Value item = is_one ? args[index] : args[index].items[i];
        Str text = value_text(item);
        if (!spend_text(context, text, err)) return BUILTIN_HALT;
        if (mirrored) {
            char *mirror = builtin_alloc(context, text.len, err);
            if (!mirror) return BUILTIN_HALT;
            for (size_t j = 0; j < text.len; j++) mirror[j] = text.ptr[text.len - 1 - j];
            item = value_string((Str){ mirror, text.len });
        }
        if (!builtin_list_add(context, &list, item, err)) return BUILTIN_HALT;
    }
    return builtin_list_set(context, &list, out, err);
}

/* Both lists are walked once. Of prefixes that begin one another only the shortest matters; among those left, the one
 * that a text begins with is the last that is not above it. */
static bool any_prefix(Value texts, Value prefixes)
{
    uint32_t next = 0;
    Str candidate = STR("");
    bool has_candidate = false;
    for (uint32_t i = 0; i < texts.count; i++) {
        Str text = value_text(texts.items[i]);
        for (; next < prefixes.count && str_compare(value_text(prefixes.items[next]), text) <= 0; next++) {
            Str prefix = value_text(prefixes.items[next]);
            if (has_candidate && str_starts(prefix, candidate)) continue;
            candidate = prefix;
            has_candidate = true;
        }
        if (has_candidate && str_starts(text, candidate)) return true;
    }
    return false;
}

static BuiltinResult any_match(BuiltinContext *context, bool mirrored, const Value *args, Value *out, Error *err)
{
    Value texts, parts;
    BuiltinResult result = sorted_texts(context, args, 0, mirrored, &texts, err);
    if (!result) result = sorted_texts(context, args, 1, mirrored, &parts, err);
    if (!result) *out = value_bool(any_prefix(texts, parts));
    return result;
}

BuiltinResult builtin_strings_any_prefix_match(BuiltinContext *context, const Value *args, Value *out_result,
                                               Error *err)
{
    return any_match(context, false, args, out_result, err);
}

BuiltinResult builtin_strings_any_suffix_match(BuiltinContext *context, const Value *args, Value *out_result,
                                               Error *err)
{
    return any_match(context, true, args, out_result, err);
}
