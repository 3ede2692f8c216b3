/* stage_test.h - a run on a stage: the real rules with a scripted world around them.
 *
 * Whatever is done on a stage is checked: events carry only the fields of their kind, the fold of all events equals the live
 * run, the snapshot reads back to the same bytes, counters and lists agree with the steps, numbers of step runs are unique
 * and without gaps, effects follow from events. Conditions are words:
 *
 *   yes  no  undefined  error        the answer
 *   is NAME                          the boolean parameter of that name
 *   pick KEY[,KEY]                   what a branch selects; a single one is a text, several a list
 *   param NAME                       the parameter as it is
 *   rounds N                         true until the loop around has gone round N times
 *   payload NAME                     the boolean member of the payload asked about
 *   output NAME                      the boolean member of the step's own output
 */
#ifndef CORE_STAGE_TEST_H
#define CORE_STAGE_TEST_H

#include "core/decide.h"
#include "core/input.h"
#include "dispatch/admission.h"

enum { STAGE_SIGNALS = 64 };

typedef struct Stage {
    Arena plan_arena, arena, log_arena;
    Plan plan;
    Run run, fold;
    Event *log;                         /* of all decisions, with the declared fields alone */
    size_t log_count, log_capacity;
    Value *outputs, *kept;              /* by step */
    Value signals[STAGE_SIGNALS];       /* their payloads, by number */
    Value params;
    uint8_t *is_number_given;
    uint32_t number_capacity;
    int64_t now;
    uint64_t position, epoch;
    Error err;
    uint32_t first;                     /* in the log: where the events of the last decision begin */
    Advance answer;
    uint32_t missing;                   /* with ADVANCE_MISSING */
    Value last_payload;                 /* of the newest event that had one */
    bool is_fast;                       /* no checks: for measuring */
    /* the world */
    PlaceKind place;
    Str place_text;                     /* its rationale */
    Pressure pressure;                  /* that attempts are admitted by */
    uint32_t room;                      /* attempts that executors still take; UINT32_MAX: any number */
    VerdictKind verdicts[HOOK_COUNT];
    Dedupe dedupe;
    uint32_t hidden;                    /* a step whose output is not at hand, MISSING_PARAMS, or STEP_NONE */
    const char *schema_error;           /* NULL: every value is valid */
    uint32_t condition_count;           /* asked so far */
} Stage;

bool   stage_open(Stage *stage, const char *plan_json);
bool   stage_open_str(Stage *stage, Str plan_json);
void   stage_close(Stage *stage);
Status stage_start(Stage *stage, const char *params_json);
Status stage_do(Stage *stage, const Command *command);
Status stage_kind(Stage *stage, CommandKind kind);
void   stage_more(Stage *stage);                                /* what follows from the state, as if after a crash */
Status stage_succeed(Stage *stage, const char *step, const char *output_json);
Status stage_fail(Stage *stage, const char *step, Cause cause);
/* What undoes a step ends; `step` is the one whose turn it has to be. */
Status stage_undo(Stage *stage, const char *step, Cause cause);
Command stage_undo_report(Stage *stage);
Status stage_signal(Stage *stage, const char *name, bool is_denial);
Status stage_trigger(Stage *stage, const char *name, const char *payload_json, bool is_denial);
void   stage_wait(Stage *stage, int64_t ms);                    /* time passes, and the timer is sent when something is due */

DecideEnv      stage_world(Stage *stage);
uint32_t       stage_index(const Stage *stage, const char *step);
const StepRun *stage_step(const Stage *stage, const char *step);
StepState      stage_state(const Stage *stage, const char *step);
size_t         stage_count(const Stage *stage, EventKind kind);     /* in the whole log */
size_t         stage_count_last(const Stage *stage, EventKind kind);        /* of the last decision */
const Event   *stage_last(const Stage *stage, EventKind kind);      /* the newest, or NULL */

#define STAGE(name, json) \
    Stage name; \
    if (!EXPECT(stage_open(&name, json))) return

/* Parts of plans. */
#define PLAN_HEAD "{\"format\":1,\"kind\":\"workflow\",\"id\":\"w\",\"tenant\":\"t\","
#define TREE_HEAD "{\"format\":1,\"kind\":\"step-tree\",\"id\":\"w\",\"tenant\":\"t\","
#define BOOK_HEAD "{\"format\":1,\"kind\":\"runbook\",\"id\":\"w\",\"tenant\":\"t\",\"failure_mode\":\"continue-independent\","
#define TASK(id, more) "{\"id\":\"" id "\",\"name\":\"" id "\",\"kind\":\"task\",\"run\":\"noop\"" more "}"

#endif
