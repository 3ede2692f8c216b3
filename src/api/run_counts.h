/* run_counts.h - how many runs are in which state.
 *
 * A store is counted once, which takes a moment where it has millions of runs; from there on what the engine has committed since
 * (EngineMeter.run_changes) is added, so that whoever asks pays nothing. What is counted and what is added must meet at one place of the
 * log: it is counted in the engine's thread, while no commit is under way. An engine that has lost sight of the end of its log
 * (EngineMeter.log_takes) makes it be counted anew.
 *
 * Owns:   nothing; plain memory.     Fails: never; without an answer of the store nothing is known, and the next question asks again.
 * Thread: the engine's.
 */
#ifndef API_RUN_COUNTS_H
#define API_RUN_COUNTS_H

#include "engine/meter.h"
#include "view/store.h"

typedef struct RunCounts {
    int64_t base[RUN_STATE_COUNT];      /* what there was before the engine changed anything */
    uint64_t log_takes;                 /* of the meter, when it was counted */
    bool is_known;
} RunCounts;

/* False: they are not known now. */
bool run_counts_look(RunCounts *counts, Store *store, const Engine *engine, uint64_t out_counts[RUN_STATE_COUNT]);

#endif
