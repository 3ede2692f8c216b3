/* token.h - the fencing token of a lease: which attempt it is of, in numbers.
 *
 * `RUN.STEP.ATTEMPT.HOLDER.SERIAL`. The holder has the epoch of the log's owner in it, so that a token of an earlier owner is told
 * from one of this; the serial tells attempts of the same number apart. Whoever makes one up names an attempt that is not under
 * way, or one of his own queue: the core takes a report from the holder of the attempt alone.
 *
 * Owns: nothing.     Fails: token_read() answers false for a text that is none.     Bounds: TOKEN_SIZE_MAX.     Thread: any.
 */
#ifndef EXEC_WORKER_TOKEN_H
#define EXEC_WORKER_TOKEN_H

#include "engine/executor.h"

#define TOKEN_SIZE_MAX 104u

Str      token_print(const AttemptId *id, char out[TOKEN_SIZE_MAX]);
bool     token_read(Str text, AttemptId *out_id);
uint64_t token_hash(const AttemptId *id);               /* never 0 */

#endif
