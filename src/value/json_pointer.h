/* json_pointer.h - JSON pointers (RFC 6901): the address of a place inside a value.
 *
 * A pointer is a sequence of tokens, each written behind a slash with ~ as ~0 and / as ~1; the empty pointer is the
 * whole value. Every report about a place in a JSON document uses this notation.
 *
 * Owns: nothing.     Fails: by answering false or NULL.     Bounds: the buffers given.     Thread: pure, any.
 */
#ifndef VALUE_JSON_POINTER_H
#define VALUE_JSON_POINTER_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/str.h"
#include "value/value.h"

void json_pointer_add(Buf *buf, Str token);             /* "/" and the token, escaped */
void json_pointer_add_index(Buf *buf, uint32_t index);
Str  json_pointer_below(Arena *arena, Str place, Str token);        /* the place of that name below another */

bool json_pointer_is_valid(Str pointer);
/* Takes the first token off a valid pointer and writes it decoded to `token`, cleared before; false at its end. */
bool json_pointer_next(Str *pointer, Buf *token);
/* The member of that name, or the item of that index where `container` is an array; NULL where there is none. */
const Value *json_pointer_step(Value container, Str token);

#endif
