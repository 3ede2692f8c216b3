/* typescript.h - a definition written in TypeScript, as the SDK's compiler prints it.
 *
 * No TypeScript is read here: Node.js runs the compiler in one process, bounded in time and output, which prints the
 * definition as JSON together with the place of everything in it, or what is wrong. It finds nothing of this process's
 * environment but PATH and HOME, so that a definition cannot depend on the rest, nor print it.
 *
 * The SDK is the first of: $MAESTRO_SDK, ../share/maestro/sdk beside the program's directory (where it is installed), and
 * ../sdk/typescript (where the source tree is). Node.js is $MAESTRO_NODE, or `node` in PATH.
 *
 * Owns:   everything lives in the arena of the arguments.
 * Fails:  with the exit code, after printing what is missing and how to install it, or which limit was reached.
 * Bounds: SDK_COMPILE_MS_MAX, SDK_OUTPUT_SIZE_MAX, SDK_MESSAGE_SIZE_MAX.     Thread: a process with one thread.
 */
#ifndef CLI_TYPESCRIPT_H
#define CLI_TYPESCRIPT_H

#include "cli/command.h"
#include "lang/catalog.h"
#include "lang/node.h"

typedef struct TypeScript {
    Str definition;                 /* JSON; empty where there are mistakes */
    const Node *places;             /* of its nodes in the file, for compile() */
    const Node *mistakes;           /* a list of { line, column, width, message }; NULL where there are none */
} TypeScript;

bool typescript_is(const char *path);
/* The names of window sets in the catalog are names in the definition. */
ExitCode typescript_read(const Args *args, const char *path, const Catalog *catalog, TypeScript *out);
void     typescript_diagnose(const TypeScript *script, Diagnostics *diagnostics);

#endif
