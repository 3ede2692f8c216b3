#include "rego/errors.h"

#include <string.h>

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

void rego_errors_add_list(RegoErrors *errors, RegoErrorCode code, Str file, RegoLoc loc, const char *format,
                          va_list args)
{
    if (errors->count == REGO_ERROR_COUNT_MAX) {
        errors->dropped++;
        return;
    }
    Str text = arena_format_args(errors->arena, format, args);
    if (text.len > REGO_ERROR_TEXT_SIZE_MAX) text.len = REGO_ERROR_TEXT_SIZE_MAX;
    errors->items = arena_grow(errors->arena, errors->items, sizeof *errors->items, errors->count, &errors->capacity);
    errors->items[errors->count++] = (RegoError){
        .code = code, .pass = errors->pass, .loc = loc, .file = arena_copy(errors->arena, file), .text = text,
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

static bool pass_goes_on(RegoPass pass)
{
    return pass == REGO_PASS_USES;
}

bool rego_errors_settle(RegoErrors *errors)
{
    RegoPass first = REGO_PASS_COUNT;
    for (size_t i = 0; i < errors->count; i++)
        if (!pass_goes_on(errors->items[i].pass) && errors->items[i].pass < first) first = errors->items[i].pass;
    size_t kept = 0;
    for (size_t i = 0; i < errors->count; i++)
        if (errors->items[i].pass <= first) errors->items[kept++] = errors->items[i];
    errors->count = kept;
    return first != REGO_PASS_COUNT;
}

static bool error_is_before(const RegoError *a, const RegoError *b)
{
    int order = str_compare(a->file, b->file);
    if (order) return order < 0;
    if (a->loc.row != b->loc.row) return a->loc.row < b->loc.row;
    if (a->loc.col != b->loc.col) return a->loc.col < b->loc.col;
    order = strcmp(code_names[a->code], code_names[b->code]);
    return order ? order < 0 : str_compare(a->text, b->text) < 0;
}

void rego_errors_sort(RegoErrors *errors)
{
    for (size_t i = 1; i < errors->count; i++) {
        RegoError moved = errors->items[i];
        size_t to = i;
        for (; to > 0 && error_is_before(&moved, &errors->items[to - 1]); to--) errors->items[to] = errors->items[to - 1];
        errors->items[to] = moved;
    }
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
