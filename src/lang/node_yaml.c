#include <string.h>
#include <yaml.h>

#include "base/limits.h"
#include "base/map.h"
#include "base/utf8.h"
#include "lang/node_build.h"

typedef struct Anchor {
    Node node;
    uint64_t size;
} Anchor;

typedef struct YamlReader {
    NodeBuilder *builder;
    yaml_parser_t parser;
    Str text;
    Map anchor_names;
    Anchor *anchors;
    size_t anchor_count, anchor_capacity;
    Str open_anchors[DEFINITION_DEPTH_MAX];     /* the anchor of each open container, if it has one */
    uint64_t size_at_open[DEFINITION_DEPTH_MAX];
    Error *err;
} YamlReader;

/* libyaml counts lines and columns from 0, columns in characters. */
static Node node_at(const yaml_event_t *event, NodeKind kind)
{
    return (Node){
        .kind = (uint8_t)kind, .width = 1,
        .line = (uint32_t)event->start_mark.line + 1, .column = (uint32_t)event->start_mark.column + 1,
    };
}

static Status refuse(YamlReader *reader, const Node *node, const char *what)
{
    return error_at(reader->err, ERR_INVALID, node->line, node->column, "%s", what);
}

/* A later anchor of the same name replaces the earlier one, as YAML has it: the map holds the first, so a name that
 * comes again is refused instead; no definition needs it and readers of files lose track of it. */
static Status anchor_add(YamlReader *reader, Str name, const Node *node, uint64_t size)
{
    reader->anchors = arena_grow(reader->builder->arena, reader->anchors, sizeof *reader->anchors, reader->anchor_count,
                                 &reader->anchor_capacity);
    if (!map_add(&reader->anchor_names, name, (uint32_t)reader->anchor_count, NULL))
        return error_at(reader->err, ERR_INVALID, node->line, node->column, "the anchor '&%.*s' is defined twice",
                        STR_ARG(name));
    reader->anchors[reader->anchor_count++] = (Anchor){ *node, size };
    return OK;
}

static Str event_anchor(YamlReader *reader, const yaml_char_t *anchor)
{
    return anchor ? arena_copy(reader->builder->arena, str_of((const char *)anchor)) : STR("");
}

static bool expects_key(const NodeBuilder *builder)
{
    return builder->depth && builder->open[builder->depth - 1].node.kind == NODE_MAP
        && (builder->count - builder->open[builder->depth - 1].mark) % 2 == 0;
}

static Status take_alias(YamlReader *reader, const yaml_event_t *event)
{
    Node at = node_at(event, NODE_NULL);
    Str name = str_of((const char *)event->data.alias.anchor);
    uint32_t index;
    if (!map_find(&reader->anchor_names, name, &index))
        return error_at(reader->err, ERR_INVALID, at.line, at.column,
                        "the alias '*%.*s' names no anchor that was defined before it", STR_ARG(name));
    Node node = reader->anchors[index].node;        /* its items are shared: a tree that is only read */
    if (expects_key(reader->builder) && node.kind != NODE_TEXT) return refuse(reader, &at, "a key must be a text");
    return node_push(reader->builder, node, reader->anchors[index].size, reader->err);
}

/* Characters of the scalar, quotes included: what a message underlines. One that spans lines shows its first character. */
static void scalar_extent(const yaml_event_t *event, Node *node)
{
    size_t from = event->start_mark.index, to = event->end_mark.index;
    bool is_one_line = event->start_mark.line == event->end_mark.line && to > from;
    node->width = is_one_line ? (uint32_t)(to - from) : 1;
    size_t quotes = event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE ? 0 : 2;
    bool is_run = is_one_line && node->width == utf8_count(node_text(node)) + quotes;
    node->inner = is_run ? (uint8_t)(quotes / 2) : NODE_SCATTERED;
}


static Status take_scalar(YamlReader *reader, const yaml_event_t *event)
{
    Node node = node_at(event, NODE_TEXT);
    Str text = { (const char *)event->data.scalar.value, event->data.scalar.length };
    if (memchr(text.ptr, '\0', text.len)) return refuse(reader, &node, "a text cannot hold the character U+0000");
    Str copy = arena_copy(reader->builder->arena, text);
    node.text = copy.ptr;
    node.count = (uint32_t)copy.len;
    scalar_extent(event, &node);
    if (event->data.scalar.tag && strcmp((const char *)event->data.scalar.tag, YAML_STR_TAG) != 0
        && strcmp((const char *)event->data.scalar.tag, "!") != 0)
        return error_at(reader->err, ERR_INVALID, node.line, node.column, "the tag '%s' has no meaning here",
                        (const char *)event->data.scalar.tag);
    /* A key is its text, whatever it looks like: `1:` and `true:` name members. */
    bool is_key = expects_key(reader->builder);
    if (event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE && !event->data.scalar.tag && !is_key) {
        Status status = node_resolve(reader->builder->arena, &node, reader->err);
        if (status) return status;
    }
    if (is_key && node.count == 0) return refuse(reader, &node, "a key is missing before ':'");
    Str anchor = event_anchor(reader, event->data.scalar.anchor);
    if (anchor.len) {
        Status status = anchor_add(reader, anchor, &node, 1);
        if (status) return status;
    }
    return node_push(reader->builder, node, 1, reader->err);
}

static Status take_open(YamlReader *reader, const yaml_event_t *event, NodeKind kind)
{
    NodeBuilder *builder = reader->builder;
    Node node = node_at(event, kind);
    const yaml_char_t *anchor =
        kind == NODE_MAP ? event->data.mapping_start.anchor : event->data.sequence_start.anchor;
    const yaml_char_t *tag = kind == NODE_MAP ? event->data.mapping_start.tag : event->data.sequence_start.tag;
    if (tag && strcmp((const char *)tag, kind == NODE_MAP ? YAML_MAP_TAG : YAML_SEQ_TAG) != 0)
        return error_at(reader->err, ERR_INVALID, node.line, node.column, "the tag '%s' has no meaning here",
                        (const char *)tag);
    if (expects_key(builder)) return refuse(reader, &node, "a key must be a text");
    Status status = node_open(builder, node, reader->err);
    if (status) return status;
    reader->open_anchors[builder->depth - 1] = event_anchor(reader, anchor);
    reader->size_at_open[builder->depth - 1] = builder->node_count;
    return OK;
}

/* --- merge keys: `<<: *defaults` puts in what the mapping itself does not have ------------------------------------ */

static bool is_merge(const Node *key)
{
    return key->count == 2 && key->inner == 0 && str_is(node_text(key), STR("<<"));
}

typedef struct Merge {
    Node *pairs;
    uint32_t count;
    Map keys;
} Merge;

static void merge_pairs(Merge *merge, const Node *map)
{
    for (uint32_t i = 0; i < map->count; i++) {
        const Node *key = node_key(map, i);
        if (is_merge(key) || !map_add(&merge->keys, node_text(key), 0, NULL)) continue;
        merge->pairs[2 * merge->count] = *key;
        merge->pairs[2 * merge->count + 1] = *node_value(map, i);
        merge->count++;
    }
}

/* How many pairs a merge value may add; refuses what is neither a mapping nor a list of mappings. */
static Status merge_size(YamlReader *reader, const Node *value, uint32_t *count)
{
    bool is_list = value->kind == NODE_LIST;
    for (uint32_t i = 0; i < (is_list ? value->count : 1); i++) {
        const Node *from = is_list ? &value->items[i] : value;
        if (from->kind != NODE_MAP) return refuse(reader, from, "only a mapping can be merged by '<<'");
        *count += from->count;
    }
    return OK;
}

/* Replaces the mapping just closed, if it has a merge key, by one with the merged pairs behind its own. */
static Status merge_map(YamlReader *reader, Node *map)
{
    const Node *value = NULL;
    uint32_t count = map->count;
    for (uint32_t i = 0; i < map->count; i++)
        if (is_merge(node_key(map, i))) value = node_value(map, i);
    if (!value) return OK;
    Status status = merge_size(reader, value, &count);
    if (status) return status;
    reader->builder->node_count += 2 * (uint64_t)count;

    Merge merge = { .pairs = ARENA_ARRAY(reader->builder->arena, Node, 2 * (size_t)count) };
    map_init(&merge.keys, reader->builder->arena, count);
    for (uint32_t i = 0; i < map->count; i++) { /* its own pairs first, repetitions kept for a later error */
        if (is_merge(node_key(map, i))) continue;
        map_add(&merge.keys, node_text(node_key(map, i)), 0, NULL);
        merge.pairs[2 * merge.count] = *node_key(map, i);
        merge.pairs[2 * merge.count + 1] = *node_value(map, i);
        merge.count++;
    }
    if (value->kind == NODE_MAP) merge_pairs(&merge, value);
    for (uint32_t i = 0; value->kind == NODE_LIST && i < value->count; i++) merge_pairs(&merge, &value->items[i]);
    map->items = merge.pairs;
    map->count = merge.count;
    return OK;
}

static Status take_close(YamlReader *reader)
{
    NodeBuilder *builder = reader->builder;
    Str anchor = reader->open_anchors[builder->depth - 1];
    uint64_t size_at_open = reader->size_at_open[builder->depth - 1];
    Status status = node_close(builder, reader->err);
    if (!status && builder->stack[builder->count - 1].kind == NODE_MAP)
        status = merge_map(reader, &builder->stack[builder->count - 1]);
    if (status || anchor.len == 0) return status;
    uint64_t size = builder->node_count - size_at_open;
    return anchor_add(reader, anchor, &builder->stack[builder->count - 1], size);
}

static Status parse_error(YamlReader *reader)
{
    const yaml_parser_t *parser = &reader->parser;
    if (parser->error == YAML_READER_ERROR) {
        /* The reader knows the byte alone: count lines and characters up to it. */
        uint32_t line = 1, column = 1;
        for (size_t i = 0; i < parser->problem_offset && i < reader->text.len; i++) {
            unsigned char c = (unsigned char)reader->text.ptr[i];
            if (c == '\n') {
                line++;
                column = 1;
            } else if ((c & 0xc0) != 0x80) {
                column++;
            }
        }
        return error_at(reader->err, ERR_INVALID, line, column, "the text is not UTF-8 here: %s", parser->problem);
    }
    if (parser->error == YAML_MEMORY_ERROR)
        return error_set(reader->err, ERR_LIMIT, "no memory is left to read the text");
    return error_at(reader->err, ERR_INVALID, (uint32_t)parser->problem_mark.line + 1,
                    (uint32_t)parser->problem_mark.column + 1, "%s%s%s", parser->problem ? parser->problem : "no YAML",
                    parser->context ? ", " : "", parser->context ? parser->context : "");
}

/* One event; *out_done at the end of the stream. */
static Status take_event(YamlReader *reader, const yaml_event_t *event, uint32_t *documents, bool *out_done)
{
    Node at = node_at(event, NODE_NULL);
    switch (event->type) {
    case YAML_ALIAS_EVENT:
        return take_alias(reader, event);
    case YAML_SCALAR_EVENT:
        return take_scalar(reader, event);
    case YAML_SEQUENCE_START_EVENT:
        return take_open(reader, event, NODE_LIST);
    case YAML_MAPPING_START_EVENT:
        return take_open(reader, event, NODE_MAP);
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT:
        return take_close(reader);
    case YAML_DOCUMENT_START_EVENT:
        if (++*documents > 1) return refuse(reader, &at, "a file holds one definition: a second document begins here");
        return OK;
    case YAML_STREAM_END_EVENT:
        *out_done = true;
        if (*documents == 0) return error_at(reader->err, ERR_INVALID, 1, 1, "the file is empty");
        return OK;
    case YAML_NO_EVENT:
    case YAML_STREAM_START_EVENT:
    case YAML_DOCUMENT_END_EVENT:
        return OK;
    }
    return OK;
}

Status node_read_yaml(NodeBuilder *builder, Str text, Error *err)
{
    YamlReader reader = { .builder = builder, .text = text, .err = err };
    if (!yaml_parser_initialize(&reader.parser)) return error_set(err, ERR_LIMIT, "no memory is left to read the text");
    yaml_parser_set_encoding(&reader.parser, YAML_UTF8_ENCODING);
    if (str_starts(text, STR("\xef\xbb\xbf"))) text = str_slice(text, 3, text.len);      /* some editors write one */
    if (!text.len) text = STR("");          /* libyaml permits no null pointer, which a body of no bytes has */
    yaml_parser_set_input_string(&reader.parser, (const unsigned char *)text.ptr, text.len);
    map_init(&reader.anchor_names, builder->arena, 0);

    Status status = OK;
    bool done = false;
    uint32_t documents = 0;
    while (!status && !done) {
        yaml_event_t event;
        if (!yaml_parser_parse(&reader.parser, &event)) {
            status = parse_error(&reader);
            break;
        }
        status = take_event(&reader, &event, &documents, &done);
        yaml_event_delete(&event);
    }
    yaml_parser_delete(&reader.parser);
    return status;
}
