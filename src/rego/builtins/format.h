/* format.h - sprintf: the verbs of Go's fmt package, for the values of the policy language.
 *
 * A number written as an integer is printed as one (%d %x ...), any other number as a double (%f %e %g ...), a string
 * as itself, and every other value as the text of its term. A verb that does not fit its argument is no error: it
 * prints "%!d(string=x)", and so do arguments that are missing or too many.
 *
 * Fails: never; the Buf remembers an overflow.     Bounds: widths and precisions of at most FORMAT_WIDTH_MAX.
 * Thread: pure, any.
 */
#ifndef REGO_BUILTINS_FORMAT_H
#define REGO_BUILTINS_FORMAT_H

#include "base/buf.h"
#include "rego/builtins/builtin.h"
#include "value/value.h"

/* Takes the steps that format_print() would; false where they are not left. */
bool format_spend(BuiltinContext *context, Str format, const Value *args, uint32_t count, Error *err);
void format_print(Buf *buf, Str format, const Value *args, uint32_t count);
/* The same for templates, whose arguments Go has as they are: those that are not `literals` are data, in which a number is
 * text (json.Number), and lists and maps take a verb for each of their items. */
void format_print_data(Buf *buf, Str format, const Value *args, const bool *literals, uint32_t count);
/* The value as %v prints it. */
void format_value(Buf *buf, Value value);

#endif
