/* errors.h - what is wrong with a policy: a list, each entry with its place.
 *
 * A policy is read and compiled as a whole, so that its author sees every mistake at once. The codes are those that Rego
 * users know from other tools, and a message never needs the code to be understood.
 *
 * Owns:   nothing; entries and their texts live in the arena given to rego_errors_init().
 * Fails:  never. Beyond REGO_ERROR_COUNT_MAX entries are only counted.     Thread: one at a time.
 */
#ifndef REGO_ERRORS_H
#define REGO_ERRORS_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/status.h"
#include "base/str.h"

/* A place in a text, and the text that belongs to it. Rows and columns count from 1, columns in characters. The place
 * is where a message points; for a term in parentheses that is the term, while offset and size cover the parentheses. */
typedef struct RegoLoc {
    uint32_t offset, size;          /* bytes */
    uint32_t row, col;              /* 0, 0 where the thing was made by no author */
} RegoLoc;

#define REGO_ERROR_CODES(X) \
    X(REGO_ERROR_PARSE, "rego_parse_error") \
    X(REGO_ERROR_COMPILE, "rego_compile_error") \
    X(REGO_ERROR_TYPE, "rego_type_error") \
    X(REGO_ERROR_UNSAFE_VAR, "rego_unsafe_var_error") \
    X(REGO_ERROR_RECURSION, "rego_recursion_error")

typedef enum RegoErrorCode {
#define X(code, name) code,
    REGO_ERROR_CODES(X)
#undef X
    REGO_ERROR_CODE_COUNT
} RegoErrorCode;

typedef struct RegoError {
    RegoErrorCode code;
    RegoLoc loc;
    Str file;                       /* empty for a query */
    Str text;
} RegoError;

typedef struct RegoErrors {
    Arena *arena;
    RegoError *items;
    size_t count, capacity;
    size_t dropped;                 /* found, but beyond the limit */
} RegoErrors;

void rego_errors_init(RegoErrors *errors, Arena *arena);
void rego_errors_add(RegoErrors *errors, RegoErrorCode code, Str file, RegoLoc loc, const char *format, ...)
    PRINTF_LIKE(5, 6);
void rego_errors_add_list(RegoErrors *errors, RegoErrorCode code, Str file, RegoLoc loc, const char *format, va_list args);
void rego_errors_truncate(RegoErrors *errors, size_t count);    /* forgets what was added since there were `count` */

const char *rego_error_code_name(RegoErrorCode code);
/* "file.rego:3: rego_parse_error: unexpected } token", the form in which such errors are known. */
void rego_error_print(Buf *buf, const RegoError *error);

#endif
