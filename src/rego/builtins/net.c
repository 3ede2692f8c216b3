/* net.c - blocks of internet addresses: contains, intersects, expand, merge. */
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "rego/builtins/ip.h"
#include "rego/builtins/operand.h"

static BuiltinResult refuse_cidr(Str text, Error *err)
{
    return builtin_error(err, "invalid CIDR address: %.*s", STR_ARG(text));
}

static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };     /* ::ffff:0:0/96 holds the IPv4 addresses */

/* A block inside ::ffff:0:0/96 is an IPv4 one. */
static Cidr narrow(Cidr cidr)
{
    if (cidr.first.size != 16 || cidr.prefix < 96 || memcmp(cidr.first.bytes, mapped, sizeof mapped) != 0)
        return cidr;
    memmove(cidr.first.bytes, cidr.first.bytes + 12, 4);
    cidr.first.size = 4;
    cidr.prefix = (uint8_t)(cidr.prefix - 96);
    return cidr;
}

static Cidr widen(Cidr cidr)
{
    if (cidr.first.size == 16) return cidr;
    Cidr wide = { .first = { .size = 16 }, .prefix = (uint8_t)(cidr.prefix + 96) };
    memcpy(wide.first.bytes, mapped, sizeof mapped);
    memcpy(wide.first.bytes + 12, cidr.first.bytes, 4);
    return wide;
}

static bool block_read(Str text, Cidr *out)
{
    if (!cidr_read(text, out, NULL)) return false;
    *out = narrow(*out);
    return true;
}

static Value text_value(BuiltinContext *context, const Buf *buf)
{
    return value_string(arena_copy(context->arena, buf_peek(buf)));
}

/* --- contains ---------------------------------------------------------------------------------------------------- */

static BuiltinResult contains(Value outer, Value inner, bool *out, Error *err)
{
    Cidr block, part;
    Ip ip;
    if (!operand_is(&outer, 0, &OPERAND_STRING, err)) return BUILTIN_TYPE_ERROR;
    if (!block_read(value_text(outer), &block)) return refuse_cidr(value_text(outer), err);
    if (!operand_is(&inner, 0, &OPERAND_STRING, err)) return BUILTIN_TYPE_ERROR;
    Str text = value_text(inner);
    if (ip_read(text, &ip)) {
        *out = cidr_has(&block, &ip);
        return BUILTIN_OK;
    }
    if (!block_read(text, &part))
        return builtin_error(err, "not a valid textual representation of an IP address or CIDR: %.*s", STR_ARG(text));
    Ip last = cidr_last(&part);
    *out = cidr_has(&block, &part.first) && cidr_has(&block, &last);
    return BUILTIN_OK;
}

BuiltinResult builtin_net_cidr_contains(BuiltinContext *context, const Value *args, Value *out_result, Error *err)
{
    bool holds;
    BuiltinResult result = contains(args[0], args[1], &holds, err);
    if (!result) *out_result = value_bool(holds);
    return result;
}

#define CIDR_PAIR_STEPS 8u      /* two texts are read for each pair: so much slower than an instruction is that */

/* How many elements an operand of net.cidr_contains_matches has; what it is no collection of has none. */
static uint32_t element_count(Value operand)
{
    if (operand.kind == VALUE_STRING) return 1;
    bool is_collection = operand.kind == VALUE_ARRAY || operand.kind == VALUE_SET || operand.kind == VALUE_OBJECT;
    return is_collection ? operand.count : 0;
}

/* An element: what names it in the answer, and its address. It may be an array that begins with the address. */
static BuiltinResult element_at(Value operand, uint32_t number, uint32_t index, Value *out_name, Value *out_address,
                                Error *err)
{
    switch ((ValueKind)operand.kind) {
    case VALUE_ARRAY:
        *out_name = value_int(index);
        *out_address = operand.items[index];
        break;
    case VALUE_OBJECT:
        *out_name = operand.members[index].key;
        *out_address = operand.members[index].value;
        break;
    case VALUE_SET:
        *out_name = *out_address = operand.items[index];
        break;
    case VALUE_NULL:
    case VALUE_BOOL:
    case VALUE_INT:
    case VALUE_DECIMAL:
    case VALUE_STRING:
        *out_name = *out_address = operand;
        break;
    }
    if (out_address->kind == VALUE_ARRAY && out_address->count) *out_address = out_address->items[0];
    else if (out_address->kind != VALUE_STRING)
        return builtin_error(err, "operand %u: element must be string or non-empty array", number);
    return BUILTIN_OK;
}

BuiltinResult builtin_net_cidr_contains_matches(BuiltinContext *context, const Value *args, Value *out_result,
                                                Error *err)
{
    ValueList matches = { .arena = context->arena };
    for (uint32_t i = 0; i < element_count(args[0]); i++) {
        Value name, block;
        BuiltinResult result = element_at(args[0], 1, i, &name, &block, err);
        if (result) return result;
        for (uint32_t j = 0; j < element_count(args[1]); j++) {
            Value other_name, address;
            bool holds;
            if (!builtin_spend(context, CIDR_PAIR_STEPS, err)) return BUILTIN_HALT;
            result = element_at(args[1], 2, j, &other_name, &address, err);
            if (!result) result = contains(block, address, &holds, err);
            if (result) return result;
            if (!holds) continue;
            Value *pair = BUILTIN_ARRAY(context, Value, 2, err);
            if (!pair) return BUILTIN_HALT;
            pair[0] = name;
            pair[1] = other_name;
            if (!builtin_list_add(context, &matches, value_array(pair, 2), err)) return BUILTIN_HALT;
        }
    }
    return builtin_list_set(context, &matches, out_result, err);
}

/* --- intersects and is_valid ------------------------------------------------------------------------------------- */

BuiltinResult builtin_net_cidr_intersects(BuiltinContext *context, const Value *args, Value *out_result, Error *err)
{
    Cidr blocks[2];
    for (uint32_t i = 0; i < 2; i++) {
        if (!operand_is(args, i, &OPERAND_STRING, err)) return BUILTIN_TYPE_ERROR;
        if (!block_read(value_text(args[i]), &blocks[i])) return refuse_cidr(value_text(args[i]), err);
    }
    *out_result = value_bool(cidr_has(&blocks[0], &blocks[1].first) || cidr_has(&blocks[1], &blocks[0].first));
    return BUILTIN_OK;
}

BuiltinResult builtin_net_cidr_is_valid(BuiltinContext *context, const Value *args, Value *out_result, Error *err)
{
    Cidr ignored;
    bool is_text = args[0].kind == VALUE_STRING;
    if (is_text && !builtin_spend(context, args[0].count / REGO_BYTES_PER_STEP, err)) return BUILTIN_HALT;
    *out_result = value_bool(is_text && cidr_read(value_text(args[0]), &ignored, NULL));
    return BUILTIN_OK;
}

/* --- expand ------------------------------------------------------------------------------------------------------ */

BuiltinResult builtin_net_cidr_expand(BuiltinContext *context, const Value *args, Value *out_result, Error *err)
{
    Cidr block;
    if (!operand_is(args, 0, &OPERAND_STRING, err)) return BUILTIN_TYPE_ERROR;
    if (!block_read(value_text(args[0]), &block)) return refuse_cidr(value_text(args[0]), err);
    ValueList addresses = { .arena = context->arena };
    Ip last = cidr_last(&block), ip = block.first;
    for (bool goes_on = true; goes_on; goes_on = goes_on && ip_next(&ip)) {
        char storage[48];
        Buf buf = buf_on(storage, sizeof storage);
        ip_print(&buf, &ip);
        if (!builtin_list_add(context, &addresses, text_value(context, &buf), err)) return BUILTIN_HALT;
        goes_on = ip_compare(&ip, &last) < 0;
    }
    return builtin_list_set(context, &addresses, out_result, err);
}

/* --- merge ------------------------------------------------------------------------------------------------------- */

/* Addresses from first to last. Where it stands for one operand alone, that is printed as it was written. */
typedef struct Range {
    Ip first, last;
    Cidr block;
    bool is_block;
} Range;

/* An IPv4 address without a prefix means the network of its class, as addresses were once divided. */
static uint8_t class_prefix(const Ip *ip)
{
    return ip->bytes[0] < 128 ? 8 : ip->bytes[0] < 192 ? 16 : 24;
}

static BuiltinResult read_range(Value item, Range *out, Error *err)
{
    if (item.kind != VALUE_STRING) return builtin_error(err, "element must be string");
    Str text = value_text(item);
    Cidr block;
    Ip ip;
    if (ip_read(text, &ip)) {
        if (ip.size == 16) return builtin_error(err, "IPv6 invalid: needs prefix length");
        char storage[32];
        Buf with_prefix = buf_on(storage, sizeof storage);
        ip_print(&with_prefix, &ip);
        buf_format(&with_prefix, "/%u", class_prefix(&ip));
        bool is_read = cidr_read(buf_peek(&with_prefix), &block, NULL);
        if (!is_read) return refuse_cidr(text, err);
        *out = (Range){ .block = { .first = ip, .prefix = block.prefix }, .is_block = true };
    } else {
        if (!cidr_read(text, &block, NULL)) return refuse_cidr(text, err);
        *out = (Range){ .block = block, .is_block = true };
    }
    block = widen(block);
    out->first = block.first;
    out->last = cidr_last(&block);
    return BUILTIN_OK;
}

static void print_block(BuiltinContext *context, Cidr block, ValueList *list)
{
    char storage[64];
    Buf buf = buf_on(storage, sizeof storage);
    block = narrow(block);
    cidr_print(&buf, &block);
    value_list_add(list, text_value(context, &buf));
}

/* The fewest blocks that cover a range: at each place the largest that begins there and does not reach beyond its
 * end. */
static BuiltinResult print_range(BuiltinContext *context, const Range *range, ValueList *list, Error *err)
{
    if (range->is_block) {
        print_block(context, range->block, list);
        return BUILTIN_OK;
    }
    Ip first = range->first;
    for (;;) {
        if (!builtin_spend(context, 1, err)) return BUILTIN_HALT;
        Cidr block = { first, 128 };
        while (block.prefix > 0) {
            Cidr larger = { first, (uint8_t)(block.prefix - 1) };
            uint32_t bit = 127u - larger.prefix;
            bool is_aligned = !(first.bytes[15 - bit / 8] >> (bit % 8) & 1);
            Ip last = cidr_last(&larger);
            if (!is_aligned || ip_compare(&last, &range->last) > 0) break;
            block = larger;
        }
        print_block(context, block, list);
        Ip last = cidr_last(&block);
        if (ip_compare(&last, &range->last) >= 0) return BUILTIN_OK;
        first = last;
        ip_next(&first);
    }
}

static int by_first(const void *a, const void *b)
{
    const Range *x = a, *y = b;
    int order = ip_compare(&x->first, &y->first);
    return order ? order : ip_compare(&x->last, &y->last);
}

/* Ranges that overlap or touch become one. Returns how many are left. */
static uint32_t join_ranges(Range *ranges, uint32_t count)
{
    uint32_t joined = 0;
    for (uint32_t i = 1; i < count; i++) {
        Range *left = &ranges[joined];
        Ip behind = left->last;
        bool has_behind = ip_next(&behind);
        if (has_behind && ip_compare(&ranges[i].first, &behind) > 0) {
            ranges[++joined] = ranges[i];
            continue;
        }
        left->is_block = false;
        if (ip_compare(&ranges[i].last, &left->last) > 0) left->last = ranges[i].last;
    }
    return count ? joined + 1 : 0;
}

BuiltinResult builtin_net_cidr_merge(BuiltinContext *context, const Value *args, Value *out_result, Error *err)
{
    if (args[0].kind != VALUE_ARRAY && args[0].kind != VALUE_SET)
        return builtin_error(err, "operand must be an array");
    uint32_t count = args[0].count;
    if (!builtin_spend(context, CIDR_PAIR_STEPS * (uint64_t)count, err)) return BUILTIN_HALT;
    Range *ranges = BUILTIN_ARRAY(context, Range, count, err);
    if (!ranges) return BUILTIN_HALT;
    for (uint32_t i = 0; i < count; i++) {
        BuiltinResult result = read_range(args[0].items[i], &ranges[i], err);
        if (result) return result;
    }
    qsort(ranges, count, sizeof *ranges, by_first);
    count = join_ranges(ranges, count);
    ValueList blocks = { .arena = context->arena };
    for (uint32_t i = 0; i < count; i++) {
        BuiltinResult result = print_range(context, &ranges[i], &blocks, err);
        if (result) return result;
    }
    return builtin_list_set(context, &blocks, out_result, err);
}
