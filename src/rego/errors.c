#include "rego/errors.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/check.h"
#include "base/limits.h"

static const char *const code_names[] = {
#define X(code, name) [code] = name,
    REGO_ERROR_CODES(X)
#undef X
};

void rego_errors_init(RegoErrors *errors, Arena *arena)
{
    *errors = (RegoErrors){ .arena = arena };
}

void rego_errors_add_list(RegoErrors *errors, RegoErrorCode code, Str file, RegoLoc loc, const char *format, va_list args)
{
    if (errors->count == REGO_ERROR_COUNT_MAX) {
        errors->dropped++;
        return;
    }
    char text[ERROR_TEXT_SIZE];
    int size = vsnprintf(text, sizeof text, format, args);
    CHECK(size >= 0);
    size_t len = (size_t)size < sizeof text ? (size_t)size : sizeof text - 1;
    errors->items = arena_grow(errors->arena, errors->items, sizeof *errors->items, errors->count, &errors->capacity);
    errors->items[errors->count++] = (RegoError){
        .code = code, .loc = loc, .file = arena_copy(errors->arena, file), .text = arena_copy(errors->arena, (Str){ text, len }),
    };
}

void rego_errors_add(RegoErrors *errors, RegoErrorCode code, Str file, RegoLoc loc, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    rego_errors_add_list(errors, code, file, loc, format, args);
    va_end(args);
}

void rego_errors_truncate(RegoErrors *errors, size_t count)
{
    CHECK(count <= errors->count);
    errors->count = count;
}

const char *rego_error_code_name(RegoErrorCode code)
{
    return code < REGO_ERROR_CODE_COUNT ? code_names[code] : "unknown";
}

void rego_error_print(Buf *buf, const RegoError *error)
{
    if (error->file.len) buf_str(buf, error->file);
    if (error->file.len && error->loc.row) buf_char(buf, ':');
    if (error->loc.row) buf_u64(buf, error->loc.row);
    if (error->file.len || error->loc.row) buf_text(buf, ": ");
    buf_text(buf, rego_error_code_name(error->code));
    buf_text(buf, ": ");
    buf_str(buf, error->text);
}
