#include "cli/errand.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/limits.h"
#include "cli/run_read.h"
#include "ledger/record.h"
#include "os/entropy.h"

#define TRACEPARENT_SIZE 55u

/* The trace that it belongs to: of whoever calls this program, else a new one. */
static Str trace_of(Arena *arena)
{
    const char *given = getenv("TRACEPARENT");
    uint8_t chance[24];
    if (given && strlen(given) == TRACEPARENT_SIZE && strncmp(given, "00-", 3) == 0) return str_of(given);
    char storage[TRACEPARENT_SIZE];
    Buf trace = buf_on(storage, sizeof storage);
    entropy_bytes(chance, sizeof chance);
    buf_text(&trace, "00-");
    buf_hex(&trace, chance, 16);
    buf_char(&trace, '-');
    buf_hex(&trace, chance + 16, 8);
    buf_text(&trace, "-01");
    return arena_copy(arena, buf_peek(&trace));
}

Errand errand_begin(const Args *args, const char *verb)
{
    uint8_t chance[ID_SIZE];
    const char *user = getenv("USER");
    entropy_bytes(chance, sizeof chance);
    Errand errand = { .args = args, .members = { .arena = args->arena }, .id = id_make(chance),
                      .actor = arena_format(args->arena, "user:%s", user && *user ? user : "unknown"),
                      .trace = trace_of(args->arena) };
    errand_add(&errand, "verb", value_string(str_of(verb)));
    errand_add(&errand, "id", value_string(arena_copy(args->arena, id_peek(&errand.id))));
    errand_add(&errand, "actor", value_string(errand.actor));
    errand_add(&errand, "trace", value_string(errand.trace));
    return errand;
}

void errand_add(Errand *errand, const char *name, Value value)
{
    member_list_add(&errand->members, str_of(name), value);
}

/* --- was it done? ---------------------------------------------------------------------------------------------------------- */

static bool take_position(void *context, const Cell *cells, uint32_t count)
{
    (void)count;
    *(uint64_t *)context = (uint64_t)cells[LOG_HEADS_position].integer;
    return false;
}

static Status log_end(Store *store, uint64_t *out_position, Error *err)
{
    *out_position = 0;
    return store_select(store, &(QueryAsk){ .query = QUERY_LOG_HEAD, .params = { cell_int(1) }, .param_count = 1 }, take_position,
                        out_position, err);
}

typedef struct Search {
    Arena arena;
    Str id;
    Id run_id;
    uint64_t position;
    uint32_t seen;
    bool is_found;
} Search;

static bool take_record(void *context, const Cell *cells, uint32_t count)
{
    Search *search = context;
    Record record;
    Error err;
    (void)count;
    search->seen++;
    search->position = (uint64_t)cells[LEDGER_position].integer;
    arena_reset(&search->arena);
    if (record_decode_any(&search->arena, cells[LEDGER_record].text, &record, &err)) return true;   /* no record of ours */
    search->is_found = str_is(record.head.command_id, search->id) && id_read(record.head.run_id, &search->run_id);
    return !search->is_found;
}

Status errand_was_done(const Errand *errand, Store *store, bool *out_was_done, Id *out_run_id, Error *err)
{
    Search search = { .id = id_peek(&errand->id), .position = errand->from_position };
    Status status = OK;
    *out_was_done = false;
    if (!errand->was_asked) return OK;
    arena_init(&search.arena, SIZE_MAX);
    do {
        search.seen = 0;
        QueryAsk ask = { .query = QUERY_RECORDS, .params = { cell_int((int64_t)search.position + 1) }, .param_count = 1 };
        status = store_select(store, &ask, take_record, &search, err);
    } while (!status && search.seen && !search.is_found);
    arena_deinit(&search.arena);
    if (status || !search.is_found) return status;
    *out_was_done = true;
    *out_run_id = search.run_id;
    return OK;
}

/* --- asking ---------------------------------------------------------------------------------------------------------------- */

/* Its answer, as far as it can still be known. */
static Status answer_again(const Errand *errand, Store *store, const Id *run_id, ControlAnswer *out, Error *err)
{
    const Cell *row;
    Status status = run_row(errand->args->arena, store, id_peek(run_id), &row, err);
    if (status) return status;
    *out = (ControlAnswer){ .run_id = *run_id, .state = row ? row_state(row) : RUN_QUEUED };
    return OK;
}

Status errand_ask(Errand *errand, Store *store, const char *path, ControlAnswer *out_answer, int *out_fd, Error *err)
{
    int fd;
    if (!path) return error_set(err, ERR_UNAVAILABLE, "a store in memory has no owner");
    Status status = control_connect(path, &fd, err);
    if (status) return status;
    bool was_done = false;
    Id run_id;
    if (errand->was_asked) status = errand_was_done(errand, store, &was_done, &run_id, err);
    else status = log_end(store, &errand->from_position, err);
    if (!status && was_done) status = answer_again(errand, store, &run_id, out_answer, err);
    else if (!status) {
        errand->was_asked = true;
        status = control_ask(errand->args->arena, fd, member_list_object(&errand->members), out_answer, err);
        /* Who says that it takes nothing now has not taken it. */
        if (!status && out_answer->status == ERR_UNAVAILABLE) status = error_set(err, ERR_UNAVAILABLE, "%s", out_answer->error.text);
    }
    if (status || !out_fd) close(fd);
    else *out_fd = fd;
    return status;
}

ExitCode errand_refused(const Error *err)
{
    ExitCode code = fail(err);
    return err->status == ERR_CONFLICT ? EXIT_CODE_RUN_FAILED : code;
}
