/* text.h - values and strings written the way messages of the policy language show them.
 *
 * A value is printed as a term of the language: {"a": [1, "x"]}, {1, 2}, set(). A string is quoted with the escapes
 * of Go, in which OPA is written.
 *
 * Owns: nothing.     Fails: never; the Buf remembers an overflow.     Thread: pure, any.
 */
#ifndef REGO_BUILTINS_TEXT_H
#define REGO_BUILTINS_TEXT_H

#include "base/buf.h"
#include "base/str.h"
#include "value/value.h"

void value_print(Buf *buf, Value value);
/* Writes the run of printable ASCII without quotes and backslashes that begins at `at`, which stands in quotes as it is;
 * returns its size, perhaps 0. */
size_t text_print_plain(Buf *buf, Str text, size_t at);
/* In double quotes; what is not printable as \n, \x7f, \u0085, \U0001f600. */
void text_quote(Buf *buf, Str text);
/* The same without characters beyond ASCII. */
void text_quote_ascii(Buf *buf, Str text);
/* The same with every byte beyond ASCII, and every control character, as \x1f: Go's messages about time have it so. */
void text_quote_bytes(Buf *buf, Str text);
/* One character in single quotes. */
void rune_quote(Buf *buf, uint32_t rune, bool ascii_only);

#endif
