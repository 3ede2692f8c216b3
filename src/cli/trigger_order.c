#include "cli/trigger_order.h"

#include <string.h>

#include "base/limits.h"
#include "cli/order.h"
#include "cli/run_read.h"
#include "cli/run_story.h"
#include "cli/workplace.h"
#include "core/run.h"
#include "os/file.h"
#include "value/json.h"

/* --- the payload ---------------------------------------------------------------------------------------------------------- */

ExitCode trigger_payload(const Args *args, Value *out)
{
    const char *given = args_value(args, "payload");
    Error err = { 0 };
    *out = value_null();
    if (!given) return EXIT_CODE_OK;
    Str text = str_of(given);
    bool is_file = given[0] == '@', is_input = strcmp(given, "-") == 0;
    if ((is_file || is_input) && file_read(args->arena, is_input ? "-" : given + 1, CONTROL_LINE_SIZE_MAX / 2, &text, &err))
        return fail(&err);
    if (!json_parse(args->arena, text, out, &err)) return EXIT_CODE_OK;
    print_note("maestro: --payload is no JSON: %s (line %u, column %u); a text needs quotes: '\"text\"'\n", err.text, err.line,
               err.column);
    return EXIT_CODE_DATA;
}

const PauseTerms *trigger_terms(const PlanTerms *terms, Str key)
{
    for (uint32_t i = 0; i < terms->pause_count; i++) {
        const PauseTerms *pause = &terms->steps[terms->pauses[i]].pause;
        if (str_is(pause->trigger, key)) return pause;
    }
    return NULL;
}

/* --- what came of it ------------------------------------------------------------------------------------------------------ */

typedef struct Came {
    const char *outcome;            /* "answered"; NULL where its record is not found */
    Str awaited;                    /* which trigger the run awaits now; empty: none */
} Came;

static Status look(const Args *args, const OrderAnswer *answer, Str command_id, Came *out, Error *err)
{
    Store *store;
    const Cell *row = NULL;
    RunStory story = { 0 };
    Status status = adapters.store_open(store_url(args), /* is_created= */ false, &store, err);
    if (status) return status;
    status = run_row(args->arena, store, id_peek(&answer->run_id), &row, err);
    if (!status && row) status = run_story_read(args->arena, store, row, &story, err);
    const StoryEvent *received = run_story_last(&story, EVENT_TRIGGER_RECEIVED, command_id);
    if (received) out->outcome = story_trigger_words(received);
    if (row && row[RUNS_awaiting_trigger_key].kind == CELL_TEXT) out->awaited = row[RUNS_awaiting_trigger_key].text;
    store_close(store);
    return status;
}

static void tell_text(const TriggerWish *wish, const OrderAnswer *answer, const Came *came)
{
    const char *before = run_state_name(answer->before), *after = run_state_name(answer->after), *id = answer->run_id.text;
    const char *outcome = came->outcome ? came->outcome : "taken";
    print_format("run %s: ", id);
    if (answer->is_repeat) print_format("this was asked before; nothing was done now. Then: ");
    if (strcmp(outcome, "kept") == 0)
        print_format("trigger %.*s kept for its pause, which is still ahead; the run is %s\n", STR_ARG(wish->key), after);
    else if (strcmp(outcome, "unmet") == 0)
        print_format("trigger %.*s recorded, but resume_when does not hold for its payload; the run stays %s\n",
                     STR_ARG(wish->key), after);
    else if (answer->after == RUN_PAUSED && came->awaited.len && strcmp(outcome, "answered") == 0)
        print_format("trigger %.*s answered; the run awaits %.*s now\n", STR_ARG(wish->key), STR_ARG(came->awaited));
    else print_format("trigger %.*s %s, %s -> %s\n", STR_ARG(wish->key), outcome, before, after);
}

static void tell_json(const Args *args, const TriggerWish *wish, const OrderAnswer *answer, const Came *came, Str command_id)
{
    MemberList members = { .arena = args->arena };
    Error err;
    Buf out;
    buf_init(&out, JSON_SIZE_MAX);
    member_list_add(&members, STR("run"), value_string(id_peek(&answer->run_id)));
    member_list_add(&members, STR("trigger"), value_string(wish->key));
    member_list_add(&members, STR("outcome"), value_string(str_of(came->outcome ? came->outcome : "taken")));
    if (!answer->is_repeat) member_list_add(&members, STR("before"), value_string(str_of(run_state_name(answer->before))));
    member_list_add(&members, STR("after"), value_string(str_of(run_state_name(answer->after))));
    member_list_add(&members, STR("awaiting"), came->awaited.len ? value_string(came->awaited) : value_null());
    member_list_add(&members, STR("repeat"), value_bool(answer->is_repeat));
    member_list_add(&members, STR("command"), value_string(command_id));
    if (!json_print(&out, member_list_object(&members), JSON_COMPACT, &err)) buf_char(&out, '\n');
    print_out(&out);
    buf_deinit(&out);
}

/* --- the order ------------------------------------------------------------------------------------------------------------ */

ExitCode trigger_order(const Args *args, const TriggerWish *wish)
{
    const char *actor = args_value(args, "actor");
    Errand errand = errand_begin_for(args, "trigger", str_of(actor));
    Command command = { .kind = COMMAND_TRIGGER, .name = wish->key, .value = wish->payload, .is_denial = wish->is_denial,
                        .rationale = wish->reason };
    errand_add(&errand, "name", value_string(wish->key));
    errand_add(&errand, "payload", wish->payload);
    errand_add(&errand, "denial", value_bool(wish->is_denial));
    OrderAnswer answer;
    Came came = { 0 };
    Error err;
    ExitCode code = order_untold(args, &errand, command, &answer);
    if (code) return code;
    if (look(args, &answer, errand.id, &came, &err)) return fail(&err);
    if (args_flag(args, "json")) tell_json(args, wish, &answer, &came, errand.id);
    else tell_text(wish, &answer, &came);
    return came.outcome && strcmp(came.outcome, "unmet") == 0 ? EXIT_CODE_RUN_FAILED : EXIT_CODE_OK;
}
