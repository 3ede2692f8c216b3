/* server_plan.h - a definition as the server that is meant compiles it: with its runners, policies and windows, and by its version.
 *
 * What runs at a server is compiled there: this machine may know other runners, or none. Its mistakes are told as this program's own, at their
 * places in the file that was read here.
 *
 * Owns:   everything lives in the arena of the arguments.
 * Fails:  with the exit code, after printing the reason; mistakes of the definition are no failure.     Thread: the main one.
 */
#ifndef CLI_SERVER_PLAN_H
#define CLI_SERVER_PLAN_H

#include "cli/command.h"
#include "lang/compile.h"

/* As compile(), of what the options say but for the catalog and the bounds, which are the server's. */
ExitCode server_compile(const Args *args, Str text, const CompileOptions *options, Compiled *out);
/* What a start of a definition without mistakes would meet there: what policy/dry_run.h says. */
ExitCode server_dry_run(const Args *args, Str text, TextFormat format, Value params, Value *out_found);

#endif
