/* json.h - JSON text to values and back (RFC 8259).
 *
 * The reader takes its text in pieces of any size, cut anywhere, and calls a sink for each token it has seen whole; it
 * never recurses. The common sink makes a Value; definitions use another that keeps the place of every token. It is
 * strict: UTF-8 only, no byte order mark, no trailing comma, no comment. Choices that the RFC leaves open:
 *   - of members with equal names the last one counts (sinks that want to refuse them see both);
 *   - an escaped surrogate without its partner is refused, since no UTF-8 text can hold it;
 *   - numbers are kept exactly; an exponent beyond NUMBER_EXPONENT_MAX is refused.
 * How a text is cut into pieces has no influence on what comes out, the place and text of an error included.
 *
 * Owns:   a JsonReader owns the piece of a token that was cut; values live in the arena given.
 * Fails:  ERR_INVALID with line and column of the first character that is wrong; ERR_LIMIT beyond depth or size.
 * Bounds: JSON_DEPTH_MAX, JSON_SIZE_MAX, or the caller's tighter ones.     Thread: one at a time for each reader.
 */
#ifndef VALUE_JSON_H
#define VALUE_JSON_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/limits.h"
#include "base/status.h"
#include "value/value.h"

/* --- whole texts ------------------------------------------------------------------------------------------------- */

MUST_USE Status json_parse(Arena *arena, Str text, Value *out_value, Error *err);

/* The same; an object that has a member twice is refused: for what somebody else may have read before, and taken the first of them. */
MUST_USE Status json_parse_strict(Arena *arena, Str text, Value *out_value, Error *err);

typedef enum JsonStyle {
    JSON_COMPACT,           /* one line, no spaces */
    JSON_PRETTY,            /* two spaces a level, one member a line */
} JsonStyle;

/* Writes the value; numbers as they were written. ERR_INVALID where it holds a set or a key that is no string, ERR_LIMIT
 * where the buffer is too small or the value too deep to be read again; what the buffer holds is of no use then. */
MUST_USE Status json_print(Buf *buf, Value value, JsonStyle style, Error *err);
void json_print_string(Buf *buf, Str text);         /* quoted and escaped */

/* --- texts in pieces --------------------------------------------------------------------------------------------- */

typedef enum JsonToken {
    JSON_NULL,
    JSON_FALSE,
    JSON_TRUE,
    JSON_NUMBER,            /* text: as written, its grammar already checked */
    JSON_STRING,            /* text: decoded */
    JSON_KEY,               /* the same, before a member's value */
    JSON_ARRAY_BEGIN,
    JSON_ARRAY_END,
    JSON_OBJECT_BEGIN,
    JSON_OBJECT_END,
} JsonToken;

typedef struct JsonEvent {
    JsonToken token;
    Str text;                       /* valid during the call */
    uint32_t line, column;          /* of the token's first character, both from 1, in characters */
    uint32_t width;                 /* characters that the token takes in the text */
    uint64_t offset;                /* of the token's first byte */
} JsonEvent;

typedef struct JsonSink {
    Status (*event)(void *context, const JsonEvent *event, Error *err);
    void *context;
} JsonSink;

typedef struct JsonOptions {
    uint32_t depth_max;             /* 0 means JSON_DEPTH_MAX */
    uint64_t size_max;              /* 0 means JSON_SIZE_MAX */
} JsonOptions;

typedef struct JsonReader {
    JsonSink sink;
    JsonOptions options;
    uint8_t expect;                 /* what may come next */
    uint8_t mode;                   /* inside which kind of token, if any */
    bool is_key;                    /* the string under way is a member's name; */
    bool escaped;                   /* its last byte was an open backslash; */
    bool has_special;               /* it has backslashes or control characters; */
    uint64_t bits;                  /* the bits of its other bytes: whether all are ASCII */
    uint32_t depth;
    uint64_t is_object[JSON_DEPTH_MAX / 64];    /* a bit for each open container */
    uint64_t offset;                /* bytes seen before the present piece */
    uint32_t line, column;          /* of the next character, or of the first one of the token under way */
    uint64_t token_offset;          /* of that token's first byte */
    Buf cut;                        /* the part of a token that earlier pieces held */
    Buf decoded;                    /* a string whose escapes were replaced */
} JsonReader;

void json_reader_init(JsonReader *reader, JsonSink sink, const JsonOptions *options);
void json_reader_deinit(JsonReader *reader);
MUST_USE Status json_reader_feed(JsonReader *reader, Str piece, Error *err);
MUST_USE Status json_reader_end(JsonReader *reader, Error *err);     /* the text is over: is it whole? */

/* The sink that makes a value. It refuses with ERR_LIMIT what does not fit a limited arena. */
typedef struct JsonBuilder {
    Arena *arena;
    Value *stack;                   /* values not yet in a container; each open one begins with its mark */
    size_t count, capacity;
    size_t *marks;
    size_t mark_count, mark_capacity;
    Arena scratch;                  /* for sorting large objects */
    bool is_strict;                 /* a member that is there twice is refused; */
    Str twice;                      /* that one; NULL: none */
} JsonBuilder;

void     json_builder_init(JsonBuilder *builder, Arena *arena);
void     json_builder_deinit(JsonBuilder *builder);
JsonSink json_builder_sink(JsonBuilder *builder);
Value    json_builder_take(JsonBuilder *builder);    /* after json_reader_end() was OK */

#endif
