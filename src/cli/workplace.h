/* workplace.h - a store with an engine on it, for commands that make runs go on.
 *
 * One process at a time owns a store. Whoever wants to claims it first (PATH.lock), then starts what carries out steps, which
 * waits until the programs of an earlier owner are gone, and only then opens the store.
 *
 * Which store: that of --server or --store, else of $MAESTRO_SERVER, else $MAESTRO_STORE, else $XDG_STATE_HOME/maestro/store.db
 * (by default ~/.local/state).
 *
 * Owns:   store, executors and engine, until workplace_close().
 * Fails:  with the exit code, after printing the reason.     Thread: the main one.
 */
#ifndef CLI_WORKPLACE_H
#define CLI_WORKPLACE_H

#include "cli/adapters.h"
#include "cli/command.h"
#include "cli/control.h"
#include "engine/host.h"
#include "policy/guard.h"
#include "secret/vault.h"

#define STORE_OPTION { "store", 0, "URL", NULL, "The store: sqlite:PATH; by default $MAESTRO_STORE, else the user's." }
/* Of what makes a store where there is none. */
#define STORE_OPTION_MADE { "store", 0, "URL", NULL, \
    "The store: sqlite:PATH, or memory: for one that ends with this process; by default $MAESTRO_STORE, else the user's." }

typedef struct Workplace {
    Str url;
    Store *store;
    Vault *vault;                       /* what its steps and triggers get of secrets */
    Crew crew;
    Host *host;
    bool has_crew;
    ControlServer *control;             /* NULL where nobody can ask it */
    /* Set before workplace_open(): */
    Guard *guard;                       /* the policies in force; the caller's; NULL: none */
    Str server;                         /* where its runners find it: they get credentials of their attempts; empty: nowhere */
    bool is_bench;                      /* with runners for measuring */
    uint32_t run_count_max;             /* runs in memory at a time; 0: ENGINE_RUN_COUNT_MAX */
    size_t size_max;                    /* bytes of them and of what waits for them; 0: ENGINE_SIZE_MAX */
    bool is_absent;                     /* carries out no step: for commands that change runs and go */
    bool is_cell;                       /* carries out leases of a central server, too */
} Workplace;

Str store_url(const Args *args);                    /* in the arena of the arguments; of a server without a slash or /api at its end */
/* Whether what is named as a server is the address of one, and no store beside it: before anything is asked or made. */
ExitCode store_check_server(const Args *args);
/* Whether it names a store of a kind that there is. Before anything is made for it. */
MUST_USE Status store_check_url(Arena *arena, Str url, Error *err);
bool store_is_server(Str url);                      /* it is the address of one, by its scheme */
bool store_has_kind(Str url);                       /* a word before a colon says what it is: it is not the path of a file */
/* Whether --store names one, or $MAESTRO_STORE one that is there: what looks into a store where there is one looks into that. */
bool store_is_named(const Args *args);
const char *store_path(Arena *arena, Str url);      /* of its file, behind symbolic links; NULL: it has none */
Str owner_text(Arena *arena);                       /* who owns the store from now on, as the log tells it */
/* The store alone, for commands that read. It has to exist. */
ExitCode store_open_existing(const Args *args, Store **out_store);
/* The same, and one that does not exist is made. */
ExitCode store_open_or_make(const Args *args, Store **out_store);
/* The secrets of an open store; $MAESTRO_KEY_FILE or PATH.key has their key. */
Vault   *store_vault(const Args *args, Store *store);

/* All of it. EXIT_CODE_TEMPORARY without a word, with `out_busy` set, where another process owns the store. No thread of
 * this process may exist yet. */
ExitCode workplace_open(const Args *args, const Catalog *catalog, Workplace *out, bool *out_busy);
/* From now on others reach it: see cli/control.h. Where that is impossible, says so and goes on. */
void     workplace_listen(const Args *args, const Catalog *catalog, Workplace *workplace);
void     workplace_close(Workplace *workplace);

/* Where its owner is asked: a socket, or the address of a server; NULL for a store without a file. */
const char *control_path(const Args *args);

#endif
