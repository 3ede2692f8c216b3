/* pattern_read.h - private to pattern.c: an expression of ECMA-262 rewritten in the notation of PCRE2.
 *
 * One pass from left to right without recursion; the only memory is a bit for each open group. Errors count characters
 * from 1, as an author sees them.
 */
#ifndef VALUE_PATTERN_READ_H
#define VALUE_PATTERN_READ_H

#include "base/buf.h"
#include "base/status.h"
#include "base/str.h"

typedef struct PatternText {
    Buf *buf;                           /* the rewritten expression */
    bool has_reference;                 /* \1 or \k<name> occurs, so groups must capture */
    uint32_t repeat_min;                /* the largest count that must be matched before anything else is tried */
} PatternText;

MUST_USE Status pattern_rewrite(Str text, PatternText *out, Error *err);

#endif
