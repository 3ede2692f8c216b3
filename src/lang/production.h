/* production.h - is a definition ready for production? The checklist, as named checks with evidence.
 *
 * The checklist has ten lines and thirty-four checks. What the definition and the configuration decide is decided here:
 * it passes, or fails with the tasks that lack something and where they stand, or does not apply because there is nothing
 * to look at. What only a store or a running server can tell is left undecided and says what it needs; what they do not decide either, that
 * somebody has to look.
 *
 * Readings of the rows, where they leave one open:
 *   - a policy counts as attached where every task is under one; of a definition in which one task is not, it is not;
 *   - a key counts as defined where the task or the workflow declares it, and the strategy where the task does;
 *   - retry classes count as defined by `retries` with `on`, or by a single attempt, which has none;
 *   - an identity is a task's own if no other task has it; what it may do is the broker's to say;
 *   - a runner's own timeout is the timeout of tasks that declare none.
 *
 * Owns:   evidence lives in the arena given, names are constant.
 * Fails:  never: a definition with mistakes fails spec-schema or spec-lint and leaves the rest undecided.
 * Bounds: PRODUCTION_NAMED_COUNT_MAX things are named in one piece of evidence, the rest counted.     Thread: pure, any.
 */
#ifndef LANG_PRODUCTION_H
#define LANG_PRODUCTION_H

#include "lang/compile.h"

#define PRODUCTION_CHECK_COUNT 34u
#define PRODUCTION_LINE_COUNT 10u

typedef enum Answer { ANSWER_PASS, ANSWER_FAIL, ANSWER_NOT_APPLICABLE, ANSWER_UNDECIDED, ANSWER_COUNT } Answer;

typedef struct ProductionResult {
    const char *name;               /* "spec-schema" */
    const char *requirement;        /* "F-171" */
    unsigned checklist_line;        /* from 1 */
    Answer answer;
    Str evidence;
    uint32_t line, column;          /* where it first fails; 0 where it does not, or the definition as a whole does */
} ProductionResult;

typedef struct ProductionReport {
    ProductionResult results[PRODUCTION_CHECK_COUNT];       /* in the order of the checklist */
    uint32_t counts[ANSWER_COUNT];
} ProductionReport;

/* What only a store or a server knows. */
typedef struct ProductionFacts {
    bool has_place;                 /* one was given: what is undecided all the same is looked at by hand, and says with what */
    /* Whether the version of a policy that is in force was reviewed; *out_text: by whom, or why it was not. NULL: nobody was asked, and
     * who is named in the configuration counts (`reviewed_by`). */
    bool (*is_reviewed)(void *context, Str policy, Str *out_text);
    void *context;
    const Str *everywhere;          /* policies that apply to every run: they are attached, too */
    uint32_t everywhere_count;
} ProductionFacts;

/* `facts` may be NULL: there are none. */
void production_check(Arena *arena, const Compiled *compiled, const Catalog *catalog, const ProductionFacts *facts, ProductionReport *out);

const char *answer_name(Answer answer);                     /* "pass", "fail", "not-applicable", "undecided" */
const char *production_line_name(unsigned checklist_line);  /* "specification", ... */

/* Grouped by the lines of the checklist, then "14 passed, 3 failed, 2 not applicable, 15 undecided". */
void  production_print(const ProductionReport *report, Str file, bool color, Buf *out);
/* [{"name","requirement","checklist_line","checklist","answer","evidence","file","line","column"}] */
Value production_value(const ProductionReport *report, Str file, Arena *arena);

#endif
