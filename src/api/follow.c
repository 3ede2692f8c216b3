#include "api/follow.h"

#include <string.h>

#include "api/document.h"
#include "base/limits.h"

typedef struct Follower {
    Call *call;
    struct Follower *next, *prev;
    uint64_t run_no;
    Str execution_id;
    unsigned status;
} Follower;

/* By the number of the run, so that news of one cost nothing for those who wait for others. */
static Follower **list_of(Api *api, uint64_t run_no) { return &api->followers[run_no % API_FOLLOW_BUCKET_COUNT]; }

bool follow_read(Call *call, int64_t *out_ms)
{
    Str text = call_query(call, "wait");
    uint64_t number;
    bool is_ms = str_ends(text, STR("ms"));
    *out_ms = 0;
    if (!text.len) return true;
    Str digits = str_slice(text, 0, text.len - (is_ms ? 2 : str_ends(text, STR("s")) ? 1 : 0));
    if (str_to_u64(digits, &number) && number <= API_WAIT_MS_MAX && (is_ms ? number : number * 1000) <= API_WAIT_MS_MAX) {
        *out_ms = (int64_t)(is_ms ? number : number * 1000);
        return true;
    }
    call_problem(call, PROBLEM_INVALID, "'wait' of the query is 500ms, 5s or a number of seconds, up to %d s", API_WAIT_MS_MAX / 1000);
    return false;
}

static void leave(Follower *follower)
{
    Api *api = follower->call->api;
    if (follower->prev) follower->prev->next = follower->next;
    else *list_of(api, follower->run_no) = follower->next;
    if (follower->next) follower->next->prev = follower->prev;
    bridge_listen(api->bridge, -1);
}

/* Nothing more happens to it by itself. */
static bool is_still(const Cell *row)
{
    RunState state = row_state(row);
    return row_is_settled(row) || state == RUN_PAUSED || state == RUN_WAITING_SIGNAL
        || row[RUNS_awaiting_trigger_key].kind == CELL_TEXT;
}

static void answer(Follower *follower)
{
    leave(follower);
    document_answer_execution(follower->call, follower->status, follower->execution_id);
}

static void be_late(Call *call) { answer(call->state); }

static bool look(Follower *follower)
{
    const Cell *row = NULL;
    Error err;
    Status status = run_row(&follower->call->arena, follower->call->api->store, follower->execution_id, &row, &err);
    if (!status && row && !is_still(row) && !follower->call->api->is_draining) return false;
    answer(follower);
    return true;
}

void follow(Call *call, uint64_t run_no, Str execution_id, unsigned status, int64_t ms)
{
    Api *api = call->api;
    if (!ms) {
        document_answer_execution(call, status, execution_id);
        return;
    }
    Follower *follower = ARENA_NEW(&call->arena, Follower);
    *follower = (Follower){ .call = call, .run_no = run_no, .execution_id = arena_copy(&call->arena, execution_id),
                            .status = status, .next = *list_of(api, run_no) };
    if (follower->next) follower->next->prev = follower;
    call->state = follower;
    *list_of(api, run_no) = follower;
    bridge_listen(api->bridge, 1);          /* before looking: what happens after it is told */
    if (!look(follower)) call_wait(call, ms, be_late, NULL);
}

static void look_at_list(Follower *first, uint64_t run_no)
{
    for (Follower *follower = first, *next; follower; follower = next) {
        next = follower->next;
        if (!run_no || follower->run_no == run_no) (void)look(follower);
    }
}

void follow_news(Api *api, uint64_t run_no)
{
    if (run_no) look_at_list(*list_of(api, run_no), run_no);
    for (uint32_t i = 0; !run_no && i < API_FOLLOW_BUCKET_COUNT; i++) look_at_list(api->followers[i], 0);
}
