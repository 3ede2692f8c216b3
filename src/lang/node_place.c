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
    uint32_t indent;                /* of a block scalar: so many spaces before each line are none of its text */
    bool is_block;
    bool in_break;                  /* the last character was a break whose first, folded newline has been stepped over */
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

/* What stands before a line and is none of its text. */
static void skip_indent(Cursor *cursor)
{
    if (!cursor->is_block) {
        skip_blanks(cursor);
        return;
    }
    while (cursor->column <= cursor->indent && peek(cursor, 0) == ' ') step(cursor);
    if (peek(cursor, 0) == '\r') step(cursor);
}

/* Anchors and tags before the scalar itself. */
static void skip_properties(Cursor *cursor)
{
    while (peek(cursor, 0) == '&' || peek(cursor, 0) == '!') {
        while (cursor->at < cursor->source.len && peek(cursor, 0) != ' ' && peek(cursor, 0) != '\n') step(cursor);
        skip_blanks(cursor);
    }
}

/* Behind the header of a block scalar: its indentation is that of its first line with text, less what the text itself
 * begins with. */
static void enter_block(Cursor *cursor, Str text)
{
    cursor->is_block = true;
    while (cursor->at < cursor->source.len && peek(cursor, 0) != '\n') step(cursor);
    step(cursor);
    Cursor first = *cursor;
    while (peek(&first, 0) == ' ' || peek(&first, 0) == '\r' || peek(&first, 0) == '\n') {
        step(&first);
    }
    uint32_t lead = 0;
    for (size_t i = 0; i < text.len && (text.ptr[i] == ' ' || text.ptr[i] == '\n'); i++)
        lead = text.ptr[i] == ' ' ? lead + 1 : 0;
    cursor->indent = first.column - 1 - lead;
    skip_indent(cursor);
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

/* An escaped break of a double-quoted text is none of its characters. */
static void skip_escaped_breaks(Cursor *cursor)
{
    while (peek(cursor, 0) == '\\' && (peek(cursor, 1) == '\n' || peek(cursor, 1) == '\r')) {
        step_by(cursor, peek(cursor, 1) == '\r' ? 3 : 2);
        skip_blanks(cursor);
    }
}

/* Newlines that the text has here. */
static size_t breaks_of(Str text)
{
    size_t count = 0;
    while (count < text.len && text.ptr[count] == '\n') count++;
    return count;
}

/* Newlines that the source has here, with nothing but blanks between them. */
static size_t breaks_ahead(const Cursor *cursor)
{
    size_t count = 0;
    for (size_t at = cursor->at; at < cursor->source.len; at++) {
        char c = cursor->source.ptr[at];
        if (c != ' ' && c != '\t' && c != '\r' && c != '\n') break;
        count += c == '\n';
    }
    return count;
}

/* Steps over what the source has for the first character of `rest`. */
static void follow(Cursor *cursor, char quote, Str rest)
{
    if (quote == '"') skip_escaped_breaks(cursor);
    bool is_break = peek(cursor, 0) == '\n' || (peek(cursor, 0) == '\r' && peek(cursor, 1) == '\n');
    bool was_break = cursor->in_break;
    cursor->in_break = is_break;
    if (is_break) {
        skip_blanks(cursor);
        step(cursor);
        skip_indent(cursor);
        /* Folding drops the first of several newlines (but not beside lines that are indented further): where the source
         * has one more than the text, it is stepped over with this one. */
        if (!was_break && breaks_ahead(cursor) >= breaks_of(rest) && rest.ptr[0] == '\n') {
            step(cursor);
            skip_indent(cursor);
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
    skip_properties(&cursor);
    char first = peek(&cursor, 0), quote = first == '"' || first == '\'' ? first : '\0';
    if (quote) {
        step(&cursor);
    } else if (first == '|' || first == '>') {
        enter_block(&cursor, node_text(scalar));
    }
    Str text = node_text(scalar);
    size_t at = 0;
    for (uint32_t i = 0; i < offset && at < text.len && cursor.at < source.len; i++) {
        Str rest = str_slice(text, at, text.len);
        uint32_t point;
        size_t size = utf8_decode(rest, &point);
        follow(&cursor, quote, rest);
        at += size ? size : 1;
    }
    if (quote == '"') skip_escaped_breaks(&cursor);
    return (NodePlace){ cursor.line, cursor.column };
}

/* --- places in another text -------------------------------------------------------------------------------------- */

enum { PLACE_NUMBERS = 3 };         /* line, column, width */

static bool place_take(const Node *places, uint32_t *at, uint32_t out[PLACE_NUMBERS])
{
    for (int i = 0; i < PLACE_NUMBERS; i++, ++*at) {
        uint64_t number;
        if (*at >= places->count || places->items[*at].kind != NODE_NUMBER) return false;
        if (!str_to_u64(node_text(&places->items[*at]), &number) || number > UINT32_MAX) return false;
        out[i] = (uint32_t)number;
    }
    return true;
}

/* A literal in quotes is two wider than its text; what is not that wide is no literal, or one with escapes. */
static bool relocate(Node *node, const Node *places, uint32_t *at)
{
    uint32_t place[PLACE_NUMBERS];
    if (!place_take(places, at, place)) return false;
    node->line = place[0];
    node->column = place[1];
    node->width = place[2];
    if (node_is_scalar(node)) {
        node->inner = utf8_count(node_text(node)) + 2 == node->width ? 1 : NODE_ELSEWHERE;
        return true;
    }
    uint32_t count = node->kind == NODE_MAP ? 2 * node->count : node->count;
    for (uint32_t i = 0; i < count; i++)
        if (!relocate(&node->items[i], places, at)) return false;
    return true;
}

bool node_relocate(Node *root, const Node *places)
{
    uint32_t at = 0;
    return places->kind == NODE_LIST && relocate(root, places, &at) && at == places->count;
}
