#include "base/limits.h"
#include "base/utf8.h"
#include "lang/node_build.h"
#include "value/json.h"

static Status push_scalar(NodeBuilder *builder, Node node, Str text, Error *err)
{
    Str copy = arena_copy(builder->arena, text);
    node.text = copy.ptr;
    node.count = (uint32_t)copy.len;
    if (node.kind == NODE_TEXT) node.inner = utf8_count(copy) + 2 == node.width ? 1 : NODE_SCATTERED;
    return node_push(builder, node, 1, err);
}

static Status take(void *context, const JsonEvent *event, Error *err)
{
    static const uint8_t kinds[] = {
        [JSON_NULL] = NODE_NULL,        [JSON_FALSE] = NODE_BOOL,     [JSON_TRUE] = NODE_BOOL,
        [JSON_NUMBER] = NODE_NUMBER,    [JSON_STRING] = NODE_TEXT,    [JSON_KEY] = NODE_TEXT,
        [JSON_ARRAY_BEGIN] = NODE_LIST, [JSON_ARRAY_END] = NODE_LIST, [JSON_OBJECT_BEGIN] = NODE_MAP,
        [JSON_OBJECT_END] = NODE_MAP,
    };
    NodeBuilder *builder = context;
    Node node = {
        .kind = kinds[event->token], .truth = event->token == JSON_TRUE,
        .line = event->line, .column = event->column, .width = event->width,
    };
    if (event->token == JSON_ARRAY_BEGIN || event->token == JSON_OBJECT_BEGIN) return node_open(builder, node, err);
    if (event->token == JSON_ARRAY_END || event->token == JSON_OBJECT_END) return node_close(builder, err);
    return push_scalar(builder, node, event->text, err);
}

Status node_read_json(NodeBuilder *builder, Str text, Error *err)
{
    JsonReader reader;
    json_reader_init(&reader, (JsonSink){ take, builder }, NULL);
    Status status = json_reader_feed(&reader, text, err);
    if (!status) status = json_reader_end(&reader, err);
    json_reader_deinit(&reader);
    return status;
}
