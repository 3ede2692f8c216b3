#include "cli/patience.h"

#include "base/limits.h"
#include "cli/human.h"
#include "cli/shell_word.h"
#include "cli/workplace.h"

bool patience_lasts(Patience *patience, Progress *progress, const Error *err)
{
    int64_t now_ms = human_now_ms();
    if (err->status != ERR_UNAVAILABLE || !store_is_server(store_url(progress->args))) return false;
    if (!patience->since_ms) {
        patience->since_ms = now_ms;
        progress_note(progress, SERVER_AWAY_WORDS, err->text, REMOTE_AWAY_MS_MAX / 1000);
    }
    return now_ms - patience->since_ms < REMOTE_AWAY_MS_MAX;
}

void patience_renew(Patience *patience, Progress *progress)
{
    if (patience->since_ms) progress_note(progress, SERVER_BACK_WORDS);
    patience->since_ms = 0;
}

void patience_end(const Patience *patience, const Progress *progress)
{
    if (!patience->since_ms || !progress->has_run) return;
    print_note("run %s is the server's and goes on there, or when the server is back: '%.*s' shows it\n", progress->run_id.text,
               STR_ARG(shell_command(progress->args, "watch", progress->run_id.text)));
}
