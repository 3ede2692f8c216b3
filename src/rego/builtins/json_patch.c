/* json_patch.c - json.patch: the operations of RFC 6902, on documents that may hold sets. */
#include <string.h>

#include "base/limits.h"
#include "rego/builtins/json_path.h"
#include "rego/builtins/operand.h"
#include "rego/builtins/text.h"
#include "value/number.h"

/* Values cannot change: each operation makes the containers on its path anew and shares the rest. */
typedef struct Patch {
    BuiltinContext *context;
    Error *err;
    Value document;
    bool is_removed;                    /* the whole document, until something is put in its place */
} Patch;

/* --- reasons ----------------------------------------------------------------------------------------------------- */

/* A value as part of a message, cut where it would fill it. */
typedef struct Shown {
    char text[160];
} Shown;

static Shown show(Value value)
{
    Shown shown;
    Buf buf = buf_on(shown.text, sizeof shown.text - 1);
    value_print(&buf, value);
    shown.text[buf.len] = '\0';
    return shown;
}

static const char *go_type(Value value)
{
    static const char *const names[] = {
        [VALUE_NULL] = "ast.Null",      [VALUE_BOOL] = "ast.Boolean",  [VALUE_INT] = "ast.Number",
        [VALUE_DECIMAL] = "ast.Number", [VALUE_STRING] = "ast.String", [VALUE_ARRAY] = "*ast.Array",
        [VALUE_OBJECT] = "ast.Object",  [VALUE_SET] = "ast.Set",
    };
    return names[value.kind];
}

static BuiltinResult refuse_scalar(Patch *patch, Value value, const Value *key)
{
    if (!key) return builtin_error(patch->err, "expected composite type, found value: %s (type: %s)", show(value).text,
                                   go_type(value));
    return builtin_error(patch->err, "expected composite type for path %s, found value: %s (type: %s)", show(*key).text,
                         show(value).text, go_type(value));
}

static BuiltinResult refuse_missing(Patch *patch, Value container, Value key)
{
    bool is_plain = container.kind == VALUE_SET && key.kind == VALUE_STRING;
    return builtin_error(patch->err, "path %.*s does not exist in %s term %s",
                         is_plain ? (int)key.count : (int)strlen(show(key).text), is_plain ? key.text : show(key).text,
                         value_kind_name(container), show(container).text);
}

/* --- places ------------------------------------------------------------------------------------------------------ */

/* The index that a key means in an array; `-` is the one behind the last item. Range is not checked. */
static BuiltinResult array_index(Patch *patch, Value array, Value key, int64_t *out)
{
    if (value_is_number(key))
        return number_to_int64(key, out) ? BUILTIN_OK : builtin_error(patch->err, "invalid number type for indexing");
    if (key.kind != VALUE_STRING) return builtin_error(patch->err, "invalid type for indexing");
    Str text = value_text(key);
    if (str_is(text, STR("-"))) {
        *out = array.count;
        return BUILTIN_OK;
    }
    if (text.len > 1 && text.ptr[0] == '0')
        return builtin_error(patch->err, "leading zeros are not allowed in JSON paths");
    bool has_sign = text.len && (text.ptr[0] == '-' || text.ptr[0] == '+');
    uint64_t magnitude;
    if (!str_to_u64(str_slice(text, has_sign, text.len), &magnitude) || magnitude > INT64_MAX)
        return builtin_error(patch->err, "invalid string for indexing");
    *out = text.ptr[0] == '-' ? -(int64_t)magnitude : (int64_t)magnitude;
    return BUILTIN_OK;
}

/* The child that a path goes on through. */
static BuiltinResult descend(Patch *patch, Value value, Value key, Value *out_child)
{
    if (value.kind == VALUE_ARRAY) {
        int64_t index;
        BuiltinResult result = array_index(patch, value, key, &index);
        if (result) return result;
        if (index < 0 || index >= value.count) return refuse_missing(patch, value, value_int(index));
        *out_child = value.items[index];
        return BUILTIN_OK;
    }
    if (value.kind == VALUE_SET) {
        if (!value_set_has(value, key)) return refuse_missing(patch, value, key);
        *out_child = key;
        return BUILTIN_OK;
    }
    if (value.kind != VALUE_OBJECT) return refuse_scalar(patch, value, &key);
    const Value *found = value_lookup(value, key);
    if (!found) return refuse_missing(patch, value, key);
    *out_child = *found;
    return BUILTIN_OK;
}

static BuiltinResult find(Patch *patch, Value path, Value *out)
{
    Value value = patch->document;
    for (uint32_t i = 0; i < path.count; i++) {
        BuiltinResult result = descend(patch, value, path.items[i], &value);
        if (result) return result;
    }
    *out = value;
    return BUILTIN_OK;
}

/* --- containers made anew ---------------------------------------------------------------------------------------- */

static BuiltinResult object_with(Patch *patch, Value object, Value key, const Value *value, Value *out)
{
    if (!value && !value_lookup(object, key))
        return builtin_error(patch->err, "cannot delete child key %s that does not exist", show(key).text);
    if (!builtin_spend(patch->context, object.count, patch->err)) return BUILTIN_HALT;
    Member *members = BUILTIN_ARRAY(patch->context, Member, object.count + 1, patch->err);
    if (!members) return BUILTIN_HALT;
    uint32_t count = 0, i = 0;
    for (; i < object.count && value_compare(object.members[i].key, key) < 0; i++) members[count++] = object.members[i];
    bool is_there = i < object.count && value_equals(object.members[i].key, key);
    if (value) members[count++] = (Member){ is_there ? object.members[i].key : key, *value };
    for (i += is_there; i < object.count; i++) members[count++] = object.members[i];
    *out = (Value){ .kind = VALUE_OBJECT, .count = count, .members = members };
    return BUILTIN_OK;
}

static BuiltinResult set_with(Patch *patch, Value set, Value key, const Value *value, Value *out)
{
    bool is_there = value_set_has(set, key);
    if (!value && !is_there)
        return builtin_error(patch->err, "cannot delete child key %s that does not exist", show(key).text);
    if (!builtin_spend(patch->context, set.count, patch->err)) return BUILTIN_HALT;
    Value *items = BUILTIN_ARRAY(patch->context, Value, set.count + 1, patch->err);
    if (!items) return BUILTIN_HALT;
    uint32_t count = 0;
    for (uint32_t i = 0; i < set.count; i++)
        if (!is_there || !value_equals(set.items[i], key)) items[count++] = set.items[i];
    if (value) items[count++] = *value;
    *out = value_set(patch->context->arena, items, count);
    return BUILTIN_OK;
}

/* How an array changes at an index. */
typedef enum Change { CHANGE_INSERT, CHANGE_REMOVE, CHANGE_PUT } Change;

static BuiltinResult array_with(Patch *patch, Value array, int64_t index, Change change, const Value *value, Value *out)
{
    if (index < 0 || index > array.count || (change != CHANGE_INSERT && index == array.count))
        return builtin_error(patch->err, "index for array %s out of bounds",
                             change == CHANGE_INSERT ? "insertion" : "delete");
    if (!builtin_spend(patch->context, array.count, patch->err)) return BUILTIN_HALT;
    Value *items = BUILTIN_ARRAY(patch->context, Value, array.count + 1, patch->err);
    if (!items) return BUILTIN_HALT;
    uint32_t at = (uint32_t)index, count = 0;
    for (uint32_t i = 0; i < at; i++) items[count++] = array.items[i];
    if (change != CHANGE_REMOVE) items[count++] = *value;
    for (uint32_t i = at + (change != CHANGE_INSERT); i < array.count; i++) items[count++] = array.items[i];
    *out = value_array(items, count);
    return BUILTIN_OK;
}

/* The container with its last key set (`value`) or removed (NULL). */
static BuiltinResult change_here(Patch *patch, Value container, Value key, const Value *value, Value *out)
{
    int64_t index;
    switch ((ValueKind)container.kind) {
    case VALUE_OBJECT:
        return object_with(patch, container, key, value, out);
    case VALUE_SET:
        if (value && !value_equals(key, *value))
            return builtin_error(patch->err, "set key %s does not equal value to be inserted %s", show(key).text,
                                 show(*value).text);
        return set_with(patch, container, key, value, out);
    case VALUE_ARRAY: {
        BuiltinResult result = array_index(patch, container, key, &index);
        return result ? result : array_with(patch, container, index, value ? CHANGE_INSERT : CHANGE_REMOVE, value, out);
    }
    case VALUE_NULL:
    case VALUE_BOOL:
    case VALUE_INT:
    case VALUE_DECIMAL:
    case VALUE_STRING:
        break;
    }
    return refuse_scalar(patch, container, NULL);
}

/* The container with one child replaced by what has become of it. */
static BuiltinResult put_back(Patch *patch, Value container, Value key, Value child, Value *out)
{
    if (container.kind == VALUE_OBJECT) return object_with(patch, container, key, &child, out);
    if (container.kind == VALUE_SET) return set_with(patch, container, key, &child, out);
    int64_t index;
    BuiltinResult result = array_index(patch, container, key, &index);
    return result ? result : array_with(patch, container, index, CHANGE_PUT, &child, out);
}

static BuiltinResult change(Patch *patch, Value value, Value path, uint32_t depth, const Value *put, Value *out)
{
    Value key = path.items[depth];
    if (depth + 1 == path.count) return change_here(patch, value, key, put, out);
    Value child;
    BuiltinResult result = descend(patch, value, key, &child);
    if (!result) result = change(patch, child, path, depth + 1, put, &child);
    return result ? result : put_back(patch, value, key, child, out);
}

static uint32_t depth_of(Value value)
{
    uint32_t deepest = 0;
    bool is_object = value.kind == VALUE_OBJECT;
    if (!is_object && value.kind != VALUE_ARRAY && value.kind != VALUE_SET) return 0;
    for (uint32_t i = 0; i < value.count; i++) {
        uint32_t depth = depth_of(is_object ? value.members[i].value : value.items[i]);
        if (is_object) {
            uint32_t of_key = depth_of(value.members[i].key);
            depth = of_key > depth ? of_key : depth;
        }
        deepest = depth > deepest ? depth : deepest;
    }
    return deepest + 1;
}

/* --- operations -------------------------------------------------------------------------------------------------- */

static BuiltinResult refuse_removed(Patch *patch, Value path, const char *what)
{
    if (path.count > 1) return builtin_error(patch->err, "nil value encountered where composite value was expected");
    return builtin_error(patch->err, "deleted node encountered during %s operation", what);
}

static BuiltinResult insert(Patch *patch, Value path, Value value)
{
    uint64_t weight;
    if (!builtin_weigh(patch->context, value, &weight, patch->err)) return BUILTIN_HALT;
    if (path.count + depth_of(value) > JSON_DEPTH_MAX)
        return builtin_limit(patch->err, "the document would nest deeper than JSON_DEPTH_MAX (%u)", JSON_DEPTH_MAX);
    if (path.count == 0) {
        patch->document = value;
        patch->is_removed = false;
        return BUILTIN_OK;
    }
    if (patch->is_removed) return refuse_removed(patch, path, "insert");
    return change(patch, patch->document, path, 0, &value, &patch->document);
}

static BuiltinResult delete(Patch *patch, Value path)
{
    if (patch->is_removed) return refuse_removed(patch, path, "delete");
    if (path.count == 0) {
        patch->is_removed = true;
        return BUILTIN_OK;
    }
    return change(patch, patch->document, path, 0, NULL, &patch->document);
}

typedef struct Operation {
    Value path, from;                   /* as arrays of keys */
    const Value *value;                 /* NULL where it is not given */
} Operation;

static BuiltinResult refuse_attribute(Patch *patch, const char *name)
{
    return builtin_error(patch->err, "missing required attribute '%s'", name);
}

static BuiltinResult run_add(Patch *patch, const Operation *operation)
{
    return insert(patch, operation->path, *operation->value);
}

static BuiltinResult run_remove(Patch *patch, const Operation *operation)
{
    return delete(patch, operation->path);
}

static BuiltinResult run_replace(Patch *patch, const Operation *operation)
{
    BuiltinResult result = delete(patch, operation->path);
    return result ? result : insert(patch, operation->path, *operation->value);
}

static BuiltinResult run_copy(Patch *patch, const Operation *operation)
{
    Value value;
    BuiltinResult result = find(patch, operation->from, &value);
    return result ? result : insert(patch, operation->path, value);
}

static BuiltinResult run_move(Patch *patch, const Operation *operation)
{
    Value value;
    BuiltinResult result = find(patch, operation->from, &value);
    if (!result) result = delete(patch, operation->from);
    return result ? result : insert(patch, operation->path, value);
}

static BuiltinResult run_test(Patch *patch, const Operation *operation)
{
    Value value;
    BuiltinResult result = find(patch, operation->path, &value);
    if (result) return result;
    if (!operation->value) return refuse_attribute(patch, "value");
    if (value_equals(value, *operation->value)) return BUILTIN_OK;
    return builtin_error(patch->err, "value from EditTree != patch value.\n\nExpected: %s\n\nFound: %s",
                         show(*operation->value).text, show(value).text);
}

static const struct {
    const char *name;
    bool needs_from, needs_value;
    BuiltinResult (*run)(Patch *patch, const Operation *operation);
} operations[] = {
    { "add", false, true, run_add },          { "remove", false, false, run_remove },
    { "replace", false, true, run_replace },  { "copy", true, false, run_copy },
    { "move", true, false, run_move },        { "test", false, false, run_test },
};

static BuiltinResult read_path(Patch *patch, Value entry, const char *name, Value *out)
{
    const Value *path = value_get_text(entry, name);
    if (!path) return refuse_attribute(patch, name);
    return json_path_read(patch->context, *path, out, patch->err);
}

static BuiltinResult run_entry(Patch *patch, Value entry)
{
    Operation operation = { .value = value_get_text(entry, "value") };
    BuiltinResult result = read_path(patch, entry, "path", &operation.path);
    if (result) return result;
    const Value *op = value_get_text(entry, "op");
    if (!op) return refuse_attribute(patch, "op");
    if (op->kind != VALUE_STRING)
        return builtin_error(patch->err, "attribute 'op' must be a string but found: %s", value_kind_name(*op));
    for (size_t i = 0; i < sizeof operations / sizeof operations[0]; i++) {
        if (!str_is_text(value_text(*op), operations[i].name)) continue;
        if (operations[i].needs_value && !operation.value) return refuse_attribute(patch, "value");
        if (operations[i].needs_from) result = read_path(patch, entry, "from", &operation.from);
        if (result) return result;
        return operations[i].run(patch, &operation);
    }
    return builtin_error(patch->err, "unrecognized op: '%.*s'", (int)op->count, op->text);
}

BuiltinResult builtin_json_patch(BuiltinContext *context, const Value *args, Value *out_result, Error *err)
{
    if (!operand_is(args, 1, &OPERAND_ARRAY, err)) return BUILTIN_TYPE_ERROR;
    Patch patch = { context, err, args[0], false };
    for (uint32_t i = 0; i < args[1].count; i++) {
        if (!builtin_spend(context, 1, err)) return BUILTIN_HALT;
        if (args[1].items[i].kind != VALUE_OBJECT)
            return builtin_error(err,
                                 "must be an array of JSON-Patch objects, but at least one element is not an object");
        BuiltinResult result = run_entry(&patch, args[1].items[i]);
        if (result) return result;
    }
    if (patch.is_removed) return builtin_error(err, "the whole document was removed");
    *out_result = patch.document;
    return BUILTIN_OK;
}
