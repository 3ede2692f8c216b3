/* verdict_routes.c - what policies decided about an execution: every hook that it came by, and the answer there.
 *
 * The ledger has a denial as an event of its own; that something was permitted is what it says by the event that followed, and
 * every record names the policies under which it was made.
 */
#include <string.h>

#include "api/aside.h"
#include "api/page.h"
#include "api/routes.h"
#include "base/limits.h"
#include "core/decide.h"
#include "ledger/record.h"
#include "value/json.h"

/* Which hook had permitted what this event tells; false: none was asked. */
static bool permitted_by(const Record *record, uint32_t index, Hook *out_hook)
{
    const Event *event = &record->events[index];
    switch ((int)event->kind) {
    case EVENT_RUN_CREATED: *out_hook = HOOK_RUN_START; return true;
    case EVENT_STEP_DISPATCHED:
    case EVENT_COMPENSATION_RUNNING: *out_hook = HOOK_STEP_DISPATCH; return true;
    case EVENT_STEP_SUCCEEDED: *out_hook = HOOK_STEP_END; return true;
    case EVENT_SIGNAL_RECEIVED:
    case EVENT_TRIGGER_RECEIVED: *out_hook = HOOK_SIGNAL; return true;
    case EVENT_TRIGGER_ENDED:
    case EVENT_RUN_REQUEUED: *out_hook = HOOK_RUN_RESUME; return event->kind == EVENT_RUN_REQUEUED || event->sort <= TRIGGER_RESUMED;
    case EVENT_RUN_RUNNING: *out_hook = HOOK_RUN_RESUME; return index == 0;        /* a start and a signal say something before */
    default: return false;
    }
}

static Value digest_text(Call *call, const Digest *digest)
{
    static const Digest none;
    Buf text = buf_on(arena_bytes(&call->arena, DIGEST_TEXT_SIZE), DIGEST_TEXT_SIZE);
    if (!digest || memcmp(digest, &none, sizeof none) == 0) return value_null();
    digest_print(&text, digest);
    return value_string(buf_peek(&text));
}

/* What lies beside a denial: {"policy", "input"}; null where it was erased. */
static Value beside(Call *call, const Record *record, uint32_t index)
{
    const Cell *row = NULL;
    Error err;
    Str text;
    Value value;
    QueryAsk ask = { .query = QUERY_RECORD, .params = { cell_int((int64_t)record->head.position) }, .param_count = 1 };
    if (index == EVENT_NO_PAYLOAD || row_select(&call->arena, call->api->store, &ask, &row, &err) || !row) return value_null();
    Str bytes = row[LEDGER_payload].kind == CELL_BLOB ? row[LEDGER_payload].text : (Str){ 0 };
    if (record_payload(record, bytes, index, &text, &err) || json_parse(&call->arena, text, &value, &err)) return value_null();
    return value;
}

static Value verdict_value(Call *call, const Plan *plan, const Record *record, uint32_t index, Hook hook)
{
    const Event *event = &record->events[index];
    MemberList members = { .arena = &call->arena };
    bool is_denial = event->kind == EVENT_VERDICT, is_of_step = hook == HOOK_STEP_DISPATCH || hook == HOOK_STEP_END;
    const PlanStep *step = is_of_step && event->step < plan->step_count ? &plan->steps[event->step] : NULL;
    const Value *named = value_get_text(step ? step->settings : plan->document, "policies");
    Value payload = is_denial ? beside(call, record, event->payload) : value_null();
    const Value *policy = value_get_text(payload, "policy"), *input = value_get_text(payload, "input");
    Cell time = cell_int(record->head.now_ms);
    add_member(&members, "number", value_int((int64_t)(record->head.first_event + index)));
    add_member(&members, "time", cell_time(&call->arena, &time));
    add_member(&members, "hook", value_string(str_of(hook_name(hook))));
    add_member(&members, "verdict", value_string(is_denial ? STR("denied") : STR("permitted")));
    add_member(&members, "stepId", step ? value_string(step->id) : value_null());
    add_member(&members, "actor", value_string(arena_copy(&call->arena, record->head.actor)));
    add_member(&members, "policies", policy ? value_array(policy, 1) : named ? *named : (Value){ .kind = VALUE_ARRAY });
    add_member(&members, "digest", digest_text(call, is_denial ? event->digest : &record->head.policy));
    add_member(&members, "inputDigest", input ? *input : value_null());
    add_member(&members, "reason", is_denial ? value_string(arena_copy(&call->arena, event->text)) : value_null());
    return member_list_object(&members);
}

static bool add_verdicts(void *plan, Page *page, const Record *record)
{
    for (uint32_t i = 0; i < record->event_count; i++) {
        int64_t number = (int64_t)(record->head.first_event + i);
        Hook hook = HOOK_RUN_START;
        bool is_denial = record->events[i].kind == EVENT_VERDICT && record->events[i].sort < HOOK_COUNT;
        if (is_denial) hook = (Hook)record->events[i].sort;
        if (number <= page->number || (!is_denial && !permitted_by(record, i, &hook))) continue;
        if (!page_has_room(page)) return false;
        page_add(page, verdict_value(page->call, plan, record, i, hook), (Str){ 0 }, number, (int64_t)record->head.position);
    }
    return true;
}

static void list_verdicts(Call *call)
{
    Page page;
    const Cell *row = call->state;
    Error err;
    Digest digest;
    const Plan *plan = NULL;
    if (!page_begin(&page, call)) return;
    memcpy(digest.bytes, row[RUNS_plan_digest].text.ptr, DIGEST_SIZE);
    if (api_plan(call->api, &digest, &plan, &err)) call_error(call, &err);
    else page_of_records(&page, row, add_verdicts, (void *)(uintptr_t)plan);
}

/* The plan says which policies there were, and may be large. */
void route_execution_verdicts(Call *call)
{
    const Cell *row;
    if (!api_execution(call, &row)) return;
    call->state = (void *)row;
    aside_begin(call, list_verdicts, /* done= */ NULL);
}
