#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "base/limits.h"
#include "cli/control.h"
#include "cli/follow.h"
#include "cli/human.h"
#include "cli/patience.h"
#include "cli/progress.h"
#include "cli/run_read.h"
#include "cli/shell_word.h"
#include "cli/workplace.h"

#define OWNER_LOOK_MS 1000                  /* how often it is asked whether anybody carries out the run */

static const Option options[] = {
    STORE_OPTION,
    { "json", 0, NULL, NULL, "Prints events as JSON, one a line." },
    { "quiet", 'q', NULL, NULL, "Prints nothing but the run's id and what went wrong." },
    { NULL },
};

typedef struct Watch { Follow follow; Progress progress; Patience patience; } Watch;

/* That the server answers again is said before what it answers. */
static void take_observation(void *context, const Observation *observation)
{
    Watch *watch = context;
    patience_renew(&watch->patience, &watch->progress);
    progress_take(&watch->progress, observation);
}

/* A server is never without: where it is away, that is said. */
static bool has_owner(const Args *args)
{
    if (store_is_server(store_url(args))) return true;
    const char *path = control_path(args);
    Error err;
    int fd;
    if (!path || control_connect(path, &fd, &err)) return false;
    close(fd);
    return true;
}

/* Until the server that has the run answers, or nobody waits for it any more. */
static Status look(Watch *watch, uint32_t *out_count, Error *err)
{
    Status status;
    while ((status = follow_look(&watch->follow, take_observation, watch, out_count, err))) {
        if (!patience_lasts(&watch->patience, &watch->progress, err) || print_is_unread()) return status;
        progress_draw(&watch->progress);
        nanosleep(&(struct timespec){ .tv_nsec = REMOTE_RETRY_MS * 1000000L }, NULL);
    }
    patience_renew(&watch->patience, &watch->progress);
    return OK;
}

static Status show(const Args *args, Watch *watch, Error *err)
{
    Progress *progress = &watch->progress;
    int wait_ms = FOLLOW_POLL_MS_MIN;
    int64_t looked_ms = 0;
    bool is_noted = false;
    for (;;) {
        uint32_t count;
        Status status = look(watch, &count, err);
        if (status) return status;
        progress_draw(progress);
        if (progress_is_over(progress) || watch->follow.is_settled || print_is_unread()) return OK;
        bool is_paused = progress->model.state == RUN_PAUSED;           /* what it waits for is said then */
        if (!is_noted && !is_paused && human_now_ms() - looked_ms > OWNER_LOOK_MS) {
            looked_ms = human_now_ms();
            is_noted = !has_owner(args);
            if (is_noted)
                progress_note(progress, "no process carries out this run now; '%.*s' does",
                              STR_ARG(shell_command(args, "resume", progress->run_id.text)));
        }
        wait_ms = count ? FOLLOW_POLL_MS_MIN : 2 * wait_ms < FOLLOW_POLL_MS_MAX ? 2 * wait_ms : FOLLOW_POLL_MS_MAX;
        int64_t draw_ms = progress_wait_ms(progress);
        nanosleep(&(struct timespec){ .tv_nsec = (draw_ms >= 0 && draw_ms < wait_ms ? draw_ms : wait_ms) * 1000000L }, NULL);
    }
}

static ExitCode run(const Args *args)
{
    Store *store;
    const Cell *row;
    static Watch watch;
    Error err;
    ExitCode code = store_open_existing(args, &store);
    if (code) return code;
    code = find_row(args, store, args->operands[0], &row);
    if (!code) {
        Status status = follow_open(&watch.follow, store, row, /* has_logs= */ true, &err);
        if (!status) {
            progress_init(&watch.progress, args, &watch.follow.plan, store);
            progress_begin(&watch.progress, &(EngineReply){ .run_id = row_id(row) });
            status = show(args, &watch, &err);
        }
        if (status && watch.follow.store) progress_leave(&watch.progress);
        code = status ? fail(&err) : progress_end(&watch.progress, /* is_repeat= */ false, /* is_interrupted= */ false);
        if (status && watch.follow.store) {
            patience_end(&watch.patience, &watch.progress);
            progress_free(&watch.progress);
        }
    }
    follow_close(&watch.follow);
    store_close(store);
    return code;
}

const Verb command_watch = {
    .name = "watch", .operands = "RUN", .operand_count_min = 1, .operand_count_max = 1,
    .summary = "Shows how a run goes that another process carries out.",
    .doc = "From its first event on, in the same way as 'maestro run', until the run is settled; then exits as that does: 0\n"
           "where it succeeded, 1 where it did not. It only reads; Ctrl-C ends the watching and nothing else. A server that\n"
           "does not answer is asked again for 30 seconds.\n"
           "\n"
           "RUN is the id of a run, its beginning, 'last', or the file of a definition for its newest run.",
    .examples = "maestro watch last",
    .options = options, .run = run,
};
