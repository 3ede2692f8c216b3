/* yaml_read.h - YAML text to a value: for the builtins, for METADATA blocks and for data files.
 *
 * The first document of a text; those behind it have to be YAML too. Plain scalars are typed as yaml_scalar.h says, keys
 * become strings, anchors and aliases work, a merge key (<<) adds the members that are not there, and tags that ask for a
 * type are obeyed. What JSON cannot hold (.inf, a list as a key) is refused.
 *
 * Owns:   nothing; the value lives in `arena`.
 * Fails:  ERR_INVALID, the text as Go's reader would put it and the place in line and column; ERR_LIMIT beyond
 *         REGO_YAML_NODE_COUNT_MAX.
 * Bounds: JSON_DEPTH_MAX.     Thread: pure, any.
 */
#ifndef REGO_BUILTINS_YAML_READ_H
#define REGO_BUILTINS_YAML_READ_H

#include "base/arena.h"
#include "base/status.h"
#include "value/value.h"

/* An empty text is null. */
MUST_USE Status yaml_value_read(Arena *arena, Str text, Value *out_value, Error *err);
/* The same, but numbers stay as they are written, so that a title of 1.50 is that. */
MUST_USE Status yaml_metadata_read(Arena *arena, Str text, Value *out_value, Error *err);

#endif
