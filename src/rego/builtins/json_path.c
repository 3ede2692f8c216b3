/* json_path.c - paths, and the two builtins that choose parts of a document by them. */
#include "rego/builtins/json_path.h"

#include <string.h>

#include "rego/builtins/operand.h"

/* --- paths ------------------------------------------------------------------------------------------------------- */

/* ~1 stands for a slash and ~0 for a tilde. */
static Str unescape(BuiltinContext *context, Str segment)
{
    if (str_find(segment, '~', 0) == segment.len) return segment;
    char *text = arena_alloc(context->arena, segment.len + 1);
    size_t size = 0;
    for (size_t i = 0; i < segment.len; i++) {
        char c = segment.ptr[i], next = i + 1 < segment.len ? segment.ptr[i + 1] : '\0';
        bool is_escape = c == '~' && (next == '0' || next == '1');
        text[size++] = !is_escape ? c : next == '1' ? '/' : '~';
        i += is_escape;
    }
    return (Str){ text, size };
}

static BuiltinResult pointer_read(BuiltinContext *context, Str text, Value *out_keys, Error *err)
{
    ValueList keys = { .arena = context->arena };
    if (!builtin_spend(context, text.len, err)) return BUILTIN_HALT;
    size_t at = 0;
    while (at < text.len && text.ptr[at] == '/') at++;
    if (text.len) {
        for (size_t end; at <= text.len; at = end + 1) {
            end = str_find(text, '/', at);
            Value key = value_string(unescape(context, str_slice(text, at, end)));
            if (!builtin_list_add(context, &keys, key, err)) return BUILTIN_HALT;
        }
    }
    *out_keys = value_list_array(&keys);
    return BUILTIN_OK;
}

BuiltinResult json_path_read(BuiltinContext *context, Value path, Value *out_keys, Error *err)
{
    if (path.kind == VALUE_STRING) return pointer_read(context, value_text(path), out_keys, err);
    if (path.kind != VALUE_ARRAY)
        return operand_refuse(err, 1, "one of {set, array} containing string paths or array of path segments",
                              value_kind_name(path));
    *out_keys = path;
    return BUILTIN_OK;
}

/* --- many paths -------------------------------------------------------------------------------------------------- */

/* Paths sorted, a prefix before what it begins: those that share their first keys lie side by side, so a part of the
 * list stands for a subtree, and a path that ends here stands first in it. */
typedef struct Paths {
    const Value *items;
    uint32_t from, to;              /* those that lead through the present value */
    uint32_t depth;                 /* how many keys led here */
} Paths;

static BuiltinResult paths_read(BuiltinContext *context, const Value *args, Paths *out, Error *err)
{
    ValueList list = { .arena = context->arena };
    for (uint32_t i = 0; i < args[1].count; i++) {
        Value keys;
        BuiltinResult result = json_path_read(context, args[1].items[i], &keys, err);
        if (result) return result;
        if (keys.count && !builtin_list_add(context, &list, keys, err)) return BUILTIN_HALT;
    }
    Value sorted;
    BuiltinResult result = builtin_list_set(context, &list, &sorted, err);
    if (!result) *out = (Paths){ sorted.items, 0, sorted.count, 0 };
    return result;
}

static bool paths_end_here(Paths paths)
{
    return paths.items[paths.from].count == paths.depth;
}

/* The first path whose next key is not below the given one (or, with `above`, is above it). */
static uint32_t paths_bound(Paths paths, Value key, bool above)
{
    uint32_t low = paths.from, high = paths.to;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        int order = value_compare(paths.items[middle].items[paths.depth], key);
        if (order < 0 || (above && order == 0)) low = middle + 1;
        else high = middle;
    }
    return low;
}

static bool paths_enter(Paths paths, Value key, Paths *out)
{
    *out = (Paths){ paths.items, paths_bound(paths, key, false), paths_bound(paths, key, true), paths.depth + 1 };
    return out->from < out->to;
}

/* Indexes of arrays are keys by their decimal text. */
static bool paths_enter_index(Paths paths, uint32_t index, Paths *out)
{
    char text[16];
    Buf buf = buf_on(text, sizeof text);
    buf_u64(&buf, index);
    return paths_enter(paths, value_string(buf_peek(&buf)), out);
}

/* --- filter and remove ------------------------------------------------------------------------------------------- */

/* Keeps what the paths lead to, or everything else. */
static BuiltinResult choose(BuiltinContext *context, bool wanted, Value value, Paths paths, Value *out, Error *err);

/* What becomes of a child: kept whole, kept in part, or left out. */
static BuiltinResult choose_child(BuiltinContext *context, bool wanted, bool is_named, Value child, Paths paths,
                                  Value *out, bool *out_kept, Error *err)
{
    bool is_whole = !is_named || paths_end_here(paths);
    *out_kept = !is_whole || is_named == wanted;
    *out = child;
    return is_whole ? BUILTIN_OK : choose(context, wanted, child, paths, out, err);
}

static BuiltinResult choose_members(BuiltinContext *context, bool wanted, Value object, Paths paths, Value *out,
                                    Error *err)
{
    Member *members = BUILTIN_ARRAY(context, Member, object.count, err);
    if (!members) return BUILTIN_HALT;
    uint32_t count = 0;
    for (uint32_t i = 0; i < object.count; i++) {
        Paths inner;
        bool is_kept, is_named = paths_enter(paths, object.members[i].key, &inner);
        members[count].key = object.members[i].key;
        BuiltinResult result = choose_child(context, wanted, is_named, object.members[i].value, inner,
                                            &members[count].value, &is_kept, err);
        if (result) return result;
        count += is_kept;
    }
    *out = (Value){ .kind = VALUE_OBJECT, .count = count, .members = members };
    return BUILTIN_OK;
}

static BuiltinResult choose_items(BuiltinContext *context, bool wanted, Value list, Paths paths, Value *out, Error *err)
{
    ValueList items = { .arena = context->arena };
    for (uint32_t i = 0; i < list.count; i++) {
        Paths inner;
        Value item;
        bool is_kept, is_named;
        if (list.kind == VALUE_SET) is_named = paths_enter(paths, list.items[i], &inner);
        else is_named = paths_enter_index(paths, i, &inner);
        BuiltinResult result = choose_child(context, wanted, is_named, list.items[i], inner, &item, &is_kept, err);
        if (result) return result;
        if (is_kept && !builtin_list_add(context, &items, item, err)) return BUILTIN_HALT;
    }
    if (list.kind == VALUE_SET) return builtin_list_set(context, &items, out, err);
    *out = value_list_array(&items);
    return BUILTIN_OK;
}

static BuiltinResult choose(BuiltinContext *context, bool wanted, Value value, Paths paths, Value *out, Error *err)
{
    *out = value;
    bool is_list = value.kind == VALUE_ARRAY || value.kind == VALUE_SET;
    if (!is_list && value.kind != VALUE_OBJECT) return BUILTIN_OK;          /* a path goes on where the document ends */
    if (!builtin_spend(context, value.count, err)) return BUILTIN_HALT;
    return (is_list ? choose_items : choose_members)(context, wanted, value, paths, out, err);
}

static BuiltinResult choose_document(BuiltinContext *context, bool wanted, const Value *args, Value *out, Error *err)
{
    if (!operand_is(args, 0, &OPERAND_OBJECT, err) || !operand_is(args, 1, &OPERAND_SET_OR_ARRAY, err))
        return BUILTIN_TYPE_ERROR;
    Paths paths;
    BuiltinResult result = paths_read(context, args, &paths, err);
    return result ? result : choose(context, wanted, args[0], paths, out, err);
}

BuiltinResult builtin_json_filter(BuiltinContext *context, const Value *args, Value *out_result, Error *err)
{
    return choose_document(context, true, args, out_result, err);
}

BuiltinResult builtin_json_remove(BuiltinContext *context, const Value *args, Value *out_result, Error *err)
{
    return choose_document(context, false, args, out_result, err);
}
