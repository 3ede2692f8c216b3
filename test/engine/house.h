/* house.h - an engine of a test: the memory store, an executor that reports when it is told to, and time that the test moves.
 *
 * A story is told by house_start(), house_report(), house_command() and house_wait(); what the store holds then is looked at by
 * house_count() and house_expect(). Each of them lets the engine take its turns until nothing is left to do.
 *
 * Owns: everything; house_close() ends it.     Thread: one.
 */
#ifndef TEST_ENGINE_HOUSE_H
#define TEST_ENGINE_HOUSE_H

#include "engine/engine.h"
#include "view/store.h"

enum { TAKEN_MAX = 4096 };

typedef struct House {
    Executor port;
    Store *store;
    Engine *engine;
    int64_t now_ms;
    uint64_t chance;
    Arena arena;
    Executor *executors[1];
    AttemptId taken[TAKEN_MAX];             /* attempts in the order in which they were handed over */
    Str keys[TAKEN_MAX];                    /* idempotency keys of these */
    uint32_t taken_count, reported;
    uint32_t ended_count;                   /* attempts that were told to end: they go on until they report */
    AttemptId ended[TAKEN_MAX];
    const TenantQuota *quotas;              /* for the next owner */
    uint32_t quota_count;
    EngineReply reply;
    char why[512];                          /* of a refusal */
} House;

void house_open(House *house);
void house_close(House *house);
void house_own(House *house);               /* another engine on the same store; the last one was closed */
void house_kill_owner(House *house);        /* the process is killed, and its attempts with it; the next one takes over */

uint64_t house_start(House *house, const char *text);       /* of a definition in YAML, whose runner is noop; the number of the run */
bool house_ask_start(House *house, const char *text, EngineStart start);    /* the same, with more said of it; false: the engine did not take it */
Status house_command(House *house, uint64_t run_no, Command wish, const char *value);   /* value: JSON, or NULL */
void house_report(House *house, Cause cause, const char *output);       /* the oldest attempt that has not reported does so */
void house_turns(House *house);
void house_wait(House *house, int64_t ms);

uint32_t house_count(House *house, uint64_t run_no, EventKind kind);            /* events of a run in the ledger */
uint64_t house_last_sort(House *house, uint64_t run_no, EventKind kind);        /* `sort` of the last of them */
void house_expect(House *house, uint64_t run_no, const char *state, const char *trigger);      /* of its row */

#endif
