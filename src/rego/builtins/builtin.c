#include "rego/builtins/builtin.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/check.h"
#include "base/limits.h"
#include "rego/builtins/exact.h"

static const Builtin table[] = {
#define BUILTIN(name, infix, signature, arity, flags, cost, call) { name, infix, signature, arity, flags, cost, call },
#include "rego/builtins/builtins.def"
#undef BUILTIN
};

#define TABLE_COUNT (sizeof table / sizeof table[0])

const Builtin *builtin_find(Str name)
{
    size_t low = 0, high = TABLE_COUNT;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = str_compare(str_of(table[middle].name), name);
        if (order == 0) return &table[middle];
        if (order < 0) low = middle + 1;
        else high = middle;
    }
    return NULL;
}

const Builtin *builtin_find_infix(Str symbol)
{
    for (size_t i = 0; i < TABLE_COUNT; i++)
        if (table[i].infix && str_is_text(symbol, table[i].infix)) return &table[i];
    return NULL;
}

uint32_t builtin_count(void)
{
    return (uint32_t)TABLE_COUNT;
}

const Builtin *builtin_at(uint32_t index)
{
    CHECK(index < TABLE_COUNT);
    return &table[index];
}

/* Asked at every step, so what fits is known without a call. */
static inline bool is_within(const BuiltinContext *context, size_t size)
{
    size_t used = context->arena->size;
    return size <= REGO_VALUE_SIZE_MAX && used <= context->arena_size_max && size <= context->arena_size_max - used;
}

BuiltinResult builtin_call(const Builtin *builtin, BuiltinContext *context, const Value *args, Value *out_result,
                           Error *err)
{
    if (!builtin_spend(context, builtin->cost, err)) return BUILTIN_HALT;
    for (uint32_t i = 0; i < builtin->arity; i++)
        if (args[i].kind == VALUE_DECIMAL && !builtin_spend(context, number_cost(args[i]), err)) return BUILTIN_HALT;
    BuiltinResult result = builtin->call(context, args, out_result, err);
    if (result == BUILTIN_ERROR || result == BUILTIN_TYPE_ERROR) error_prefix(err, "%s: ", builtin->name);
    if (result == BUILTIN_OK && !is_within(context, 0) && !builtin_fits(context, 0, err)) return BUILTIN_HALT;
    return result;
}

bool builtin_spend(BuiltinContext *context, uint64_t count, Error *err)
{
    if (context->stop && atomic_load_explicit(context->stop, memory_order_relaxed)) {
        error_set(err, ERR_LIMIT, "the evaluation was stopped");
        return false;
    }
    if (count > *context->steps_left) {
        *context->steps_left = 0;
        error_set(err, ERR_LIMIT, "the evaluation took more than %" PRIu64 " steps", context->step_count_max);
        return false;
    }
    *context->steps_left -= count;
    return is_within(context, 0) || builtin_fits(context, 0, err);
}

static bool is_composite(Value value)
{
    return value.kind == VALUE_ARRAY || value.kind == VALUE_SET || value.kind == VALUE_OBJECT;
}

/* Comparing goes through texts as fast as memory, through numbers digit by digit. */
static uint64_t scalar_weight(Value value)
{
    return value.kind == VALUE_STRING ? value.count / 256 : value.kind == VALUE_DECIMAL ? value.count / 16 : 0;
}

bool builtin_weigh(BuiltinContext *context, Value value, uint64_t *out_weight, Error *err)
{
    *out_weight = 1;
    if (!is_composite(value)) {
        uint64_t extra = scalar_weight(value);
        *out_weight += extra;
        return !extra || builtin_spend(context, extra, err);
    }
    bool is_object = value.kind == VALUE_OBJECT;
    uint64_t count = is_object ? 2 * (uint64_t)value.count : value.count;
    if (!builtin_spend(context, count, err)) return false;
    *out_weight += count;
    for (uint64_t i = 0; i < count; i++) {
        Value item = !is_object ? value.items[i] : i % 2 ? value.members[i / 2].value : value.members[i / 2].key;
        if (!is_composite(item) && !scalar_weight(item)) continue;
        uint64_t weight;
        if (!builtin_weigh(context, item, &weight, err)) return false;
        *out_weight += weight;
    }
    return true;
}

bool builtin_list_add(BuiltinContext *context, ValueList *list, Value item, Error *err)
{
    if (list->count == VALUE_COUNT_MAX) {
        error_set(err, ERR_LIMIT, "a list exceeds VALUE_COUNT_MAX (%u) items", VALUE_COUNT_MAX);
        return false;
    }
    if (!builtin_spend(context, 1, err)) return false;
    if (list->count == list->capacity && !builtin_fits(context, list->capacity * 2 * sizeof(Value), err))
        return false;
    value_list_add(list, item);
    return true;
}

bool builtin_spend_sort(BuiltinContext *context, Value list, Error *err)
{
    uint64_t weight, rounds = 0;
    if (!builtin_weigh(context, list, &weight, err)) return false;
    for (uint32_t count = list.count; count; count /= 2) rounds++;
    return builtin_spend(context, weight * rounds / 4, err);
}

BuiltinResult builtin_list_set(BuiltinContext *context, ValueList *list, Value *out_set, Error *err)
{
    Value array = value_list_array(list);
    if (!builtin_spend_sort(context, array, err)) return BUILTIN_HALT;
    if (!builtin_fits(context, list->count * sizeof(Value), err)) return BUILTIN_HALT;
    *out_set = value_set(context->arena, list->items, array.count);
    return BUILTIN_OK;
}

bool builtin_fits(BuiltinContext *context, size_t size, Error *err)
{
    if (is_within(context, size)) return true;
    if (size > REGO_VALUE_SIZE_MAX)
        error_set(err, ERR_LIMIT, "a value exceeds REGO_VALUE_SIZE_MAX (%u bytes)", REGO_VALUE_SIZE_MAX);
    else
        error_set(err, ERR_LIMIT, "the evaluation took more than %zu bytes of memory", context->arena_size_max);
    return false;
}

void *builtin_alloc(BuiltinContext *context, size_t size, Error *err)
{
    /* What is left of the present block is already counted, so only larger pieces can cross the budget. */
    if (size > (size_t)(context->arena->end - context->arena->free) && !builtin_fits(context, size, err)) return NULL;
    return arena_alloc(context->arena, size);
}

void builtin_text_begin(BuiltinContext *context, Buf *out_buf)
{
    size_t used = context->arena->size;
    size_t left = used < context->arena_size_max ? context->arena_size_max - used : 0;
    if (left < ARENA_BLOCK_SIZE) left = ARENA_BLOCK_SIZE;       /* a short text may still fit the present block */
    buf_init(out_buf, left < REGO_VALUE_SIZE_MAX ? left : REGO_VALUE_SIZE_MAX);
}

BuiltinResult builtin_text_end(BuiltinContext *context, Buf *buf, Value *out_text, Error *err)
{
    BuiltinResult result = BUILTIN_HALT;
    if (buf_overflowed(buf)) {
        error_set(err, ERR_LIMIT, "a text exceeds the %zu bytes that are left of %zu bytes of memory", buf->size_max,
                  context->arena_size_max);
    } else if (builtin_spend(context, buf->len / REGO_BYTES_PER_STEP, err) && builtin_fits(context, buf->len, err)) {
        *out_text = value_string(arena_copy(context->arena, buf_peek(buf)));
        result = BUILTIN_OK;
    }
    buf_deinit(buf);
    return result;
}

void builtin_text_drop(Buf *buf)
{
    buf_deinit(buf);
}

static void reason_set(Error *err, Status status, const char *format, va_list args)
{
    char text[ERROR_TEXT_SIZE];
    vsnprintf(text, sizeof text, format, args);
    error_set(err, status, "%s", text);
}

BuiltinResult builtin_error(Error *err, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    reason_set(err, ERR_INVALID, format, args);
    va_end(args);
    return BUILTIN_ERROR;
}

BuiltinResult builtin_limit(Error *err, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    reason_set(err, ERR_LIMIT, format, args);
    va_end(args);
    return BUILTIN_HALT;
}

BuiltinResult builtin_result(Status status)
{
    return status == OK ? BUILTIN_OK : status == ERR_LIMIT ? BUILTIN_HALT : BUILTIN_ERROR;
}
