#include "api/follow.h"

#include <string.h>

#include "api/bearer.h"
#include "api/document.h"
#include "base/limits.h"
#include "os/clock.h"

typedef struct Follower {
    Call *call;
    struct Follower *next, *prev;
    struct Follower *due_next, *due_prev;
    bool is_due;                    /* there are news that it has not looked at */
    bool is_left;                   /* nobody can be answered: it waits no more */
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
    if (!call_has_query(call, "wait")) return true;
    Str digits = str_slice(text, 0, text.len - (is_ms ? 2 : str_ends(text, STR("s")) ? 1 : 0));
    if (str_to_u64(digits, &number) && number <= API_WAIT_MS_MAX && (is_ms ? number : number * 1000) <= API_WAIT_MS_MAX) {
        *out_ms = (int64_t)(is_ms ? number : number * 1000);
        return true;
    }
    call_problem(call, PROBLEM_INVALID, "'wait' of the query is 500ms, 5s or a number of seconds, up to %d s", API_WAIT_MS_MAX / 1000);
    return false;
}

static void due_add(Api *api, Follower *follower)
{
    if (follower->is_due) return;
    follower->is_due = true;
    follower->due_next = NULL;
    follower->due_prev = api->due_last;
    *(api->due_last ? &api->due_last->due_next : &api->due_first) = follower;
    api->due_last = follower;
}

static void due_remove(Api *api, Follower *follower)
{
    if (!follower->is_due) return;
    follower->is_due = false;
    *(follower->due_prev ? &follower->due_prev->due_next : &api->due_first) = follower->due_next;
    *(follower->due_next ? &follower->due_next->due_prev : &api->due_last) = follower->due_prev;
}

static void leave(Follower *follower)
{
    Api *api = follower->call->api;
    follower->call->over = NULL;
    due_remove(api, follower);
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

static void be_late(Call *call)
{
    Follower *follower = call->state;
    leave(follower);
    if (bearer_check(call)) document_answer_execution(call, follower->status, follower->execution_id);
}

static bool look(Follower *follower)
{
    Call *call = follower->call;
    const Cell *row = NULL;
    Error err;
    Status status = run_row(&call->arena, call->api->store, follower->execution_id, &row, &err);
    if (!status && row && !is_still(row) && !call->api->is_draining && !follower->is_left) return false;
    if (status || !row) be_late(call);
    else {
        leave(follower);
        if (bearer_check(call)) call_value(call, follower->status, document_execution_whole(call, row));
    }
    return true;
}

/* Whoever has closed its side may still read, and has asked to wait. Nobody is kept waiting whose connection is broken. */
static void leave_client(Call *call, bool is_broken)
{
    Follower *follower = call->state;
    if (!is_broken || follower->is_left) return;
    follower->is_left = true;
    due_add(call->api, follower);
}

/* When the server ends, those that wait are woken, and a connection that is closed by then ends before it is its turn to be answered. */
static void be_over(Call *call) { leave(call->state); }

/* False after answering: others of its key or tenant wait already. Who has started the run is told it as it is, since whoever is refused
 * would start it again. */
static bool may_wait(Follower *follower)
{
    Call *call = follower->call;
    ShareBound bound;
    if (call->is_done ? call_try_hold(call, SHARE_WAITS, &bound) : call_hold(call, SHARE_WAITS)) return true;
    if (call->is_done) be_late(call);
    else leave(follower);
    return false;
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
    call->over = be_over;
    *list_of(api, run_no) = follower;
    api_listen(api);                        /* before looking: what happens after it is told */
    if (look(follower) || !may_wait(follower)) return;
    call_wait(call, ms, be_late, NULL);
    call_watch(call, leave_client);
}

static void queue_list(Api *api, Follower *first, uint64_t run_no)
{
    for (Follower *follower = first; follower; follower = follower->next)
        if (!run_no || follower->run_no == run_no) due_add(api, follower);
}

void follow_news(Api *api, uint64_t run_no)
{
    if (run_no) queue_list(api, *list_of(api, run_no), run_no);
    for (uint32_t i = 0; !run_no && i < API_FOLLOW_BUCKET_COUNT; i++) queue_list(api, api->followers[i], 0);
}

bool follow_turn(Api *api)
{
    uint64_t begin_ns = clock_monotonic_ns();
    while (api->due_first && clock_monotonic_ns() - begin_ns < API_FOLLOW_TURN_NS) {
        Follower *follower = api->due_first;
        due_remove(api, follower);
        (void)look(follower);
    }
    return api->due_first;
}
