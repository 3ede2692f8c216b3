/* status.h - how anything fails in this project.
 *
 * One Status says how the caller may react: fix the input, ask someone, retry, give up. One Error carries the reason. It
 * is fixed-size and lives on the caller's stack, so failing never allocates. It is written once, where the reason is
 * known; callers on the way up may put context before it.
 *
 * Rules: every function that returns a Status is MUST_USE; out parameters are written only on success, `err` only on
 * failure; `err` may be NULL where the reason does not matter.
 */
#ifndef BASE_STATUS_H
#define BASE_STATUS_H

#include <stdbool.h>
#include <stdint.h>

#define MUST_USE __attribute__((warn_unused_result))
#define PRINTF_LIKE(format_at, args_at) __attribute__((format(printf, format_at, args_at)))

typedef enum Status {
    OK = 0,
    ERR_INVALID,        /* the input is wrong: fix it */
    ERR_DENIED,         /* not allowed: ask someone */
    ERR_NOT_FOUND,      /* what was named does not exist */
    ERR_CONFLICT,       /* the state does not permit it now */
    ERR_LIMIT,          /* a bound of base/limits.h or of a caller was crossed */
    ERR_UNAVAILABLE,    /* something outside is missing or busy: try again */
    ERR_CORRUPT,        /* stored data contradicts itself */
    STATUS_COUNT
} Status;

/* Whoever was asked could not say: that is no refusal. */
static inline bool status_is_failure(Status status) { return status == ERR_UNAVAILABLE || status == ERR_CORRUPT; }

#define ERROR_TEXT_SIZE 512u

typedef struct Error {
    Status status;
    uint32_t line, column;              /* 1-based, in characters; 0 where the failure has no place in a text */
    char text[ERROR_TEXT_SIZE];
} Error;

const char *status_name(Status status);     /* "invalid", "denied", ... */

/* Writes the reason and returns `status`, so that refusing is one line. Text beyond the size is cut with "...". */
Status error_set(Error *err, Status status, const char *format, ...) PRINTF_LIKE(3, 4);
Status error_at(Error *err, Status status, uint32_t line, uint32_t column, const char *format, ...) PRINTF_LIKE(5, 6);

/* Puts context before the reason: "runners.yaml: " + "cannot be read". */
void error_prefix(Error *err, const char *format, ...) PRINTF_LIKE(2, 3);

#endif
