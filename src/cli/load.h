/* load.h - a definition from a file, with the names it may use: the way every command begins.
 *
 * Runners, policies and the rest are found in the first of: --runners FILE, $MAESTRO_RUNNERS, runners.yaml beside the
 * definition, ./runners.yaml, $XDG_CONFIG_HOME/maestro/runners.yaml, /etc/maestro/runners.yaml; where there is none, the
 * stand-ins that are built in, so that the examples work on a fresh machine; of a process that serves others, nothing. Plug-in
 * components lie in components/ beside the definition, in the directories of $MAESTRO_COMPONENTS, in
 * $XDG_DATA_HOME/maestro/components and in /usr/share/maestro/components, each in the directory of its group. A file whose name
 * ends in .ts is compiled by the TypeScript SDK first.
 *
 * Owns:   everything lives in the arena of the arguments.
 * Fails:  with the exit code, after printing the reason to standard error.
 */
#ifndef CLI_LOAD_H
#define CLI_LOAD_H

#include "cli/command.h"
#include "lang/compile.h"
#include "lang/shape.h"

#define SHELL_OPTION { "shell", 0, NULL, NULL, \
    "Offers the built-in runner shell: whoever may define workflows then runs any program as the user of this process." }

typedef struct Loaded {
    const char *path;
    Str text;                       /* what was compiled: of a .ts file, the definition that it builds */
    TextFormat format;              /* of that */
    const Catalog *catalog;         /* NULL: that of a server */
    bool is_servers;                /* the server that is meant compiles it */
    Compiled compiled;
} Loaded;

/* Reads and compiles; a definition with mistakes is loaded all the same (see compiled.is_valid), its diagnostics not yet
 * printed. */
ExitCode load_definition(const Args *args, const char *path, Loaded *out);
/* The same, but a runbook of the old format is taken as 'maestro migrate' converts it, with a warning that says so. */
ExitCode load_current(const Args *args, const char *path, Loaded *out);
/* The same, but mistakes are printed and are a failure; warnings are printed. */
ExitCode load_plan(const Args *args, const char *path, Loaded *out);
/* The same of what is to run or to be stored: where a server is meant, that compiles it. */
ExitCode load_plan_to_run(const Args *args, const char *path, Loaded *out);
/* The names alone; the definition's path says where they are looked for first, "" for none. */
ExitCode load_catalog(const Args *args, const char *definition, const Catalog **out);
/* The same for a process that carries out what others define (a server, a cell, a worker): there are no stand-ins, and the runner `shell`
 * is there with --shell alone, since it does whatever an author says, as the user of this process. */
ExitCode load_serving_catalog(const Args *args, const Catalog **out);
/* A configuration file of that type, in its normal form; mistakes in it are printed and are a failure. */
ExitCode load_config(const Args *args, const char *path, const Type *type, Value *out);
void     print_diagnostics(const Args *args, const Diagnostics *diagnostics);

#endif
