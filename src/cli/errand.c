#include "cli/errand.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/trace.h"
#include "cli/workplace.h"
#include "os/entropy.h"
#include "os/user.h"

/* The trace that it belongs to: of whoever calls this program. A run without one gets one of its own, and what is asked of a run
 * belongs to the run's. */
static Str trace_of(Arena *arena)
{
    const char *given = getenv("TRACEPARENT");
    Trace trace;
    char text[TRACE_TEXT_SIZE];
    if (!given || !trace_read(str_of(given), &trace)) return (Str){ 0 };
    return arena_copy(arena, trace_print(&trace, text));
}

static Str tracestate_of(Arena *arena)
{
    const char *given = getenv("TRACESTATE");
    char fitted[TRACE_STATE_SIZE_MAX];
    return given ? arena_copy(arena, trace_state_fit(str_of(given), fitted)) : (Str){ 0 };
}

static Str id_of(const Args *args, Str part)
{
    const char *given = args_value(args, "id");
    if (given && *given && part.len) return arena_format(args->arena, "%s/%.*s", given, STR_ARG(part));
    if (given && *given) return str_of(given);
    uint8_t chance[ID_SIZE];
    entropy_bytes(chance, sizeof chance);
    Id id = id_make(chance);
    return arena_copy(args->arena, id_peek(&id));
}

static Errand begin(const Args *args, const char *verb, Str part, Str who)
{
    Str actor = arena_format(args->arena, "user:%.*s", STR_ARG(user_name(args->arena)));
    if (who.len) actor = arena_format(args->arena, "%.*s by %.*s", STR_ARG(who), STR_ARG(actor));
    Errand errand = { .args = args, .members = { .arena = args->arena }, .id = id_of(args, part), .actor = actor,
                      .trace = trace_of(args->arena) };
    if (errand.trace.len) errand.tracestate = tracestate_of(args->arena);
    errand_add(&errand, "verb", value_string(str_of(verb)));
    errand_add(&errand, "id", value_string(errand.id));
    errand_add(&errand, "actor", value_string(errand.actor));
    if (errand.trace.len) errand_add(&errand, "trace", value_string(errand.trace));
    if (errand.tracestate.len) errand_add(&errand, "tracestate", value_string(errand.tracestate));
    return errand;
}

Errand errand_begin(const Args *args, const char *verb) { return begin(args, verb, (Str){ 0 }, (Str){ 0 }); }
Errand errand_begin_as(const Args *args, const char *verb, Str part) { return begin(args, verb, part, (Str){ 0 }); }
Errand errand_begin_for(const Args *args, const char *verb, Str who) { return begin(args, verb, (Str){ 0 }, who); }

void errand_add(Errand *errand, const char *name, Value value)
{
    member_list_add(&errand->members, str_of(name), value);
}

Status errand_ask(Errand *errand, const char *path, ControlAnswer *out_answer, int *out_fd, Error *err)
{
    int fd;
    if (!path) return error_set(err, ERR_UNAVAILABLE, "a store in memory has no owner");
    Status status = control_connect(path, &fd, err);
    if (status) return status;
    Value request = member_list_object(&errand->members), answer;
    if (store_is_server(str_of(path))) {
        status = adapters.server_ask(str_of(path), errand->args->arena, request, &answer, err);
        if (!status) control_read_answer(answer, out_answer);
    } else {
        status = control_ask(errand->args->arena, fd, request, out_answer, err);
    }
    /* Who says that it takes nothing now has not taken it. */
    if (!status && out_answer->status == ERR_UNAVAILABLE && !out_answer->is_stalled)
        status = error_set(err, ERR_UNAVAILABLE, "%s", out_answer->error.text);
    if (status || !out_fd) close(fd);
    else *out_fd = fd;
    return status;
}

ExitCode errand_refused(const Error *err)
{
    ExitCode code = fail(err);
    return err->status == ERR_CONFLICT ? EXIT_CODE_RUN_FAILED : code;
}
