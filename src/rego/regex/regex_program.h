/* regex_program.h - a compiled pattern. Private to this folder.
 *
 * Instructions are numbered; each names the next one. A thread of the matcher stands at an instruction that reads a
 * character or accepts; all others are passed without reading.
 *
 *   CHAR   reads `arg`                  SAVE    notes the place in slot `arg`
 *   CLASS  reads one of class `arg`     ASSERT  goes on where the conditions `arg` hold
 *   MATCH  accepts                      SPLIT   goes on at `out`, and with less preference at `arg`
 */
#ifndef REGO_REGEX_REGEX_PROGRAM_H
#define REGO_REGEX_REGEX_PROGRAM_H

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"
#include "rego/regex/charset.h"
#include "rego/regex/regex.h"
#include "rego/regex/regex_node.h"

typedef enum InstKind {
    INST_CHAR,
    INST_CLASS,
    INST_MATCH,
    INST_SAVE,
    INST_ASSERT,
    INST_SPLIT,
} InstKind;

typedef struct Inst {
    uint32_t kind, out, arg;
} Inst;

typedef struct CharClass {
    uint64_t ascii[2];              /* a bit for each of the first 128 characters */
    const CharRange *ranges;
    size_t range_count;
} CharClass;

struct Regex {
    const Inst *program;
    uint32_t count, start;
    const CharClass *classes;
    uint32_t class_count;
    const Str *group_names;
    uint32_t group_count;
    bool anchored;                  /* matches at the beginning of the text or not at all */
    bool has_assertions;
    bool has_first;                 /* `first` is of use: a match is not empty, and begins with one of these bytes */
    uint64_t first[4];              /* a bit for each byte that a match may begin with */
    uint64_t cost;                  /* steps charged for each character read */
};

static inline bool class_has(const CharClass *class, uint32_t point)
{
    if (point < 128) return class->ascii[point / 64] >> (point % 64) & 1;
    return charset_has(class->ranges, class->range_count, point);
}

static inline bool inst_reads(const Regex *regex, const Inst *inst, uint32_t point)
{
    if (inst->kind == INST_CHAR) return inst->arg == point;
    return inst->kind == INST_CLASS && class_has(&regex->classes[inst->arg], point);
}

/* Which conditions hold between two characters; a side without one is REGEX_EDGE. */
#define REGEX_EDGE UINT32_MAX
uint32_t regex_assertions_at(uint32_t before, uint32_t after);

#endif
