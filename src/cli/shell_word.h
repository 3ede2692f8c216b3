/* shell_word.h - commands for a person to type: words as a shell takes them, and the store that this command was given.
 *
 * Owns: nothing.     Fails: never.     Thread: any.
 */
#ifndef CLI_SHELL_WORD_H
#define CLI_SHELL_WORD_H

#include "base/buf.h"
#include "cli/command.h"

void shell_word(Buf *out, Str word);                                        /* bare where it may be, else in single quotes */
void shell_option(Buf *out, const char *name, const char *value);           /* " --name value" */
void shell_store(Buf *out, const Args *args);                               /* " --store URL" or " --server URL"; nothing where none was given */
/* "maestro VERB OPERANDS", with the store; the operands as a shell takes them. */
Str  shell_command(const Args *args, const char *verb, const char *operands);

#endif
