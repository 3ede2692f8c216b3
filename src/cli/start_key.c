#include "cli/start_key.h"

#include <string.h>

#include "base/limits.h"
#include "cli/problem.h"
#include "cli/workplace.h"
#include "value/json.h"
#include "view/run_rows.h"

#define SHOWN_VALUE_SIZE 48u            /* bytes of a value that a message shows */

typedef struct Difference {
    Buf text;
    uint32_t count;
} Difference;

static void put_value(Buf *out, const Value *value)
{
    Buf text;
    Error err;
    buf_init(&text, JSON_SIZE_MAX);
    if (!value) buf_text(&text, "not given");
    else if (json_print(&text, *value, JSON_COMPACT, &err)) buf_text(&text, "?");
    buf_str(out, str_slice(buf_peek(&text), 0, SHOWN_VALUE_SIZE));
    if (text.len > SHOWN_VALUE_SIZE) buf_text(out, "...");
    buf_deinit(&text);
}

static void compare(Difference *difference, Str name, const Value *there, const Value *here)
{
    if (there && here && value_compare(*there, *here) == 0) return;
    if (!there && !here) return;
    buf_format(&difference->text, "%s%.*s is ", difference->count++ ? ", " : "", STR_ARG(name));
    put_value(&difference->text, there);
    buf_text(&difference->text, " there and ");
    put_value(&difference->text, here);
    buf_text(&difference->text, " here");
}

static void compare_all(Difference *difference, const Plan *plan, bool is_same_plan, Value there, Value here)
{
    const Value *declared = value_get_text(plan->document, "params");
    for (uint32_t i = 0; declared && i < declared->count; i++) {
        Str name = value_get_string(declared->items[i], "name", STR(""));
        const Value *value = value_get(here, name);
        if (!value && !is_same_plan) continue;
        compare(difference, name, value_get(there, name), value ? value : value_get_text(declared->items[i], "default"));
    }
}

static Status find_run(const Args *args, Store *store, const Plan *plan, Str key, const Cell **out_row, Value *out_params,
                       Error *err)
{
    QueryAsk ask = { .query = QUERY_RUN_BY_KEY, .params = { cell_text(plan->tenant), cell_text(plan->id), cell_text(key) },
                     .param_count = 3 };
    Status status = row_select(args->arena, store, &ask, out_row, err);
    *out_params = value_null();
    /* Parameters that were erased or archived cannot be compared: the key alone counts. */
    bool is_here = !status && *out_row && (*out_row)[RUNS_archived_to].kind != CELL_TEXT;
    Value start = is_here ? payload_or_null(args->arena, store, &(*out_row)[RUNS_params_at]) : value_null();
    const Value *params = value_get_text(start, "params");
    if (params) *out_params = *params;
    return status;
}

ExitCode start_key_check(const Args *args, const Plan *plan, Str key, Value params)
{
    Store *store;
    Error err = { 0 };
    const Cell *row = NULL;
    Value there;
    char storage[ERROR_TEXT_SIZE / 2];
    if (!key.len || args_flag(args, "again")) return EXIT_CODE_OK;
    if (adapters.store_open(store_url(args), /* is_created= */ false, &store, &err))
        return EXIT_CODE_OK;                    /* nothing was run there yet; what else is wrong with it is said later */
    Status status = find_run(args, store, plan, key, &row, &there, &err);
    Difference difference = { .text = buf_on(storage, sizeof storage) };
    if (!status && row && there.kind == VALUE_OBJECT) {
        Str digest = row[RUNS_plan_digest].text;
        bool is_same = digest.len == sizeof plan->digest && memcmp(digest.ptr, &plan->digest, digest.len) == 0;
        compare_all(&difference, plan, is_same, there, params);
    }
    store_close(store);
    if (status) return fail(&err);
    if (!difference.count) return EXIT_CODE_OK;
    error_set(&err, ERR_CONFLICT, "the key '%.*s' belongs to run %.*s, which was started with other parameters: %.*s%s. "
              "'maestro show %.*s' shows that run; --again starts a new one, and so does another --key",
              STR_ARG(key), STR_ARG(row[RUNS_id].text), STR_ARG(buf_peek(&difference.text)),
              buf_overflowed(&difference.text) ? " ..." : "", STR_ARG(row[RUNS_id].text));
    return problem_report(PROBLEM_KEY, &err);
}
