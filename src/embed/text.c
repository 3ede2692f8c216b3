/* text.c - texts and errors on their way between the program and the library. */
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/utf8.h"
#include "core/state.h"
#include "embed/embed.h"
#include "value/json.h"

static_assert((int)MAESTRO_INVALID == ERR_INVALID && (int)MAESTRO_DENIED == ERR_DENIED, "one order of statuses");
static_assert((int)MAESTRO_NOT_FOUND == ERR_NOT_FOUND && (int)MAESTRO_CONFLICT == ERR_CONFLICT, "one order of statuses");
static_assert((int)MAESTRO_LIMIT == ERR_LIMIT && (int)MAESTRO_UNAVAILABLE == ERR_UNAVAILABLE, "one order of statuses");
static_assert((int)MAESTRO_CORRUPT == ERR_CORRUPT && (int)MAESTRO_TIMEOUT == STATUS_COUNT, "one order of statuses");
static_assert((int)MAESTRO_RUN_SUCCEEDED == RUN_SUCCEEDED && (int)MAESTRO_RUN_CANCELLED == RUN_CANCELLED, "one order of states");
static_assert(MAESTRO_ERROR_SIZE == ERROR_TEXT_SIZE, "a reason fits");
static_assert(MAESTRO_RUN_ID_SIZE == sizeof(Id), "an id fits");
static_assert(MAESTRO_REQUEST_COUNT_MAX == EMBED_REQUEST_COUNT_MAX, "what the header promises");

const char *maestro_status_name(MaestroStatus status)
{
    if (status == MAESTRO_TIMEOUT) return "timeout";
    return (unsigned)status < STATUS_COUNT ? status_name((Status)status) : "unknown";
}

const char *maestro_run_state_name(MaestroRunState state)
{
    return (unsigned)state <= MAESTRO_RUN_CANCELLED ? run_state_name((RunState)state) : "unknown";
}

const char *maestro_version(void) { return MAESTRO_VERSION; }

void maestro_free(char *text) { free(text); }

MaestroStatus give_error(const Error *error, MaestroError *err)
{
    if (err) {
        *err = (MaestroError){ .status = (MaestroStatus)error->status, .line = error->line, .column = error->column };
        memcpy(err->text, error->text, sizeof err->text);
    }
    return (MaestroStatus)error->status;
}

Status take_text(const char *text, const char *what, size_t size_max, Str *out, Error *err)
{
    if (!text) return error_set(err, ERR_INVALID, "%s is missing", what);
    Str taken = { text, strnlen(text, size_max + 1) };
    if (taken.len > size_max) return error_set(err, ERR_LIMIT, "%s exceeds %zu bytes", what, size_max);
    if (utf8_valid_size(taken) != taken.len) return error_set(err, ERR_INVALID, "%s is no UTF-8", what);
    *out = taken;
    return OK;
}

Status take_run_id(const char *text, Id *out_id, Error *err)
{
    if (text && id_read((Str){ text, strnlen(text, ID_SIZE + 1) }, out_id)) return OK;
    return error_set(err, ERR_INVALID, "'%.*s' is no id of a run", STR_ARG(utf8_head(str_of(text ? text : ""), 40)));
}

Status take_json(Arena *arena, const char *text, const char *what, Value *out, Error *err)
{
    Str taken;
    Status status = take_text(text, what, JSON_SIZE_MAX, &taken, err);
    if (status) return status;
    status = json_parse(arena, taken, out, err);
    if (status) error_prefix(err, "%s: ", what);
    return status;
}

Status give_json(Value value, char **out_json, Error *err)
{
    Buf buf;
    buf_init(&buf, JSON_SIZE_MAX);
    Status status = json_print(&buf, value, JSON_COMPACT, err);
    if (!status) {
        char *text = malloc(buf.len + 1);
        CHECK(text != NULL);
        memcpy(text, buf.ptr, buf.len);
        text[buf.len] = '\0';
        *out_json = text;
    }
    buf_deinit(&buf);
    return status;
}
