/* ask.h - questions to the person at a terminal.
 *
 * Questions go to standard error, so that standard output holds results alone. Whoever asks has looked whether there is a person:
 * ask_is_possible(). The end of the input is an answer, too: none.
 *
 * Owns:   answers live in the arena given.     Fails: false where there is no answer.
 * Bounds: ASK_SIZE_MAX bytes an answer.     Thread: the main one.
 */
#ifndef CLI_ASK_H
#define CLI_ASK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/str.h"

bool ask_is_possible(void);                                                     /* both ends are a terminal */
bool ask_text(Arena *arena, const char *question, Str *out_answer);             /* without spaces around it; may be empty */
/* Without showing it; nothing of it is kept but in `out`, which has room for `size` bytes. False where there is no answer, or a longer
 * one. */
bool ask_hidden(const char *question, char *out, size_t size, size_t *out_size);
bool ask_yes(Arena *arena, const char *question);                               /* "y" or "yes": anything else is no */
/* One of `count` things, by its number from 1 on or by its title; asks again where it is none. False for "q" and the end of the
 * input. */
bool ask_number(Arena *arena, const char *question, const Str *titles, uint32_t count, uint32_t *out_number);

#endif
