/* yaml_write.h - nodes as YAML that people like to read: block style, quotes only where they are needed.
 *
 * What is written reads back as the same nodes, whatever the texts hold; places and the spelling of scalars are not kept.
 *
 * Owns:   nothing.
 * Fails:  never; overflow of the buffer is the caller's to look at.
 * Bounds: depth is that of nodes. A text with U+0000, which JSON can hold, is written but refused when it is read.
 * Thread: pure, any.
 */
#ifndef LANG_YAML_WRITE_H
#define LANG_YAML_WRITE_H

#include "base/buf.h"
#include "lang/node.h"

#define YAML_INDENT 2u

/* A text as a scalar on one line: plain, or in double quotes. */
void yaml_write_text(Buf *out, Str text);
/* "key: value" in lines of their own, `indent` spaces before each. */
void yaml_write_pair(Buf *out, unsigned indent, Str key, const Node *value);
void yaml_write_text_pair(Buf *out, unsigned indent, const char *key, Str text);
/* "key:", for what the caller writes below it. */
void yaml_write_key(Buf *out, unsigned indent, Str key);
/* The text as comments of at most YAML_COMMENT_WIDTH columns, broken between words. */
#define YAML_COMMENT_WIDTH 110u
void yaml_write_comment(Buf *out, unsigned indent, Str text);
/* Lines of YAML, commented out. */
void yaml_write_commented(Buf *out, unsigned indent, Str yaml);

#endif
