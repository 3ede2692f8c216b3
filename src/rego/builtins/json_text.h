/* json_text.h - JSON as the policy language writes and reads it.
 *
 * Sets are written as arrays, keys that are no strings by their own JSON text. Reading is strict in grammar but
 * lenient in encoding, and a refusal is worded as Go words it, since policies' tests look at it.
 *
 * Owns: nothing.     Fails: json_text_parse() with BUILTIN_ERROR, beyond limits with BUILTIN_HALT.     Thread: any.
 */
#ifndef REGO_BUILTINS_JSON_TEXT_H
#define REGO_BUILTINS_JSON_TEXT_H

#include "base/arena.h"
#include "base/buf.h"
#include "rego/builtins/builtin.h"

void          json_text_print(Buf *buf, Value value);
BuiltinResult json_text_parse(BuiltinContext *context, Str text, Value *out_value, Error *err);
/* The object with all its keys as strings, sorted anew; itself where they are. */
Value         json_named_members(Arena *arena, Value object);
/* Writes why a text is no JSON: "invalid character 'x' looking for beginning of value"; false where it is. */
bool          json_explain(Buf *buf, Str text);

#endif
