/* sets.h - the operation on sets that an operator shares with numbers.
 *
 * Sets are sorted, so it is one walk through both.
 *
 * Owns: nothing; results live in the context's arena.     Fails: with BUILTIN_HALT alone.     Thread: any.
 */
#ifndef REGO_BUILTINS_SETS_H
#define REGO_BUILTINS_SETS_H

#include "rego/builtins/builtin.h"

/* The items of `a` that are not in `b`. */
BuiltinResult set_difference(BuiltinContext *context, Value a, Value b, Value *out_set, Error *err);

#endif
