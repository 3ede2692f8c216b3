/* type.h - the simple types by which parameters and outputs are declared.
 *
 * Each accepts exactly the JSON values of that type; an integer is a number without a fraction, however it is written.
 *
 * Owns: nothing.     Fails: never.     Thread: pure, any.
 */
#ifndef CORE_TYPE_H
#define CORE_TYPE_H

#include "value/value.h"

/* `type` is "string", "integer", "number", "boolean", "object" or "array". */
bool type_accepts(Str type, Value value);

#endif
