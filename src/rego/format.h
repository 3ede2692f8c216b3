/* format.h - a module in the one style that Rego authors share.
 *
 * Tabs, one expression a line, operators with spaces, parentheses where they say something, `:=` where v1 permits it. What
 * an author decided by line breaks stays decided: a list whose items stand on several lines keeps its lines, a body of one
 * expression on the line of its head stays there, one blank line between expressions or rules stays one. Comments stay
 * where they are. The layout is the one that `opa fmt` writes; where that one would move a comment away from its place or
 * drop parentheses that carry meaning, this one does not.
 *
 * Formatting what was formatted gives the same bytes, and its tree is that of the source, but for three spellings that mean
 * the same: `p if true` is `p := true`, the head's `=` is `:=` in v1, and v0 with the keywords imported uses them.
 *
 * Owns:   nothing; `scratch` holds a table of lines.
 * Fails:  by the buffer's sticky overflow.
 * Bounds: the tree's height.     Thread: pure, any.
 */
#ifndef REGO_FORMAT_H
#define REGO_FORMAT_H

#include "base/arena.h"
#include "base/buf.h"
#include "rego/ast.h"

/* `module` is what rego_parse_module() made, its text and comments included. */
void rego_format_module(Arena *scratch, const RegoModule *module, Buf *out);

#endif
