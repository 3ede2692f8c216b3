#include "lang/node_build.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/limits.h"
#include "base/utf8.h"
#include "value/number.h"

static_assert(sizeof ((NodeBuilder *)0)->open / sizeof ((NodeBuilder *)0)->open[0] == DEFINITION_DEPTH_MAX,
              "one place for each level");

void node_builder_init(NodeBuilder *builder, Arena *arena)
{
    memset(builder, 0, sizeof *builder);
    builder->arena = arena;
}

void node_builder_deinit(NodeBuilder *builder)
{
    free(builder->stack);
    builder->stack = NULL;
}

Status node_push(NodeBuilder *builder, Node node, uint64_t size, Error *err)
{
    builder->node_count += size;
    if (builder->node_count > builder->node_count_max)
        return error_at(err, ERR_LIMIT, node.line, node.column, "the text has more than %s (%" PRIu64 ") nodes, aliases counted in full",
                        builder->limit, builder->node_count_max);
    if (builder->count == builder->capacity) {
        builder->capacity = builder->capacity ? builder->capacity * 2 : 256;
        builder->stack = realloc(builder->stack, builder->capacity * sizeof *builder->stack);
        CHECK(builder->stack != NULL);
    }
    builder->stack[builder->count++] = node;
    return OK;
}

Status node_open(NodeBuilder *builder, Node node, Error *err)
{
    if (builder->depth == DEFINITION_DEPTH_MAX)
        return error_at(err, ERR_LIMIT, node.line, node.column, "the text nests deeper than DEFINITION_DEPTH_MAX (%u)",
                        DEFINITION_DEPTH_MAX);
    builder->open[builder->depth].mark = builder->count;
    builder->open[builder->depth].node = node;
    builder->depth++;
    return OK;
}

Status node_close(NodeBuilder *builder, Error *err)
{
    CHECK(builder->depth > 0);
    builder->depth--;
    Node node = builder->open[builder->depth].node;
    size_t mark = builder->open[builder->depth].mark;
    size_t count = builder->count - mark;
    node.items = ARENA_ARRAY(builder->arena, Node, count);
    if (count) memcpy(node.items, builder->stack + mark, count * sizeof *node.items);
    node.count = (uint32_t)(node.kind == NODE_MAP ? count / 2 : count);
    builder->count = mark;
    return node_push(builder, node, 1, err);
}

/* --- plain scalars ----------------------------------------------------------------------------------------------- */

static bool is_one_of(Str text, const char *const *words)
{
    for (; *words; words++)
        if (str_is_text(text, *words)) return true;
    return false;
}

/* YAML's decimal numbers are wider than JSON's: +1, 01, .5, 1., 1.e3. Puts the JSON form into `out`; false where the
 * text is no number at all. */
static bool to_json_number(Str text, Buf *out)
{
    size_t at = 0, digits = 0;
    if (at < text.len && (text.ptr[at] == '-' || text.ptr[at] == '+')) {
        if (text.ptr[at] == '-') buf_char(out, '-');
        at++;
    }
    size_t whole = at;
    while (at < text.len && ascii_is_digit(text.ptr[at])) at++;
    digits += at - whole;
    size_t skip = whole;
    while (skip + 1 < at && text.ptr[skip] == '0') skip++;
    if (at == whole) buf_char(out, '0');
    buf_str(out, str_slice(text, skip, at));
    if (at < text.len && text.ptr[at] == '.') {
        size_t fraction = ++at;
        while (at < text.len && ascii_is_digit(text.ptr[at])) at++;
        digits += at - fraction;
        if (at > fraction) {
            buf_char(out, '.');
            buf_str(out, str_slice(text, fraction, at));
        }
    }
    if (digits == 0) return false;
    if (at < text.len && (text.ptr[at] == 'e' || text.ptr[at] == 'E')) {
        buf_char(out, text.ptr[at++]);
        if (at < text.len && (text.ptr[at] == '-' || text.ptr[at] == '+')) buf_char(out, text.ptr[at++]);
        size_t exponent = at;
        while (at < text.len && ascii_is_digit(text.ptr[at])) at++;
        if (at == exponent) return false;
        buf_str(out, str_slice(text, exponent, at));
    }
    return at == text.len;
}

/* 0x1F and 0o17; numbers that need more than 64 bits stay texts. */
static bool to_radix_number(Str text, Buf *out)
{
    unsigned radix = str_starts(text, STR("0x")) ? 16 : str_starts(text, STR("0o")) ? 8 : 0;
    if (!radix || text.len == 2) return false;
    uint64_t number = 0;
    for (size_t i = 2; i < text.len; i++) {
        char c = ascii_to_lower(text.ptr[i]);
        unsigned digit = ascii_is_digit(c) ? (unsigned)(c - '0') : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a' + 10) : 99;
        if (digit >= radix || number > (UINT64_MAX - digit) / radix) return false;
        number = number * radix + digit;
    }
    buf_u64(out, number);
    return true;
}

Status node_resolve(Arena *arena, Node *node, Error *err)
{
    static const char *const nulls[] = { "", "~", "null", "Null", "NULL", NULL };
    static const char *const trues[] = { "true", "True", "TRUE", NULL };
    static const char *const falses[] = { "false", "False", "FALSE", NULL };
    static const char *const beyond[] = { ".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF", "-.inf",
                                          "-.Inf", "-.INF", ".nan", ".NaN", ".NAN", NULL };
    Str text = node_text(node);
    char first = text.len ? text.ptr[0] : '\0';
    bool may_be_number = ascii_is_digit(first) || first == '-' || first == '+' || first == '.';
    if (is_one_of(text, nulls)) {
        node->kind = NODE_NULL;
    } else if (is_one_of(text, trues) || is_one_of(text, falses)) {
        node->kind = NODE_BOOL;
        node->truth = is_one_of(text, trues);
    } else if (may_be_number && is_one_of(text, beyond)) {
        return error_at(err, ERR_INVALID, node->line, node->column,
                        "%.*s is no number that JSON can hold; quote it if it is a text", STR_ARG(text));
    } else if (may_be_number) {
        Buf number;
        buf_init(&number, text.len + 32);
        bool is_number = to_radix_number(text, &number);
        if (!is_number) {
            buf_clear(&number);
            is_number = to_json_number(text, &number);
        }
        Status status = OK;
        if (is_number) {
            Error wrong;
            status = number_check(buf_peek(&number), &wrong);
            if (status) error_at(err, status, node->line, node->column, "%s", wrong.text);
            Str copy = arena_copy(arena, buf_peek(&number));
            node->kind = NODE_NUMBER;
            node->text = copy.ptr;
            node->count = (uint32_t)copy.len;
        }
        buf_deinit(&number);
        return status;
    }
    return OK;
}

Status node_read(Arena *arena, Str text, TextFormat format, Node **out_root, Error *err)
{
    return node_read_within(arena, text, format, DEFINITION_NODE_COUNT_MAX, "DEFINITION_NODE_COUNT_MAX", out_root, err);
}

Status node_read_within(Arena *arena, Str text, TextFormat format, uint64_t node_count_max, const char *limit, Node **out_root, Error *err)
{
    if (text.len > DEFINITION_SIZE_MAX)
        return error_at(err, ERR_LIMIT, 1, 1, "the text has %zu bytes, more than DEFINITION_SIZE_MAX (%u)", text.len,
                        DEFINITION_SIZE_MAX);
    NodeBuilder builder;
    node_builder_init(&builder, arena);
    builder.node_count_max = node_count_max;
    builder.limit = limit;
    Status status = format == TEXT_JSON ? node_read_json(&builder, text, err) : node_read_yaml(&builder, text, err);
    if (!status) {
        CHECK(builder.count == 1 && builder.depth == 0);
        *out_root = ARENA_NEW(arena, Node);
        **out_root = builder.stack[0];
    }
    node_builder_deinit(&builder);
    return status;
}
