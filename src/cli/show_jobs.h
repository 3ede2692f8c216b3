/* show_jobs.h - the part of 'maestro show' about jobs: their states, and what people did to them.
 *
 * Owns:   what is read lives in the arena of the arguments; the rest is the caller's and outlives it.
 * Fails:  with the store's reason.
 * Bounds: every job is told to programs; to people only those that somebody paused or cancelled.
 * Thread: the main one.
 */
#ifndef CLI_SHOW_JOBS_H
#define CLI_SHOW_JOBS_H

#include "cli/command.h"
#include "cli/run_story.h"
#include "view/run_now.h"

typedef struct ShowJobs {
    const Args *args;
    const Cell *row;                /* of the run */
    const Plan *plan;
    const RunStory *story;
    JobRun *jobs;                   /* as they stand; NULL: its definition has none, or it was archived */
    Value list;                     /* of all of them, for programs */
} ShowJobs;

/* The members above `jobs` are set before. */
MUST_USE Status show_jobs_read(ShowJobs *it, Store *store, Error *err);
void show_jobs_state(const ShowJobs *it);               /* a line for each that was paused or cancelled */
bool show_jobs_next(const ShowJobs *it);                /* what to type; false: nothing of this kind */
void show_jobs_add(const ShowJobs *it, MemberList *members);

#endif
