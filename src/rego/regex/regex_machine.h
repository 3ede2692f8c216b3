/* regex_machine.h - the working memory of the two matchers. Private to this folder. */
#ifndef REGO_REGEX_REGEX_MACHINE_H
#define REGO_REGEX_REGEX_MACHINE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"
#include "rego/regex/regex_program.h"

typedef struct Dfa Dfa;

/* Threads of the simulation in order of preference: a sparse set of instructions, each with its own slots. */
typedef struct Threads {
    uint32_t *dense, *sparse;
    uint32_t *slots;            /* slot_count for each place of `dense` */
    uint32_t count;
} Threads;

/* Work put off while following an instruction: one to go to, or a slot to set back. */
typedef struct Pending {
    uint32_t inst;
    uint32_t slot, old;         /* slot is SLOT_NONE where `inst` counts */
} Pending;

struct RegexMachine {
    Arena *arena;
    const Regex *regex;
    Threads now, next;
    Pending *pending;
    uint32_t *slots;            /* of the thread being followed */
    uint32_t *best;             /* of the best match so far */
    RegexSpan *spans;           /* what regex_find() answers with */
    Dfa *dfa;                   /* made at first use; NULL with dfa_refused where the pattern does not suit */
    bool dfa_refused, ready;
};

/* What a byte that is no part of valid UTF-8 is read as, by itself. */
#define REGEX_BROKEN 0xfffdu
/* The character at `at` and its size, or REGEX_EDGE and 0 at the end. */
uint32_t regex_char_at(Str text, size_t at, size_t *out_size);

/* --- regex_dfa.c -------------------------------------------------------------------------------------------------- */

/* NULL where the pattern tells too many kinds of characters apart, or the arena is full. */
Dfa *dfa_new(Arena *arena, const Regex *regex);
/* REGEX_HALT where the arena is full; nothing is charged here. */
RegexResult dfa_matches(Dfa *dfa, Str text);

#endif
