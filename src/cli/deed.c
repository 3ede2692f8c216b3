#include "cli/deed.h"

#include <time.h>

#include "api/petition.h"
#include "base/limits.h"
#include "cli/human.h"

void deed_reply(void *context, const EngineReply *reply)
{
    Deed *deed = context;
    deed->is_answered = true;
    deed->status = reply->status;
    deed->is_noop = reply->is_noop;
    deed->was_asked = reply->was_asked;
    if (reply->error) deed->error = *reply->error;
    if (reply->status) deed->problem = petition_problem(reply);
}

/* Nobody owns the store: this process does for a moment. EXIT_CODE_TEMPORARY without a word where somebody owns it by now. */
static ExitCode ask_as_owner(Deed *deed)
{
    Workplace place = { .is_absent = true };
    bool is_busy;
    ExitCode code = workplace_open(deed->args, NULL, &place, &is_busy);
    if (code) return code;
    Engine *engine = host_engine(place.host);
    Error err = { 0 };
    Status status = OK;
    if (!deed->send(engine, deed->what)) status = error_set(&err, ERR_LIMIT, "the engine takes no further requests now");
    while (!status && !deed->is_answered && !engine_trouble(engine)) host_turn(place.host, STORE_RETRY_MS);
    if (!status && !deed->is_answered) {
        err = *engine_trouble(engine);
        status = err.status;
    }
    workplace_close(&place);
    return status ? fail(&err) : EXIT_CODE_OK;
}

ExitCode deed_do(Deed *deed)
{
    const char *path = control_path(deed->args);
    for (int64_t end_ms = human_now_ms() + CONTROL_ANSWER_MS_MAX;;) {
        Error err = { 0 };
        ControlAnswer answer;
        Status status = errand_ask(&deed->errand, path, &answer, NULL, &err);
        if (!status) {
            deed->is_answered = true;
            deed->status = answer.status;
            deed->is_noop = answer.is_noop;
            deed->was_asked = answer.was_asked;
            deed->error = answer.error;
            deed->problem = answer.problem;
            return EXIT_CODE_OK;
        }
        if (status != ERR_UNAVAILABLE) return fail(&err);
        ExitCode code = ask_as_owner(deed);
        if (code != EXIT_CODE_TEMPORARY) return code;
        if (human_now_ms() > end_ms) return fail(&err);
        nanosleep(&(struct timespec){ .tv_nsec = OWNER_RETRY_MS * 1000000L }, NULL);    /* the owner comes or goes */
    }
}
