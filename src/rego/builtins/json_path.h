/* json_path.h - the paths that json.filter, json.remove and json.patch take.
 *
 * A path is an array of keys, or a string "a/b/0" in the notation of JSON pointers (RFC 6901, where the slash in
 * front may be left out). The form used inside is the array.
 *
 * Owns: nothing.     Fails: with BUILTIN_TYPE_ERROR for what is no path.     Thread: any.
 */
#ifndef REGO_BUILTINS_JSON_PATH_H
#define REGO_BUILTINS_JSON_PATH_H

#include "rego/builtins/builtin.h"

/* `path` as an array of keys; the empty array for the whole document. It belongs to operand 2. */
BuiltinResult json_path_read(BuiltinContext *context, Value path, Value *out_keys, Error *err);

#endif
