/* redact.h - the secrets that an attempt got, taken out of what it says.
 *
 * Secrets are filled into an attempt when it is handed over and are in no record; but a runner may print them, fail with them or
 * give them as its output. So whatever it says passes here before it enters the engine, and each value is replaced by ***: as
 * it is, as JSON writes it between quotes, and, of a value of several lines, each line by itself. Values shorter than
 * SECRET_REDACT_SIZE_MIN bytes are left: they would be found everywhere. A value that was changed first (base64, a part of it)
 * is not found; where a text was cut off inside of a value, the part that is left is.
 *
 * Owns:   a Redaction has copies of the values, and wipes them when it is freed. Results live in the arena, or are what was
 *         given.
 * Fails:  never.     Bounds: SECRET_SIZE_MAX a value.     Thread: one at a time.
 */
#ifndef ENGINE_REDACT_H
#define ENGINE_REDACT_H

#include "base/arena.h"
#include "engine/executor.h"

typedef struct Redaction Redaction;     /* NULL: nothing is taken out */

void  redaction_add(Redaction **redaction, Str value);
void  redaction_free(Redaction *redaction);             /* NULL is permitted */

Str   redact_text(const Redaction *redaction, Arena *arena, Str text);
Value redact_value(const Redaction *redaction, Arena *arena, Value value);
/* All that it says. */
Notice redact_notice(const Redaction *redaction, Arena *arena, const Notice *notice);

#endif
