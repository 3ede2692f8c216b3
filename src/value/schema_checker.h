/* schema_checker.h - private to schema_*.c: one instance being checked.
 *
 * A frame is one subschema applied to one place of the instance; frames, places and scopes live on the C stack and
 * point to the ones around them. What outgrows a frame is in the Checker: how much was spent, what is wrong so far, and
 * the marks that unevaluatedItems and unevaluatedProperties ask for.
 *
 * Marks are bits, one for each item or member of a place, in a stack that grows and shrinks with the frames. A frame
 * without anybody to ask has none. Branches that may fail without harm (anyOf) mark a set of their own, which is merged
 * into the frame's when they hold.
 */
#ifndef VALUE_SCHEMA_CHECKER_H
#define VALUE_SCHEMA_CHECKER_H

#include "value/schema_node.h"

#define NO_MARKS SIZE_MAX

/* The way from the root of the instance. */
typedef struct Place {
    const struct Place *parent;         /* NULL for the root */
    bool is_index;
    uint32_t index;
    Str name;
} Place;

/* The resources that were entered, the innermost first: where a $dynamicRef looks. */
typedef struct Scope {
    const struct Scope *outer;
    const SchemaResource *resource;
} Scope;

typedef struct Frame {
    const SchemaNode *node;
    const Place *place;
    const Scope *scope;
    Value value;
    size_t marks;                       /* index of the first word, or NO_MARKS */
} Frame;

typedef struct Checker {
    Arena *arena;
    Error *err;
    Status status;                      /* not OK: the check was given up, and verdicts mean nothing any more */
    uint64_t step_count;
    uint32_t depth;
    uint32_t quiet;                     /* above 0: only the verdict matters, so the first violation ends a frame */
    uint32_t level;                     /* of the violations being reported */
    bool first_only;
    Violation *violations;
    uint32_t violation_count;
    bool is_cut;
    uint64_t *marks;
    size_t mark_count, mark_capacity;   /* words */
    PatternMatcher matcher;
} Checker;

/* --- schema_report.c --------------------------------------------------------------------------------------------- */

/* Ends the check. Always false, for `return`. */
bool checker_halt(Checker *checker, Status status, const char *format, ...) PRINTF_LIKE(3, 4);
/* Notes a violation of the frame's keyword, unless the checker is quiet. Always false, for `return`. */
bool checker_report(Checker *checker, const Frame *frame, const char *keyword, Str property, const char *format, ...)
    PRINTF_LIKE(5, 6);
/* The same for the schema `false`. */
bool checker_report_false(Checker *checker, const Frame *frame);

/* Nothing more needs to be looked at once something is wrong. */
static inline bool checker_stops(const Checker *checker)
{
    return checker->status || checker->quiet || checker->is_cut || (checker->first_only && checker->violation_count);
}

/* Phrases for messages, in a buffer of their own. */
typedef struct Phrase {
    char storage[256];
    Buf buf;
} Phrase;

const char *phrase_value(Phrase *phrase, Value value);
const char *phrase_types(Phrase *phrase, uint32_t types);           /* "a string or null" */
const char *phrase_choices(Phrase *phrase, Value array);            /* "1, 2 or 3", the first few */
const char *phrase_name(Phrase *phrase, Str name);                  /* quoted */

#endif
