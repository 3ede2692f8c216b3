/* catalog.h - what definitions find by name: runners, policies, windows, calendars, schemas, components.
 *
 * A definition names things that are set up elsewhere: in runners.yaml, in plug-in manifests, or built in. The catalog
 * holds the names and what is known about them before anything runs, so that a name nobody offers is an error of the
 * definition, with the nearest known one beside it.
 *
 * Components come in groups (the names are those of the plug-in directories): waivern.connectors give content,
 * waivern.analysers make content out of content. Each says which schema it takes and which it gives.
 *
 * Owns:   entries live in the arena given to catalog_init().
 * Fails:  adding reports mistakes as diagnostics of the file added; the first entry of a name stays.
 * Thread: one writer, then any number of readers.
 */
#ifndef LANG_CATALOG_H
#define LANG_CATALOG_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/map.h"
#include "lang/diagnostic.h"
#include "lang/node.h"
#include "lang/suggest.h"
#include "value/value.h"

typedef enum CatalogKind {
    CATALOG_RUNNER,
    CATALOG_POLICY,
    CATALOG_WINDOWS,
    CATALOG_CALENDAR,
    CATALOG_SCHEMA,
    CATALOG_CONNECTOR,
    CATALOG_ANALYSER,
    CATALOG_KIND_COUNT
} CatalogKind;

typedef struct CatalogEntry {
    Str name;
    Str origin;                 /* "built in", an executor, a file */
    Value settings;             /* in its normal form */
    Str withheld;               /* not offered here: how it would be; empty where it is offered */
} CatalogEntry;

typedef struct Catalog {
    Arena *arena;
    Str origin;                 /* where the configuration came from, for messages; empty where there is none */
    Value executors;            /* of the configuration, by name; null where there is none */
    Value tenants;              /* the same: their shares */
    uint32_t cooperative_max;   /* cooperative sub-routines beside a primary, for what is compiled */
    Map names[CATALOG_KIND_COUNT];
    CatalogEntry *entries[CATALOG_KIND_COUNT];
    size_t counts[CATALOG_KIND_COUNT], capacities[CATALOG_KIND_COUNT];
} Catalog;

void catalog_init(Catalog *catalog, Arena *arena);      /* with everything that is built in */
/* Everything that is wrong with a configuration. */
void config_check(Diagnostics *diagnostics, const Node *root);
/* A configuration (runners.yaml), or a component's manifest found in the directory of its group. */
void catalog_add_config(Catalog *catalog, Diagnostics *diagnostics, const Node *root);
/* A runner of the program itself; false where the name is taken. Its texts must live as long as the catalog. */
bool catalog_add_runner(Catalog *catalog, Str name, Str executor);
/* From now on it is as if there were no such runner, until a configuration registers one of that name; `how` says how it would be offered,
 * for messages, and must live as long as the catalog. */
void catalog_withhold_runner(Catalog *catalog, Str name, Str how);
/* How a runner that is withheld would be offered; empty where none of that name is. */
Str  catalog_withheld(const Catalog *catalog, Str runner);
void catalog_add_component(Catalog *catalog, Diagnostics *diagnostics, CatalogKind kind, const Node *root);

const char *catalog_kind_name(CatalogKind kind);        /* "runner", ... */
/* The directory in which plug-ins of that kind lie, or NULL where there is none. */
const char *catalog_group(CatalogKind kind);
/* The entry of that name; connectors are also found without "_connector" at the end. */
const CatalogEntry *catalog_find(const Catalog *catalog, CatalogKind kind, Str name);
/* An executor of those settings takes the work of that tenant. `*` is whoever sees every tenant, and an empty name is nobody in particular:
 * for it are those that are everybody's. To a tenant that an executor is not for, there is no such executor. */
bool catalog_is_for(Value executor, Str tenant);
/* The runner as that tenant has it: of the first executor that offers it and is for the tenant. False where there is none. */
bool catalog_offer(const Catalog *catalog, Str runner, Str tenant, CatalogEntry *out_offer);
/* Somebody would carry it out for the tenant by starting a program with the task's `args`: every user of that machine can read these. */
bool catalog_is_program(const Catalog *catalog, Str runner, Str tenant);
/* The known name nearest to one that is not, of those that the tenant has, or an empty one. */
Str catalog_suggest(const Catalog *catalog, CatalogKind kind, Str name, Str tenant);
/* The names of a kind joined by commas, a few of many. */
void catalog_list(const Catalog *catalog, CatalogKind kind, Buf *out);

#endif
