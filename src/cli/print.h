/* print.h - what commands say: results to standard output, everything about them to standard error.
 *
 * All of it may hold text from outside, so all of it passes plain.h on the way: a terminal shows it and obeys none of it. Who
 * writes colours says so, and keeps them. What is to be a file (a formatted policy, a converted definition) is written as it is,
 * unless a terminal reads it.
 *
 * Standard output may fail: its reader may go (`maestro run ... | head -1`), its disk may be full. The first failure is kept,
 * what follows is not written, and print_end() tells of it at the end. Whoever works for a long time asks print_is_unread().
 *
 * Owns:   the state of standard output, the process's own.     Fails: by print_is_unread() and print_end().
 * Thread: the main one.
 */
#ifndef CLI_PRINT_H
#define CLI_PRINT_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/status.h"
#include "cli/exit.h"
#include "value/value.h"

/* Once, before anything is printed: neither a reader that goes nor a file that may not grow ends the process. */
void print_begin(void);

void print_out(const Buf *buf);                     /* to standard output, whole */
void print_err(const Buf *buf);                     /* to standard error */
void print_tinted(const Buf *buf);                  /* print_out(), colours stay */
void print_err_tinted(const Buf *buf);
void print_file(const Buf *buf);                    /* as it is, unless a terminal reads it */
void print_bytes(const Buf *buf);                   /* as it is: whoever asks for that knows what reads it */
void print_format(const char *format, ...) PRINTF_LIKE(1, 2);     /* print_out() of a text that is made here */
void print_note(const char *format, ...) PRINTF_LIKE(1, 2);     /* the same to standard error */
MUST_USE Status print_json(Value value, Error *err);            /* print_out() of a value, laid out; refused beyond JSON_SIZE_MAX */
ExitCode        print_document(Value value);                    /* the same as the end of a command */

bool     print_is_unread(void);                     /* who read standard output has gone */
/* The exit code of a command after all that it printed: another one where that was not written. */
ExitCode print_end(ExitCode code);

/* "maestro: text" on standard error; returns the exit code of the status. With --json (print_want_json) an object on standard
 * output says the same to programs: see problem.h. */
ExitCode fail(const Error *err);
void     print_want_json(void);
bool     print_wants_json(void);

#endif
