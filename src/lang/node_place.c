/* A place inside a scalar that the file writes in another way than its text reads: block scalars, escapes, folded lines.
 *
 * Source and text are followed side by side. What is in the source alone (indentation, the header of a block, quotes, the
 * backslash and digits of an escape) is stepped over; a line break in the source may be a break, a space, or nothing in the
 * text. Where the two stop agreeing the search ends, and the last place that was certain is the answer. */
#include "base/utf8.h"
#include "lang/node.h"

typedef struct Cursor {
    Str source;
    size_t at;
    uint32_t line, column;
} Cursor;

static char peek(const Cursor *cursor, size_t ahead)
{
    return cursor->at + ahead < cursor->source.len ? cursor->source.ptr[cursor->at + ahead] : '\0';
}

/* One character of the source. */
static void step(Cursor *cursor)
{
    if (peek(cursor, 0) == '\n') {
        cursor->line++;
        cursor->column = 1;
        cursor->at++;
        return;
    }
    do cursor->at++;
    while (((unsigned char)peek(cursor, 0) & 0xc0) == 0x80);
    cursor->column++;
}

static void step_by(Cursor *cursor, size_t count)
{
    for (size_t i = 0; i < count && cursor->at < cursor->source.len; i++) step(cursor);
}

static void skip_blanks(Cursor *cursor)
{
    while (peek(cursor, 0) == ' ' || peek(cursor, 0) == '\t' || peek(cursor, 0) == '\r') step(cursor);
}

static Cursor cursor_at(Str source, uint32_t line, uint32_t column)
{
    Cursor cursor = { source, 0, 1, 1 };
    while (cursor.line < line && cursor.at < source.len) {
        size_t end = str_find(source, '\n', cursor.at);
        cursor.at = end < source.len ? end + 1 : end;
        cursor.line++;
    }
    while (cursor.column < column && cursor.at < source.len) step(&cursor);
    return cursor;
}

/* Characters that an escape of a double-quoted text takes; 1 where none stands here. */
static size_t escape_size(const Cursor *cursor)
{
    if (peek(cursor, 0) != '\\') return 1;
    switch (peek(cursor, 1)) {
    case 'x': return 4;
    case 'U': return 10;
    case 'u': {
        bool is_pair =
            (peek(cursor, 2) == 'd' || peek(cursor, 2) == 'D') && peek(cursor, 6) == '\\' && peek(cursor, 7) == 'u';
        return is_pair ? 12 : 6;
    }
    default: return 2;
    }
}

/* Steps over what the source has for one character of the text. */
static void follow(Cursor *cursor, char quote, uint32_t point)
{
    bool is_break = peek(cursor, 0) == '\n' || (peek(cursor, 0) == '\r' && peek(cursor, 1) == '\n');
    if (is_break) {                                     /* a break, or several folded into one character */
        skip_blanks(cursor);
        step(cursor);
        skip_blanks(cursor);
        while (point == ' ' && peek(cursor, 0) == '\n') {
            step(cursor);
            skip_blanks(cursor);
        }
    } else if (quote == '"') {
        step_by(cursor, escape_size(cursor));
    } else if (quote == '\'' && peek(cursor, 0) == '\'' && peek(cursor, 1) == '\'') {
        step_by(cursor, 2);
    } else {
        step(cursor);
    }
}

NodePlace node_place(const Node *scalar, Str source, uint32_t offset)
{
    Cursor cursor = cursor_at(source, scalar->line, scalar->column);
    char first = peek(&cursor, 0), quote = first == '"' || first == '\'' ? first : '\0';
    if (quote) {
        step(&cursor);
    } else if (first == '|' || first == '>') {          /* the header's line is none of the text's */
        while (cursor.at < source.len && peek(&cursor, 0) != '\n') step(&cursor);
        step(&cursor);
        skip_blanks(&cursor);
    }
    Str text = node_text(scalar);
    size_t at = 0;
    for (uint32_t i = 0; i < offset && at < text.len && cursor.at < source.len; i++) {
        uint32_t point = 0;
        size_t size = utf8_decode(str_slice(text, at, text.len), &point);
        at += size ? size : 1;
        follow(&cursor, quote, point);
    }
    return (NodePlace){ cursor.line, cursor.column };
}
