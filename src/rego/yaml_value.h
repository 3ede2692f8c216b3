/* yaml_value.h - YAML text to a value, as Rego's metadata blocks and YAML builtins need it.
 *
 * One document. Plain scalars are typed by the core rules: null, true and false in their three spellings, integers
 * (decimal, 0x, 0o, 0b), decimal fractions; everything else is a string, dates and infinities included. Keys become
 * strings. Anchors and aliases work; a merge key (<<) adds the members that are not there. Of tags, those that type a quoted
 * scalar (!!int "1") count; !!str before a plain scalar is lost in the library that reads.
 *
 * Owns:   nothing; the value lives in `arena`.
 * Fails:  ERR_INVALID with line and column; ERR_LIMIT beyond JSON_DEPTH_MAX or REGO_YAML_NODE_COUNT_MAX.
 * Thread: pure, any.
 */
#ifndef REGO_YAML_VALUE_H
#define REGO_YAML_VALUE_H

#include "base/arena.h"
#include "base/status.h"
#include "value/value.h"

/* An empty text is null. */
MUST_USE Status yaml_value_read(Arena *arena, Str text, Value *out_value, Error *err);

#endif
