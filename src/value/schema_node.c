#include "value/schema_node.h"

#include "base/limits.h"
#include "base/utf8.h"
#include "value/json.h"
#include "value/json_pointer.h"

const NodeChild *node_set_find(const NodeSet *set, Str name)
{
    uint32_t low = 0, high = set->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        int order = str_compare(set->items[middle].name, name);
        if (order == 0) return &set->items[middle];
        if (order < 0) low = middle + 1;
        else high = middle;
    }
    return NULL;
}

static void step_print(Buf *buf, const SchemaNode *node)
{
    if (!node->set) {
        buf_str(buf, node->stray);
        return;
    }
    json_pointer_add(buf, node->set->keyword);
    if (node->set->shape == SET_LIST) json_pointer_add_index(buf, node->set_index);
    if (node->set->shape == SET_MAP) json_pointer_add(buf, node->set->items[node->set_index].name);
}

void node_pointer_print(Buf *buf, const SchemaNode *node, Str keyword, Str token)
{
    const SchemaNode *chain[JSON_DEPTH_MAX];
    size_t count = 0;
    for (const SchemaNode *at = node; at->parent; at = at->parent) chain[count++] = at;
    if (node->resource && node->resource->document_uri.len) {
        buf_str(buf, node->resource->document_uri);
        buf_char(buf, '#');
    }
    while (count) step_print(buf, chain[--count]);
    if (keyword.len) json_pointer_add(buf, keyword);
    if (token.len) json_pointer_add(buf, token);
}

static void weigh(Value value, uint64_t weight_max, uint64_t *weight)
{
    *weight += 1;
    switch ((ValueKind)value.kind) {
    case VALUE_NULL:
    case VALUE_BOOL:
    case VALUE_INT:
        break;
    case VALUE_DECIMAL:
    case VALUE_STRING:
        *weight += value.count / 64;
        break;
    case VALUE_ARRAY:
    case VALUE_SET:
        for (uint32_t i = 0; i < value.count && *weight <= weight_max; i++) weigh(value.items[i], weight_max, weight);
        break;
    case VALUE_OBJECT:
        for (uint32_t i = 0; i < value.count && *weight <= weight_max; i++) {
            weigh(value.members[i].key, weight_max, weight);
            weigh(value.members[i].value, weight_max, weight);
        }
        break;
    }
}

uint64_t value_weight(Value value, uint64_t weight_max)
{
    uint64_t weight = 0;
    weigh(value, weight_max, &weight);
    return weight;
}

#define DESCRIBED_SIZE_MAX 60u          /* of a text or a number, in bytes */

static void count_describe(Buf *buf, Value value, const char *name, const char *part)
{
    if (value.count == 0) buf_format(buf, "an empty %s", name);
    else buf_format(buf, "an %s of %u %s%s", name, value.count, part, value.count == 1 ? "" : "s");
}

void value_describe(Buf *buf, Value value)
{
    Str text = utf8_head(value.kind == VALUE_STRING || value.kind == VALUE_DECIMAL ? value_text(value) : STR(""), DESCRIBED_SIZE_MAX);
    const char *dots = text.len < value.count ? "..." : "";
    switch ((ValueKind)value.kind) {
    case VALUE_NULL:
        buf_text(buf, "null");
        return;
    case VALUE_BOOL:
        buf_text(buf, value.count ? "true" : "false");
        return;
    case VALUE_INT:
        buf_i64(buf, value.integer);
        return;
    case VALUE_DECIMAL:
        buf_str(buf, text);
        buf_text(buf, dots);
        return;
    case VALUE_STRING:
        json_print_string(buf, text);
        buf_text(buf, dots);
        return;
    case VALUE_ARRAY:
        count_describe(buf, value, "array", "item");
        return;
    case VALUE_OBJECT:
        count_describe(buf, value, "object", "member");
        return;
    case VALUE_SET:
        buf_text(buf, "a set");
        return;
    }
}
