/* format_lines.h - the lines that a formatter writes, and the comments that go between them.
 *
 * Comments are no part of the tree. They wait in a queue, in the order of the text, and each is written at the first place
 * behind it where a line may end: before a node, those that stand before it, on lines of their own; at the end of a line, the
 * one that stands on the same row. So no comment is lost, none is written twice, and none moves before what it followed.
 *
 * Owns:   a table of rows in the arena given to format_lines_init().
 * Bounds: the text.     Thread: one at a time.
 */
#ifndef REGO_FORMAT_LINES_H
#define REGO_FORMAT_LINES_H

#include "base/arena.h"
#include "base/buf.h"
#include "rego/ast.h"

typedef struct FormatLines {
    Buf *out;
    const RegoModule *module;
    uint32_t *starts;           /* offset of each row's first byte */
    uint32_t row_count;
    uint32_t comment;           /* the next one to be written */
    uint32_t indent;
} FormatLines;

void format_lines_init(FormatLines *lines, Arena *scratch, const RegoModule *module, Buf *out);

/* --- the source --------------------------------------------------------------------------------------------------- */

uint32_t format_row(const FormatLines *lines, uint32_t offset);             /* from 0 */
static inline uint32_t format_end(RegoLoc loc) { return loc.offset + loc.size; }
static inline uint32_t format_row_begin(const FormatLines *lines, RegoLoc loc) { return format_row(lines, loc.offset); }
/* Of the last byte. */
static inline uint32_t format_row_end(const FormatLines *lines, RegoLoc loc)
{
    return format_row(lines, loc.size ? format_end(loc) - 1 : loc.offset);
}
/* Where the brace stands that closes a body whose last expression ends at `offset`; `offset` itself where there is none. */
uint32_t format_brace_after(const FormatLines *lines, uint32_t offset);
bool format_has_comment(const FormatLines *lines, uint32_t from, uint32_t to);  /* not yet written, between two offsets */

/* --- writing ------------------------------------------------------------------------------------------------------ */

void format_line_begin(FormatLines *lines);                     /* the indentation */
/* A comment that waits, stands before `offset` and on a row up to that one, then the newline. */
void format_line_end(FormatLines *lines, uint32_t row, uint32_t offset);
void format_line_blank(FormatLines *lines);
/* All comments that wait and stand before `offset`, each on its own line. Blank lines between them stay, and the one behind
 * the last where something follows. True where there was one. */
bool format_comments(FormatLines *lines, uint32_t offset, bool is_end);

#endif
