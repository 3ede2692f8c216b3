#include "cli/attend.h"

#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "api/petition.h"
#include "base/limits.h"
#include "base/utf8.h"
#include "cli/follow.h"
#include "cli/guardrails.h"
#include "cli/human.h"
#include "cli/offers.h"
#include "cli/patience.h"
#include "cli/problem.h"
#include "cli/progress.h"
#include "cli/run_read.h"
#include "cli/server_order.h"
#include "cli/shell_word.h"
#include "cli/workplace.h"

/* What comes after a time as the owner, or beside one. */
typedef enum Next { NEXT_OVER, NEXT_AGAIN } Next;

typedef struct Attend {
    const Args *args;
    const AttendWish *wish;
    Errand errand;                  /* the start or the resumption */
    Str directory;                  /* of this process: the programs of a run that it starts begin there */
    bool is_asked_for;              /* it was accepted */
    Progress progress;
    Follow follow;
    uint64_t seen_event;            /* of the run: what was shown already */
    int64_t line_no;                /* the last line of the store before it was asked for */
    bool has_line_no;
    bool has_run, is_repeat, has_begun;
    bool was_over;                          /* the run had ended before this process asked for it: nothing is run again */
    Id run_id;
    Guard *guard;                   /* the policies in force */
    Workplace place;
    int signal_fd;
    unsigned interrupt_count;
    bool is_pause_wanted;           /* the first of them was Ctrl-C: the run is to wait for 'maestro resume' */
    bool is_held_by_jobs;           /* nothing of it goes on before one of its jobs is resumed */
    bool is_noted;                  /* why it waits was said */
    bool is_trouble_noted;          /* that the store cannot be written was said, and that it can was not yet */
    int64_t busy_since_ms;
    Patience patience;              /* with the server whose run it is */
    int64_t since_ms;               /* when it began: what the run did before is counted, not told again */
    bool is_catching_up;            /* with a run that was there before */
    bool is_answered;               /* by the own engine */
    EngineReply reply;
    Error error;
    ExitCode code;                  /* of a failure; progress has the rest */
} Attend;

/* --- what happens ---------------------------------------------------------------------------------------------------------- */

/* What a new owner decides when it takes the run over may be in the store before the run is shown. */
static void tell_again(Attend *attend)
{
    attend->is_catching_up = false;
    attend->progress.is_quiet = args_flag(attend->args, "quiet");
    attend->progress.is_json = args_flag(attend->args, "json");
}

/* Events come from the store and from the own engine; each is shown once. */
static void take_observation(void *context, const Observation *given)
{
    Attend *attend = context;
    Observation observation = *given;
    bool is_of_run = given->kind != OBSERVE_LINES && given->kind != OBSERVE_SECRETS;
    if (!is_of_run || !attend->has_begun || memcmp(given->run->id.text, attend->run_id.text, ID_SIZE) != 0) return;
    patience_renew(&attend->patience, &attend->progress);
    /* Lines from before are not read at all. */
    if (attend->is_catching_up && (given->kind == OBSERVE_LOG || given->now_ms >= attend->since_ms)) tell_again(attend);
    attend->is_held_by_jobs = given->run->state == RUN_RUNNING && given->run->paused_ready_count && run_is_parked(given->run);
    if (given->kind == OBSERVE_EVENTS) {
        uint64_t last = given->first_event + given->event_count - 1;
        if (last <= attend->seen_event) return;
        uint32_t old = given->first_event > attend->seen_event ? 0 : (uint32_t)(attend->seen_event - given->first_event + 1);
        observation.events += old;
        observation.event_count -= old;
        observation.first_event += old;
        if (observation.payloads) observation.payloads = given->payloads;
        attend->seen_event = last;
    }
    progress_take(&attend->progress, &observation);
}

static void take_reply(void *context, const EngineReply *reply)
{
    Attend *attend = context;
    attend->is_answered = true;
    attend->reply = *reply;
    if (reply->error) attend->error = *reply->error;
}

static void take_signal(void *context, int fd)
{
    Attend *attend = context;
    struct signalfd_siginfo info;
    while (read(fd, &info, sizeof info) == (ssize_t)sizeof info)
        if (attend->interrupt_count++ == 0) attend->is_pause_wanted = info.ssi_signo == SIGINT;
}

/* Whether it was told to stop: by a signal, or because nobody reads any more what it says, which is taken for a Ctrl-C. */
static bool is_interrupted(Attend *attend)
{
    if (!attend->interrupt_count && print_is_unread()) {
        attend->interrupt_count = 1;
        attend->is_pause_wanted = true;
    }
    return attend->interrupt_count > 0;
}

/* The key has a run with other parameters: the engine says which, and what differs. */
static ExitCode refuse_key(const Error *err)
{
    Error told;
    error_set(&told, ERR_CONFLICT, "%s. 'maestro show RUN' shows that run; --again starts a new one, and so does another --key", err->text);
    return problem_report(PROBLEM_KEY, &told);
}

static ExitCode refuse_inactive(const Error *err)
{
    Error told;
    error_set(&told, ERR_CONFLICT, "%s; 'maestro revisions activate NAME@VERSION' makes it so", err->text);
    return problem_report(PROBLEM_REVISION_NOT_ACTIVE, &told);
}

static Next refuse(Attend *attend, const Error *err, ProblemKind problem)
{
    progress_leave(&attend->progress);
    attend->code = problem == PROBLEM_KEY                 ? refuse_key(err)
                 : problem == PROBLEM_REVISION_NOT_ACTIVE ? refuse_inactive(err) : problem_report(problem, err);
    return NEXT_OVER;
}

static Next stop(Attend *attend, const Error *err)
{
    progress_leave(&attend->progress);
    attend->code = fail(err);
    if (attend->has_begun) patience_end(&attend->patience, &attend->progress);
    return NEXT_OVER;
}

/* Lines that were there before are not shown again. Whoever was asked to go on may be quick: what it wrote before it was heard that it
 * does is new. */
static Status skip_lines(Attend *attend, Error *err)
{
    int64_t line_no = attend->line_no;
    Status status = attend->has_line_no ? OK : follow_last_line(attend->follow.store, &line_no, err);
    if (status) return status;
    attend->has_line_no = false;
    attend->follow.line_no = line_no;
    return OK;
}

static Status open_follow(Attend *attend, Store *store, bool has_logs, Error *err)
{
    const Cell *row = NULL;
    Status status = run_row(attend->args->arena, store, id_peek(&attend->run_id), &row, err);
    if (!status && !row) status = error_set(err, ERR_NOT_FOUND, "there is no run %s in this store", attend->run_id.text);
    if (!status) status = follow_open(&attend->follow, store, row, has_logs, err);
    if (!status && (attend->is_repeat || attend->seen_event)) status = skip_lines(attend, err);
    if (status) follow_close(&attend->follow);
    return status;
}

/* Shows what the store has of the run and was not shown yet. */
static Status catch_up(Attend *attend, Store *store, bool has_logs, uint32_t *out_count, Error *err)
{
    Status status = OK;
    attend->progress.store = store;
    attend->follow.store = attend->follow.store ? store : NULL;
    if (!attend->follow.store) status = open_follow(attend, store, has_logs, err);
    if (!status) status = follow_look(&attend->follow, take_observation, attend, out_count, err);
    return status;
}

/* The run is known. What it did before this process met it is counted, not told again. */
static Status begin(Attend *attend, Store *store, const EngineReply *reply, bool has_logs, Error *err)
{
    uint32_t count;
    attend->run_id = reply->run_id;
    attend->has_run = attend->has_begun = true;
    attend->is_repeat = reply->is_repeat;
    attend->was_over = reply->is_repeat && run_state_is_settled((RunState)reply->run_state, (Resolution)reply->resolution);
    attend->progress.store = store;
    progress_begin(&attend->progress, reply);
    if (reply->is_repeat) {
        attend->is_catching_up = attend->progress.is_quiet = true;
        attend->progress.is_json = false;
    }
    Status status = catch_up(attend, store, has_logs, &count, err);
    if (!status) tell_again(attend);
    return status;
}

static Status begin_known(Attend *attend, Store *store, bool has_logs, Error *err)
{
    const Cell *row;
    Status status = run_row(attend->args->arena, store, id_peek(&attend->run_id), &row, err);
    if (!status && !row) status = error_set(err, ERR_NOT_FOUND, "there is no run %s in this store", attend->run_id.text);
    if (status) return status;
    EngineReply reply = { .run_id = attend->run_id, .run_state = (uint8_t)row_state(row),
                          .resolution = (uint8_t)row_resolution(row),
                          .is_repeat = !attend->wish->plan };
    return begin(attend, store, &reply, has_logs, err);
}

/* --- as the owner ---------------------------------------------------------------------------------------------------------- */

static void turn_until_answered(Attend *attend)
{
    while (!attend->is_answered && !attend->interrupt_count && engine_state(host_engine(attend->place.host)) != ENGINE_FENCED)
        host_turn(attend->place.host, -1);
}

static Status start(Attend *attend, Error *err)
{
    const AttendWish *wish = attend->wish;
    Engine *engine = host_engine(attend->place.host);
    EngineStart request = {
        .tenant = wish->plan->tenant,
        .request = { .params = wish->params, .key = wish->key, .is_again = wish->is_again, .source = STR("manual"),
                     .revision = wish->revision, .directory = attend->directory },
        .seen = wish->seen,
        .command = { .id = attend->errand.id, .actor = attend->errand.actor, .trace = attend->errand.trace,
                     .tracestate = attend->errand.tracestate },
        .reply = take_reply, .context = attend,
    };
    Status status = engine_plan_add(engine, wish->document, &request.plan, err);
    if (status) return status;
    engine_plan_text(engine, &request.plan, wish->text);
    if (!engine_start(engine, &request)) return error_set(err, ERR_LIMIT, "the engine takes no further runs now");
    turn_until_answered(attend);
    return OK;
}

/* A run that is paused, or that nothing can be resumed of: the core says so. */
static bool must_resume(Attend *attend)
{
    RunState state = (RunState)attend->follow.replay.run.state;
    return !attend->wish->plan && !attend->is_asked_for && (state == RUN_PAUSED || attend->follow.is_settled);
}

static Status resume(Attend *attend, Error *err)
{
    EngineRequest request = { .run_id = attend->run_id, .reply = take_reply, .context = attend,
                              .command = { .kind = COMMAND_RESUME, .id = attend->errand.id, .actor = attend->errand.actor,
                                           .rationale = attend->wish->reason, .trace = attend->errand.trace,
                                           .value = value_null(),
                                           .report.output = value_null() } };
    if (!engine_request(host_engine(attend->place.host), &request))
        return error_set(err, ERR_LIMIT, "the engine takes no further requests now");
    turn_until_answered(attend);
    return OK;
}

/* A start whose key has a run that was interrupted: who types the same command again wants it to go on. */
static Status go_on(Attend *attend, Error *err)
{
    bool is_paused = attend->reply.is_repeat && attend->reply.run_state == RUN_PAUSED;
    Status status = begin(attend, attend->place.store, &attend->reply, false, err);
    if (status || !is_paused) return status;
    attend->is_answered = false;
    status = resume(attend, err);
    if (!status && attend->is_answered && attend->reply.status) {
        *err = attend->error;
        status = attend->reply.status;
    }
    return status;
}

/* The run begins, or goes on. False where there is nothing to carry out. */
static bool begin_as_owner(Attend *attend)
{
    Error err = { 0 };
    Store *store = attend->place.store;
    uint32_t count;
    Status status = OK;
    if (attend->has_run)
        status = attend->has_begun ? catch_up(attend, store, true, &count, &err) : begin_known(attend, store, false, &err);
    bool is_start = !attend->has_run;
    if (!status && is_start) status = start(attend, &err);
    if (!status && !is_start && must_resume(attend)) status = resume(attend, &err);
    if (!status && attend->is_answered && attend->reply.status) return refuse(attend, &attend->error, petition_problem(&attend->reply)), false;
    if (!status && attend->is_answered) attend->is_asked_for = true;
    if (!status && is_start && attend->is_answered) status = go_on(attend, &err);
    if (status) return stop(attend, &err), false;
    attend->follow.has_logs = false;            /* from now on the engine tells */
    return attend->has_begun;
}

static void note_drain(Attend *attend, uint32_t count, bool is_interrupted)
{
    const char *them = count == 1 ? "it" : "them", *plural = count == 1 ? "" : "s";
    bool is_own = attend->has_begun && attend->progress.model.plan && model_under_way(&attend->progress.model) >= count;
    attend->is_noted = true;
    if (is_interrupted) progress_note(&attend->progress, "%u step%s under way may end; Ctrl-C again ends %s now", count, plural,
                                      them);
    else
        progress_note(&attend->progress, "waits for %u step%s%s that this process carries out; Ctrl-C ends %s now", count, plural,
                      is_own ? "" : " of other runs", them);
}

/* Ctrl-C pauses the run, so that no later process goes on with it unasked. One that cannot be paused now (it waits for a
 * signal, it is about to end) stays as it is. */
static void pause_run(Attend *attend)
{
    Engine *engine = host_engine(attend->place.host);
    unsigned interrupt_count = attend->interrupt_count;
    EngineRequest request = { .run_id = attend->run_id, .reply = take_reply, .context = attend,
                              .command = { .kind = COMMAND_PAUSE, .actor = attend->errand.actor, .rationale = STR("interrupted"),
                                           .value = value_null(), .report.output = value_null() } };
    attend->is_answered = false;
    if (!engine_request(engine, &request)) return;
    while (!attend->is_answered && attend->interrupt_count == interrupt_count && !engine_trouble(engine))
        host_turn(attend->place.host, LOG_DELAY_MS);
}

/* Nothing new begins; what is under way may end, so that nobody has to do it again. */
static void drain(Attend *attend)
{
    Engine *engine = host_engine(attend->place.host);
    unsigned interrupt_count = attend->interrupt_count;
    int64_t begin_ms = human_now_ms();
    attend->is_noted = false;
    for (;;) {
        int64_t waited_ms = human_now_ms() - begin_ms;
        bool is_drained = engine_drain(engine) && control_is_quiet(attend->place.control);
        uint32_t count = engine_stats(engine).attempt_under_way;
        if (is_drained && (engine_is_idle(engine) || waited_ms > 2 * LOG_DELAY_MS)) return;
        if (attend->interrupt_count > interrupt_count || engine_trouble(engine)) return;
        if (count && !attend->is_noted && (interrupt_count || waited_ms > DRAIN_NOTE_MS))
            note_drain(attend, count, interrupt_count);
        host_turn(attend->place.host, LOG_DELAY_MS / 2);
        progress_draw(&attend->progress);
    }
}

/* Said once each time that the store stops taking commits: nothing else would be seen of it. */
static void note_trouble(Attend *attend)
{
    const Engine *engine = host_engine(attend->place.host);
    bool is_stalled = engine_stats(engine).stall_count > 0;
    if (is_stalled && !attend->is_trouble_noted && engine_trouble(engine)) {
        progress_note(&attend->progress, "%s; it is tried again until it can be; Ctrl-C stops here, and '%.*s' goes on",
                      engine_trouble(engine)->text, STR_ARG(shell_command(attend->args, "resume", attend->run_id.text)));
        attend->is_trouble_noted = true;
    }
    if (!is_stalled && attend->is_trouble_noted) {
        progress_note(&attend->progress, "the store can be written again: the run goes on");
        attend->is_trouble_noted = false;
    }
}

/* Nobody here can do anything for the run, and nobody was asked to wait. */
static bool is_waiting(const Attend *attend)
{
    const LiveModel *model = &attend->progress.model;
    if (!attend->has_begun || !model->plan || !args_flag(attend->args, "until-waiting")) return false;
    if (model->notifying_count) return false;               /* whoever is to learn of its pause has not been told once */
    bool may_wait = model->state == RUN_PAUSED || model->state == RUN_WAITING_SIGNAL || attend->is_held_by_jobs;
    return may_wait && model_under_way(model) == 0;
}

static Next as_owner(Attend *attend)
{
    Engine *engine = host_engine(attend->place.host);
    Error err;
    if (host_watch(attend->place.host, attend->signal_fd, take_signal, attend, &err)) return stop(attend, &err);
    workplace_listen(attend->args, attend->wish->catalog, &attend->place);
    engine_observe(engine, take_observation, attend);
    attend->is_answered = false;
    if (begin_as_owner(attend))
        while (!progress_is_over(&attend->progress) && !is_interrupted(attend) && !is_waiting(attend)
               && engine_state(engine) != ENGINE_FENCED) {
            host_turn(attend->place.host, progress_wait_ms(&attend->progress));
            note_trouble(attend);
            progress_draw(&attend->progress);
        }
    if (engine_state(engine) == ENGINE_FENCED && !attend->code) return NEXT_AGAIN;
    if (attend->is_pause_wanted && attend->has_begun && !progress_is_over(&attend->progress)) pause_run(attend);
    drain(attend);
    host_unwatch(attend->place.host, attend->signal_fd);
    return NEXT_OVER;
}

/* --- beside the owner ------------------------------------------------------------------------------------------------------ */

/* Waits for the owner to go (then true), a signal, or a time. */
static bool wait_for_owner(Attend *attend, int owner_fd, int timeout_ms)
{
    struct pollfd fds[2] = { { .fd = attend->signal_fd, .events = POLLIN }, { .fd = owner_fd, .events = POLLIN } };
    if (poll(fds, 2, timeout_ms) <= 0) return false;
    if (fds[0].revents) take_signal(attend, attend->signal_fd);
    return fds[1].revents != 0;
}

/* A server that is gone for a moment is waited for. */
static Next wait_for_server(Attend *attend, const Error *why)
{
    if (!patience_lasts(&attend->patience, &attend->progress, why)) return stop(attend, why);
    wait_for_owner(attend, -1, REMOTE_RETRY_MS);
    return is_interrupted(attend) ? NEXT_OVER : NEXT_AGAIN;
}

static Next wait_and_retry(Attend *attend, const Error *why)
{
    int64_t now_ms = human_now_ms();
    if (store_is_server(store_url(attend->args))) return wait_for_server(attend, why);
    if (!attend->busy_since_ms) attend->busy_since_ms = now_ms;
    if (!attend->is_noted && now_ms - attend->busy_since_ms > DRAIN_NOTE_MS) {
        attend->is_noted = true;
        progress_note(&attend->progress, "waits: %s; with another --store the run begins at once", why->text);
    }
    wait_for_owner(attend, -1, OWNER_RETRY_MS);
    return attend->interrupt_count ? NEXT_OVER : NEXT_AGAIN;
}

static Next follow_beside(Attend *attend, Store *store, int owner_fd)
{
    Error err;
    int wait_ms = FOLLOW_POLL_MS_MIN;
    for (;;) {
        uint32_t count;
        if (catch_up(attend, store, true, &count, &err)) return wait_for_server(attend, &err);
        patience_renew(&attend->patience, &attend->progress);
        if (attend->is_catching_up) tell_again(attend);
        progress_draw(&attend->progress);
        if (progress_is_over(&attend->progress) || is_waiting(attend)) return NEXT_OVER;
        wait_ms = count ? FOLLOW_POLL_MS_MIN : 2 * wait_ms < FOLLOW_POLL_MS_MAX ? 2 * wait_ms : FOLLOW_POLL_MS_MAX;
        int64_t draw_ms = progress_wait_ms(&attend->progress);
        if (wait_for_owner(attend, owner_fd, draw_ms >= 0 && draw_ms < wait_ms ? (int)draw_ms : wait_ms) || owner_fd < 0)
            return NEXT_AGAIN;
        if (is_interrupted(attend)) return NEXT_OVER;
    }
}

/* A start is asked for in any case; a resumption only of a run that does not go on by itself. */
static bool is_to_resume(Attend *attend, Store *store)
{
    const Cell *row = NULL;
    Error err;
    if (attend->wish->plan || run_row(attend->args->arena, store, id_peek(&attend->run_id), &row, &err) || !row) return true;
    return row_state(row) == RUN_PAUSED || row_is_settled(row);
}

/* Hands over the wish, unless that is done, and follows the run. */
static Next beside_owner(Attend *attend, Store *store)
{
    const char *path = control_path(attend->args);
    ControlAnswer answer = { 0 };
    Error err;
    int fd = -1;
    if (attend->is_asked_for || !is_to_resume(attend, store)) {
        attend->is_asked_for = true;
        if (control_connect(path, &fd, &err)) fd = -1;          /* nobody listens: perhaps nobody is there */
    } else {
        Status status = OK;
        if (!attend->wish->plan && !attend->has_line_no) {
            status = follow_last_line(store, &attend->line_no, &err);
            attend->has_line_no = !status;
        }
        if (!status) status = errand_ask(&attend->errand, path, &answer, &fd, &err);
        if (status == ERR_UNAVAILABLE) return wait_and_retry(attend, &err);
        if (status) return stop(attend, &err);
        attend->is_asked_for = !answer.status;
        if (answer.status) refuse(attend, &answer.error, answer.problem);
        attend->is_repeat = answer.is_repeat;
        attend->run_id = answer.run_id.text[0] ? answer.run_id : attend->run_id;
    }
    Next next = NEXT_OVER;
    if (attend->is_asked_for) {
        attend->busy_since_ms = 0;
        attend->has_run = true;
        Status status = OK;
        if (!attend->has_begun) {
            const Cell *row = NULL;
            status = run_row(attend->args->arena, store, id_peek(&attend->run_id), &row, &err);
            EngineReply reply = { .run_id = attend->run_id, .is_repeat = attend->is_repeat || !attend->wish->plan };
            if (row) reply.run_state = (uint8_t)row_state(row), reply.resolution = (uint8_t)row_resolution(row);
            if (!status) status = begin(attend, store, &reply, /* has_logs= */ true, &err);
        }
        next = status ? wait_for_server(attend, &err) : follow_beside(attend, store, fd);
    }
    if (fd >= 0) close(fd);
    return next;
}

/* --- the story ------------------------------------------------------------------------------------------------------------- */

static Next once(Attend *attend, bool *out_is_beside)
{
    bool is_busy;
    Store *store;
    Next next;
    attend->place.guard = attend->guard;
    ExitCode code = workplace_open(attend->args, attend->wish->catalog, &attend->place, &is_busy);
    *out_is_beside = attend->progress.is_elsewhere = is_busy;
    if (code && !is_busy) {
        attend->code = code;
        return NEXT_OVER;
    }
    if (!is_busy) {
        next = as_owner(attend);
        follow_close(&attend->follow);          /* its store closes */
        workplace_close(&attend->place);
        return next;
    }
    attend->code = store_open_or_make(attend->args, &store);        /* its owner may be about to make its tables */
    if (attend->code) return NEXT_OVER;
    next = beside_owner(attend, store);
    store_close(store);
    return next;
}

static Status take_signals(Attend *attend, Error *err)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigprocmask(SIG_BLOCK, &set, NULL);         /* before any thread is made */
    attend->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    return attend->signal_fd < 0 ? error_set(err, ERR_LIMIT, "signals cannot be waited for") : OK;
}

/* Empty where it has no name that can be told: it was removed, or is too deep. */
static Str directory_of(const Args *args)
{
    char path[PATH_MAX];
    bool is_named = getcwd(path, sizeof path) && path[0] == '/' && utf8_valid_size(str_of(path)) == strlen(path)
                    && strlen(path) <= DIRECTORY_SIZE_MAX;
    return is_named ? arena_copy(args->arena, str_of(path)) : (Str){ 0 };
}

static Errand errand_of(const Args *args, const AttendWish *wish, Str directory, Guard *guard)
{
    Errand errand = errand_begin(args, wish->plan ? "start" : "resume");
    if (!wish->plan) {
        errand_add(&errand, "run", value_string(id_peek(&wish->run_id)));
        errand_add(&errand, "reason", value_string(wish->reason));
        return errand;
    }
    errand_add(&errand, "plan", value_string(wish->document));
    /* A definition that is too long to go with its plan is known by that alone. */
    if (wish->text.len && wish->text.len + wish->document.len < CONTROL_LINE_SIZE_MAX / 2)
        errand_add(&errand, "text", value_string(wish->text));
    if (wish->revision) errand_add(&errand, "revision", value_int(wish->revision));
    if (wish->seen.has_active) errand_add(&errand, "against", value_int(wish->seen.active));
    errand_add(&errand, "params", wish->params);
    errand_add(&errand, "tenant", value_string(wish->plan->tenant));
    if (wish->key.len) errand_add(&errand, "key", value_string(wish->key));
    errand_add(&errand, "again", value_bool(wish->is_again));
    errand_add(&errand, "directory", value_string(directory));
    errand_add(&errand, "offers", value_string(offers_digest(args->arena, wish->plan->document,
                                                             &(OfferScope){ wish->catalog, guard })));
    return errand;
}

/* What this process did when it went (it ended steps, and another may have gone on) is in the store: the summary says the same
 * as 'maestro show' from now on. */
static void look_again(Attend *attend)
{
    Store *store;
    Error err;
    uint32_t count;
    bool is_quiet = attend->progress.is_quiet, is_json = attend->progress.is_json;
    if (adapters.store_open(store_url(attend->args), /* is_created= */ false, &store, &err)) return;
    attend->progress.is_quiet = true;
    attend->progress.is_json = false;
    if (catch_up(attend, store, /* has_logs= */ false, &count, &err)) progress_note(&attend->progress, "%s", err.text);
    attend->progress.is_quiet = is_quiet;
    attend->progress.is_json = is_json;
    attend->progress.store = NULL;
    follow_close(&attend->follow);
    store_close(store);
}

/* Whoever shows a run of another ends the showing, and what is said of Ctrl-C elsewhere is not so here. */
static void say_goes_on(const Attend *attend)
{
    const char *run = attend->run_id.text;
    bool is_server = store_is_server(store_url(attend->args));
    print_note("interrupted; the run goes on: %s carries it out\n", is_server ? "the server" : "another process");
    print_note("  %.*s   shows it\n", STR_ARG(shell_command(attend->args, "watch", run)));
    print_note("  %.*s   pauses it\n", STR_ARG(shell_command(attend->args, "pause", run)));
}

static ExitCode interrupted(Attend *attend, bool is_beside)
{
    if (attend->has_begun && !is_beside) look_again(attend);
    progress_leave(&attend->progress);
    if (print_is_unread()) print_note("maestro: nobody reads the output of this command any more\n");
    if (!attend->has_begun) print_note("interrupted before the run began\n");
    else if (is_beside) say_goes_on(attend);
    else return progress_end(&attend->progress, /* is_repeat= */ false, /* is_interrupted= */ true);
    return EXIT_CODE_TEMPORARY;
}

static ExitCode attend_under(const Args *args, const AttendWish *wish, Guard *guard)
{
    static Attend attend;
    Error err;
    Str directory = directory_of(args);
    attend = (Attend){ .args = args, .wish = wish, .guard = guard, .directory = directory, .since_ms = human_now_ms(),
                       .errand = errand_of(args, wish, directory, guard), .run_id = wish->run_id,
                       .has_run = !wish->plan };
    progress_init(&attend.progress, args, wish->plan ? wish->plan : wish->run_plan, NULL);
    if (take_signals(&attend, &err)) return fail(&err);
    bool is_beside = false;
    while (once(&attend, &is_beside) == NEXT_AGAIN) {}
    follow_close(&attend.follow);
    close(attend.signal_fd);
    if (attend.code) return attend.code;
    if (is_waiting(&attend)) return progress_end(&attend.progress, /* is_repeat= */ false, /* is_interrupted= */ true);
    if (attend.interrupt_count && !progress_is_over(&attend.progress)) return interrupted(&attend, is_beside);
    return progress_end(&attend.progress, attend.was_over && wish->plan, /* is_interrupted= */ false);
}

ExitCode attend(const Args *args, const AttendWish *wish)
{
    Guard *guard = NULL;            /* a server asks its own policies */
    ExitCode code = server_is_meant(args) ? EXIT_CODE_OK
                                          : guardrails_open(args, wish->catalog, wish->plan ? wish->plan : wish->run_plan, &guard);
    if (!code) {
        code = attend_under(args, wish, guard);
        guard_close(guard);
    }
    return code;
}
