/* regex.h - regular expressions in RE2's syntax, matched in time linear in the text.
 *
 * The policy language promises that no pattern can make a decision hang, so there is no backtracking here: a pattern
 * becomes a small program, and a text is read once from left to right while all the ways the pattern could match are
 * followed side by side. Which match is found, and which part of it a group holds, is what a backtracking matcher in the
 * manner of Perl would have found first. A plain yes or no comes from states that are built as the text needs them, one
 * look-up a character.
 *
 *   pattern --parse--> nodes --compile--> Regex (immutable) --> RegexMachine (working memory for one thread)
 *
 * Syntax: what RE2 and Go's regexp accept: flags i m s U, named groups (?P<n>...) and (?<n>...), \Q...\E, \pL, \p{Greek},
 * [[:alpha:]], lazy operators, counted repetition up to 1000. No look-around and no back-references.
 *
 * Owns:   a Regex and a RegexMachine live in the arenas they were made in.
 * Fails:  regex_compile() with ERR_INVALID and a text such as "error parsing regexp: missing closing ]: `[a`", or with
 *         ERR_LIMIT where the arena is full or a limit of ours is crossed. Matching answers REGEX_HALT when the steps are spent or the arena is full.
 * Bounds: REGEX_* of limits.h. Steps are charged by the length of text read and the size of the program, never by what
 *         happens to be cached, so a budget ends the same evaluation at the same place every time.
 * Thread: a Regex may be shared; a RegexMachine belongs to one thread at a time.
 */
#ifndef REGO_REGEX_REGEX_H
#define REGO_REGEX_REGEX_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/status.h"
#include "base/str.h"

typedef struct Regex Regex;
typedef struct RegexMachine RegexMachine;

/* --- make -------------------------------------------------------------------------------------------------------- */

MUST_USE Status regex_compile(Arena *arena, Str pattern, const Regex **out_regex, Error *err);
/* Whether the pattern can be read at all, without making a program of it. */
MUST_USE Status regex_check(Arena *scratch, Str pattern, Error *err);
/* Working memory; NULL where the arena is full. */
RegexMachine *regex_machine_new(Arena *arena, const Regex *regex);
const Regex *regex_machine_regex(const RegexMachine *machine);

/* --- use --------------------------------------------------------------------------------------------------------- */

typedef struct RegexBudget {
    uint64_t *steps_left;
    const atomic_bool *stop;          /* raised by someone else to end the work; may be NULL */
} RegexBudget;

typedef enum RegexResult {
    REGEX_NONE,
    REGEX_FOUND,
    REGEX_HALT,
} RegexResult;

/* Bytes begin..end of the text; both REGEX_UNSET for a group that took no part. */
typedef struct RegexSpan {
    uint32_t begin, end;
} RegexSpan;
#define REGEX_UNSET UINT32_MAX

uint32_t regex_group_count(const Regex *regex);         /* capturing groups, the whole match not counted */
/* The name of a group, counted from 1; empty where it has none. Several groups may share one name. */
Str regex_group_name(const Regex *regex, uint32_t index);

/* Whether the pattern matches anywhere in the text, which must be shorter than 4 GiB. A byte that is no part of valid UTF-8
 * counts as one character, U+FFFD. */
RegexResult regex_matches(RegexMachine *machine, Str text, const RegexBudget *budget);
/* The leftmost match that begins at or behind `from`. On REGEX_FOUND out_spans points to 1 + regex_group_count() spans, the
 * whole match first, valid until the next call on the same machine. */
RegexResult regex_find(RegexMachine *machine, Str text, size_t from, const RegexBudget *budget,
                       const RegexSpan **out_spans);

/* Appends a literal so that it matches itself: every character that means something gets a backslash. */
void regex_quote(Buf *buf, Str literal);

#endif
