#include "rego/yaml_value.h"

#include <string.h>
#include <yaml.h>

#include "base/limits.h"
#include "value/number.h"

typedef struct Reader {
    Arena *arena;
    yaml_document_t *document;
    uint32_t depth, node_budget;
    Error *err;
} Reader;

static Status read_node(Reader *reader, int index, Value *out_value);

/* --- scalars ----------------------------------------------------------------------------------------------------- */

static const struct { Str text; int truth; } words[] = {       /* truth: 0, 1, or -1 for null */
    { STR_INIT(""), -1 },     { STR_INIT("~"), -1 },    { STR_INIT("null"), -1 }, { STR_INIT("Null"), -1 },
    { STR_INIT("NULL"), -1 }, { STR_INIT("true"), 1 },  { STR_INIT("True"), 1 },  { STR_INIT("TRUE"), 1 },
    { STR_INIT("false"), 0 }, { STR_INIT("False"), 0 }, { STR_INIT("FALSE"), 0 },
};

static bool read_word(Str text, Value *out_value)
{
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (!str_is(words[i].text, text)) continue;
        *out_value = words[i].truth < 0 ? value_null() : value_bool(words[i].truth);
        return true;
    }
    return false;
}

/* 0x1f, 0o17, 0b11: a prefix and digits of its base. */
static bool read_based(Str digits, bool negative, Value *out_value)
{
    static const struct { char letter; int64_t base; } bases[] = { { 'x', 16 }, { 'o', 8 }, { 'b', 2 } };
    if (digits.len < 3 || digits.ptr[0] != '0') return false;
    int64_t base = 0, number = 0;
    for (size_t i = 0; i < sizeof bases / sizeof *bases; i++)
        if (bases[i].letter == digits.ptr[1]) base = bases[i].base;
    if (!base) return false;
    for (size_t i = 2; i < digits.len; i++) {
        char c = ascii_to_lower(digits.ptr[i]);
        int64_t digit = ascii_is_digit(c) ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : 16;
        if (digit >= base || number > (INT64_MAX - digit) / base) return false;
        number = number * base + digit;
    }
    *out_value = value_int(negative ? -number : number);
    return true;
}

/* A decimal number in the freer notation of YAML (+1, .5, 1., 1_000), by way of its JSON form. */
static bool read_decimal(Arena *arena, Str digits, bool negative, Value *out_value)
{
    if (digits.len > 1024) return false;
    char storage[1040];
    Buf json = buf_on(storage, sizeof storage);
    if (negative) buf_char(&json, '-');
    if (digits.len && digits.ptr[0] == '.') buf_char(&json, '0');
    for (size_t i = 0; i < digits.len; i++) {
        char c = digits.ptr[i];
        bool ends_fraction = c == '.' && (i + 1 == digits.len || ascii_to_lower(digits.ptr[i + 1]) == 'e');
        if (c != '_' && !ends_fraction) buf_char(&json, c);
    }
    Str text = buf_peek(&json);
    size_t lead = negative ? 1 : 0;                     /* leading zeros were octal once; 007 is 7 here */
    while (text.len > lead + 1 && text.ptr[lead] == '0' && ascii_is_digit(text.ptr[lead + 1])) {
        memmove(storage + lead, storage + lead + 1, text.len - lead - 1);
        text.len--;
    }
    if (number_check(text, NULL)) return false;
    *out_value = number_make(arena, text);
    return true;
}

static Value read_plain(Arena *arena, Str text)
{
    Value value;
    if (read_word(text, &value)) return value;
    bool negative = text.ptr[0] == '-';
    Str digits = negative || text.ptr[0] == '+' ? str_slice(text, 1, text.len) : text;
    bool may_be_number = digits.len && (ascii_is_digit(digits.ptr[0])
                                        || (digits.len > 1 && digits.ptr[0] == '.' && ascii_is_digit(digits.ptr[1])));
    if (may_be_number && read_based(digits, negative, &value)) return value;
    if (may_be_number && read_decimal(arena, digits, negative, &value)) return value;
    return value_string(arena_copy(arena, text));
}

static Value read_scalar(Reader *reader, const yaml_node_t *node)
{
    Str text = { (const char *)node->data.scalar.value, node->data.scalar.length };
    bool is_string = node->data.scalar.style != YAML_PLAIN_SCALAR_STYLE;
    if (node->tag && strcmp((const char *)node->tag, YAML_STR_TAG) != 0) is_string = false;     /* !!int "1" */
    bool untyped = node->data.scalar.style == YAML_PLAIN_SCALAR_STYLE && !text.len;
    if (untyped) return value_null();
    return is_string ? value_string(arena_copy(reader->arena, text)) : read_plain(reader->arena, text);
}

/* --- containers -------------------------------------------------------------------------------------------------- */

static Status read_sequence(Reader *reader, const yaml_node_t *node, Value *out_value)
{
    ValueList list = { .arena = reader->arena };
    for (const yaml_node_item_t *item = node->data.sequence.items.start; item < node->data.sequence.items.top; item++) {
        Value value;
        Status status = read_node(reader, *item, &value);
        if (status) return status;
        value_list_add(&list, value);
    }
    *out_value = value_list_array(&list);
    return OK;
}

static Status error_here(Reader *reader, const yaml_node_t *node, Status status, const char *what)
{
    return error_at(reader->err, status, (uint32_t)node->start_mark.line + 1, (uint32_t)node->start_mark.column + 1, "%s",
                    what);
}

static Status read_key(Reader *reader, int index, Str *out_key)
{
    const yaml_node_t *node = yaml_document_get_node(reader->document, index);
    if (node->type != YAML_SCALAR_NODE) return error_here(reader, node, ERR_INVALID, "a key must be a scalar");
    *out_key = arena_copy(reader->arena, (Str){ (const char *)node->data.scalar.value, node->data.scalar.length });
    return OK;
}

/* Members of a merged mapping (or of each mapping of a list) that the present one does not have itself. Of equal keys the
 * last one counts, so merged members go before the others. */
static Status merge(Reader *reader, Value merged, MemberList *list, const yaml_node_t *node)
{
    if (merged.kind == VALUE_ARRAY) {
        for (uint32_t i = merged.count; i > 0; i--) {
            Status status = merge(reader, merged.items[i - 1], list, node);
            if (status) return status;
        }
        return OK;
    }
    if (merged.kind != VALUE_OBJECT) return error_here(reader, node, ERR_INVALID, "<< must name a mapping");
    for (uint32_t i = 0; i < merged.count; i++)
        member_list_add(list, value_text(merged.members[i].key), merged.members[i].value);
    return OK;
}

static Status read_mapping(Reader *reader, const yaml_node_t *node, Value *out_value)
{
    MemberList list = { .arena = reader->arena };
    for (int pass = 0; pass < 2; pass++) {              /* merge keys first */
        for (const yaml_node_pair_t *pair = node->data.mapping.pairs.start; pair < node->data.mapping.pairs.top; pair++) {
            Str key;
            Value value;
            Status status = read_key(reader, pair->key, &key);
            if (status) return status;
            bool is_merge = str_is(key, STR("<<"));
            if (is_merge != (pass == 0)) continue;
            status = read_node(reader, pair->value, &value);
            if (!status && is_merge) status = merge(reader, value, &list, node);
            if (status) return status;
            if (!is_merge) member_list_add(&list, key, value);
        }
    }
    *out_value = member_list_object(&list);
    return OK;
}

static Status read_node(Reader *reader, int index, Value *out_value)
{
    const yaml_node_t *node = yaml_document_get_node(reader->document, index);
    if (reader->node_budget-- == 0) {
        reader->node_budget = 0;
        return error_here(reader, node, ERR_LIMIT, "the YAML text has more nodes than REGO_YAML_NODE_COUNT_MAX");
    }
    if (++reader->depth > JSON_DEPTH_MAX) return error_here(reader, node, ERR_LIMIT, "the YAML text nests deeper than "
                                                                                     "JSON_DEPTH_MAX");
    Status status = OK;
    if (node->type == YAML_SEQUENCE_NODE) status = read_sequence(reader, node, out_value);
    else if (node->type == YAML_MAPPING_NODE) status = read_mapping(reader, node, out_value);
    else *out_value = read_scalar(reader, node);
    reader->depth--;
    return status;
}

/* --- entrance ---------------------------------------------------------------------------------------------------- */

static Status parser_error_text(const yaml_parser_t *parser, Error *err)
{
    const char *problem = parser->problem ? parser->problem : "the text is no YAML";
    return error_at(err, ERR_INVALID, (uint32_t)parser->problem_mark.line + 1, (uint32_t)parser->problem_mark.column + 1,
                    "%s", problem);
}

Status yaml_value_read(Arena *arena, Str text, Value *out_value, Error *err)
{
    yaml_parser_t parser;
    yaml_document_t document;
    if (!yaml_parser_initialize(&parser)) return error_set(err, ERR_LIMIT, "no memory for reading YAML");
    yaml_parser_set_input_string(&parser, (const unsigned char *)text.ptr, text.len);
    Status status = OK;
    if (!yaml_parser_load(&parser, &document)) {
        status = parser_error_text(&parser, err);
    } else {
        Reader reader = { arena, &document, 0, REGO_YAML_NODE_COUNT_MAX, err };
        if (yaml_document_get_root_node(&document)) status = read_node(&reader, 1, out_value);
        else *out_value = value_null();
        yaml_document_delete(&document);
    }
    yaml_parser_delete(&parser);
    return status;
}
