/* workplace.h - a store with an engine on it, for commands that make runs go on.
 *
 * Which store: --store, else $MAESTRO_STORE, else $XDG_STATE_HOME/maestro/store.db (by default ~/.local/state).
 *
 * Owns:   store, executors and engine, until workplace_close().
 * Fails:  with the exit code, after printing the reason.     Thread: the main one.
 */
#ifndef CLI_WORKPLACE_H
#define CLI_WORKPLACE_H

#include "cli/adapters.h"
#include "cli/command.h"
#include "engine/host.h"

#define STORE_OPTION { "store", 0, "URL", NULL, "The store: sqlite:PATH; by default $MAESTRO_STORE, else the user's." }

typedef struct Workplace {
    Str url;
    Store *store;
    Crew crew;
    Host *host;
    bool has_crew;
} Workplace;

Str store_url(const Args *args);                    /* in the arena of the arguments */
const char *store_path(Arena *arena, Str url);      /* of its file, or NULL where it has none */
/* The store alone, for commands that read. It has to exist. */
ExitCode store_open_existing(const Args *args, Store **out_store);

/* All of it. EXIT_CODE_TEMPORARY without a word, with `out_busy` set, where another process owns the store. */
ExitCode workplace_open(const Args *args, const Catalog *catalog, Workplace *out, bool *out_busy);
void     workplace_close(Workplace *workplace);

/* A run id, or the beginning of one that only one run has; prints what is wrong otherwise. */
bool find_run(Store *store, const char *text, Id *out_id, ExitCode *out_code);

#endif
