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
#include <stdbool.h>
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

/* The pass that found a mistake. Where one refuses what later ones build upon, these are not heard. */
typedef enum RegoPass {
    REGO_PASS_READ,
    REGO_PASS_USES,                 /* what is unused, or shadows something: later passes are heard as well */
    REGO_PASS_NAMES,                /* variables that are declared twice */
    REGO_PASS_VALUES,               /* print(...) as a value */
    REGO_PASS_WITH,
    REGO_PASS_CONFLICTS,            /* between rules */
    REGO_PASS_CALLS,                /* of what is no function, or takes another number of arguments */
    REGO_PASS_HEADS,                /* variables of heads that no body has */
    REGO_PASS_SAFETY,
    REGO_PASS_RECURSION,
    REGO_PASS_TYPES,
    REGO_PASS_COUNT
} RegoPass;

typedef struct RegoError {
    RegoErrorCode code;
    RegoPass pass;
    RegoLoc loc;
    Str file;                       /* empty for a query */
    Str text;
} RegoError;

typedef struct RegoErrors {
    Arena *arena;
    RegoError *items;
    size_t count, capacity;
    size_t dropped;                 /* found, but beyond the limit */
    RegoPass pass;                  /* the present one */
} RegoErrors;

void rego_errors_init(RegoErrors *errors, Arena *arena);
void rego_errors_add(RegoErrors *errors, RegoErrorCode code, Str file, RegoLoc loc, const char *format, ...)
    PRINTF_LIKE(5, 6);
void rego_errors_add_list(RegoErrors *errors, RegoErrorCode code, Str file, RegoLoc loc, const char *format, va_list args);
void rego_errors_truncate(RegoErrors *errors, size_t count);    /* forgets what was added since there were `count` */

/* Forgets what passes behind the first refusal have found; true where there is a refusal. */
bool rego_errors_settle(RegoErrors *errors);
void rego_errors_sort(RegoErrors *errors);                      /* by file, place and text */

const char *rego_error_code_name(RegoErrorCode code);
/* "file.rego:3: rego_parse_error: unexpected } token", the form in which such errors are known. */
void rego_error_print(Buf *buf, const RegoError *error);

#endif
