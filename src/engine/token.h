/* token.h - the token of an attempt: which one it is of, and a code that shows who gave it out.
 *
 *   RUN.STEP.ATTEMPT.HOLDER.SERIAL.QUEUE.CODE       numbers, and 32 hexadecimal digits
 *
 * Whoever carries an attempt out elsewhere, a worker or a service that calls back, names it by this text in everything that it says. The
 * numbers fence: the holder has the epoch of the log's owner in it, so that a token of an earlier owner is told from one of this, and the
 * serial tells attempts of the same number apart. The code authenticates: it is keyed BLAKE2b over the numbers and the name of the
 * executor, cut to 128 bits, under a key that is made of the store's key file. So nobody names an attempt that he was not given, not
 * by guessing numbers, and not at another executor; and the next owner of the store knows the token, with nothing stored.
 *
 * QUEUE stands for the name of the queue that the attempt was given out by (0: none): an owner that knows the attempt by the ledger alone
 * learns by it whether a credential of some queues may speak of it.
 *
 * Owns:   nothing; a scope borrows.     Fails: token_read() answers false for a text that is none.
 * Bounds: TOKEN_SIZE_MAX; no call allocates.     Thread: any.
 */
#ifndef ENGINE_TOKEN_H
#define ENGINE_TOKEN_H

#include "engine/executor.h"
#include "secret/seal.h"

#define TOKEN_SIZE_MAX 136u

/* Whose tokens they are. */
typedef struct TokenScope {
    const SealKey *key;             /* vault_token_key() */
    Str executor;
} TokenScope;

typedef struct Token {
    AttemptId id;
    uint32_t queue;
    uint8_t code[SEAL_CODE_SIZE];
} Token;

Str      token_print(const TokenScope *scope, const AttemptId *id, uint32_t queue, char out[TOKEN_SIZE_MAX]);
/* What it says. A text that begins as one and has no code, or another end, is read as a token that is not genuine: to whoever sent it
 * that is an attempt which is not under way, and no mistake of his. */
bool     token_read(Str text, Token *out);
/* Whether it was given out in that scope; in constant time. */
bool     token_is_genuine(const TokenScope *scope, const Token *token);

uint32_t token_queue(Str name);                         /* never 0 */
uint64_t token_hash(const AttemptId *id);               /* never 0 */

#endif
