/* server_file.h - the file of a server: what its options say, written down.
 *
 * Each key stands for one option of `maestro server` (src/lang/shapes_server.c has the keys, spec/server.schema.json is written out of
 * them). What is given as an option wins over the file, whole: a list in the file is not added to one that was given. Paths are taken
 * from the folder of the file.
 *
 * Owns:   what it adds lives in the arena of the arguments.
 * Fails:  with the exit code, after printing every mistake with line and column.     Thread: the main one.
 */
#ifndef CLI_SERVER_FILE_H
#define CLI_SERVER_FILE_H

#include "cli/command.h"

/* `out` is `args` and what the file of --config says on top; a copy where there is no such file. */
ExitCode server_file_read(const Args *args, Args *out);

#endif
