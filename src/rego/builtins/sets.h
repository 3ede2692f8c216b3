/* sets.h - the operations on sets that operators and builtins share.
 *
 * Sets are sorted, so each is one walk through both.
 *
 * Owns: nothing; results live in the context's arena.     Fails: with BUILTIN_HALT alone.     Thread: any.
 */
#ifndef REGO_BUILTINS_SETS_H
#define REGO_BUILTINS_SETS_H

#include "rego/builtins/builtin.h"

BuiltinResult set_union(BuiltinContext *context, Value a, Value b, Value *out_set, Error *err);
BuiltinResult set_intersection(BuiltinContext *context, Value a, Value b, Value *out_set, Error *err);
BuiltinResult set_difference(BuiltinContext *context, Value a, Value b, Value *out_set, Error *err);

#endif
