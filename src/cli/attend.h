/* attend.h - sees a run through to its end: as the owner of the store, or beside the process that is.
 *
 * Whoever finds the store free becomes its owner, carries out its runs and takes requests of others. Whoever does not hands
 * its start (or resumption) to the owner and reads in the store how the run goes; when the owner goes, however it goes, one of
 * those who wait becomes the next and carries on. An owner whose own run is over starts nothing more, lets the steps end that
 * are under way, and goes.
 *
 * A first interruption is the same with the run not over: by Ctrl-C it is paused, too, and goes on when someone resumes it; by
 * SIGTERM the next owner goes on with it. A second one ends the steps under way as well, and they are done again, or decided
 * on, when the run goes on. Beside an owner an interruption ends the showing alone.
 *
 * Owns:   everything until attend() returns.     Fails: with the exit code, after printing the reason.
 * Thread: the main one; no other may exist before.
 */
#ifndef CLI_ATTEND_H
#define CLI_ATTEND_H

#include "cli/errand.h"
#include "core/plan.h"

typedef struct AttendWish {
    const Catalog *catalog;
    /* A start, where a plan is given ... */
    const Plan *plan;
    Str document;                   /* of the plan, canonical */
    Str text;                       /* the definition as it was written; empty for a stored revision */
    uint32_t revision;              /* of a stored one, which has to be active; 0: the one that the plan is */
    RevisionSeen seen;              /* what the plan was compared with, of one that becomes a revision */
    Value params;
    Str key;                        /* empty: the definition's */
    bool is_again;
    /* ... else a run that is there. */
    Id run_id;
    const Plan *run_plan;           /* its own */
    Str reason;                     /* of its resumption, where it is paused */
} AttendWish;

/* With this option it ends where the run waits for something outside, as if by SIGTERM. */
#define WAITING_OPTION \
    { "until-waiting", 0, NULL, NULL, "Ends once the run waits for a trigger, a signal or a person, with exit code 75." }

ExitCode attend(const Args *args, const AttendWish *wish);

#endif
