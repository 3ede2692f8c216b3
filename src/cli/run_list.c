#include "cli/run_list.h"

#include "cli/human.h"
#include "lang/suggest.h"

/* --- the filter as a text --------------------------------------------------------------------------------------------------- */

typedef Status (*ReadField)(RunFilter *filter, Str value, int64_t now_ms, Error *err);

Status run_filter_state(RunFilter *filter, Str name, Error *err)
{
    char storage[256];
    Buf known = buf_on(storage, sizeof storage);
    filter->has_state = run_state_find(name, &filter->state) && filter->state != RUN_SKIPPED;
    if (filter->has_state) return OK;
    for (int i = 0; i < RUN_SKIPPED; i++) buf_format(&known, "%s %s", i ? "," : "", run_state_name((RunState)i));
    return error_set(err, ERR_INVALID, "there is no state '%.*s'; runs are%.*s", STR_ARG(name), STR_ARG(buf_peek(&known)));
}

static Status read_state(RunFilter *filter, Str value, int64_t now_ms, Error *err)
{
    (void)now_ms;
    return run_filter_state(filter, value, err);
}

static Status read_since(RunFilter *filter, Str value, int64_t now_ms, Error *err)
{
    int64_t since_ms;
    if (!human_since(value, now_ms, &since_ms))
        return error_set(err, ERR_INVALID, "since takes 30m, 12h, 7d, 2026-11-16 or 2026-11-16T08:00:00.000Z, and not '%.*s'",
                         STR_ARG(value));
    filter->since = cell_int(since_ms);
    return OK;
}

#define TEXT_FIELD(name) \
    static Status read_##name(RunFilter *filter, Str value, int64_t now_ms, Error *err) \
    { \
        (void)now_ms, (void)err; \
        filter->name = value; \
        return OK; \
    }
TEXT_FIELD(cause)
TEXT_FIELD(step)
TEXT_FIELD(tenant)
TEXT_FIELD(workflow)

static const struct { const char *name; ReadField read; } fields[] = {
    { "workflow", read_workflow }, { "state", read_state }, { "since", read_since },
    { "step", read_step },         { "cause", read_cause }, { "tenant", read_tenant },
};
#define FIELD_COUNT (sizeof fields / sizeof *fields)

static Status wrong_at(Error *err, size_t at, const char *what, Str name)
{
    return error_at(err, ERR_INVALID, 1, (uint32_t)at + 1, "column %zu: %s '%.*s'; write workflow=NAME state=failed since=1h "
                    "step=JOB.TASK cause=NAME tenant=NAME, as many of them as are needed", at + 1, what, STR_ARG(name));
}

static Status find_field(Str name, size_t at, size_t *out_field, Error *err)
{
    Suggestion suggestion = suggest_begin(name);
    for (*out_field = 0; *out_field < FIELD_COUNT; ++*out_field) {
        if (str_is_text(name, fields[*out_field].name)) return OK;
        suggest_offer(&suggestion, str_of(fields[*out_field].name));
    }
    if (!suggestion.best.len) return wrong_at(err, at, "there is no field", name);
    return error_at(err, ERR_INVALID, 1, (uint32_t)at + 1, "column %zu: there is no field '%.*s'; did you mean '%.*s'?", at + 1,
                    STR_ARG(name), STR_ARG(suggestion.best));
}

/* The value that begins at *at, in quotes or up to the next space; *at is behind it then. */
static Status read_value(Str text, size_t *at, Str *out_value, Error *err)
{
    size_t begin = *at;
    bool is_quoted = begin < text.len && text.ptr[begin] == '"';
    size_t end = str_find(text, is_quoted ? '"' : ' ', begin + is_quoted);
    if (is_quoted && end == text.len)
        return wrong_at(err, begin, "this quotation does not end:", str_slice(text, begin, text.len));
    *out_value = str_slice(text, begin + is_quoted, end);
    *at = end + is_quoted;
    if (!out_value->len) return wrong_at(err, begin, "a value is missing behind", str_slice(text, 0, begin));
    if (*at < text.len && text.ptr[*at] != ' ')
        return wrong_at(err, *at, "a space is missing before", str_slice(text, *at, text.len));
    return OK;
}

Status run_filter_read(Str text, int64_t now_ms, RunFilter *out_filter, Error *err)
{
    RunFilter filter = { .since = cell_null() };
    bool is_given[FIELD_COUNT] = { false };
    uint32_t count = 0;
    for (size_t at = 0; at < text.len;) {
        if (text.ptr[at] == ' ') {
            at++;
            continue;
        }
        size_t begin = at, equals = str_find(text, '=', at), space = str_find(text, ' ', at), field;
        if (equals >= space) return wrong_at(err, begin, "'=' and a value are missing behind", str_slice(text, begin, space));
        Str name = str_slice(text, begin, equals), value;
        Status status = find_field(name, begin, &field, err);
        if (!status && is_given[field]) status = wrong_at(err, begin, "this is given twice:", name);
        at = equals + 1;
        if (!status) status = read_value(text, &at, &value, err);
        if (status) return status;
        is_given[field] = true;
        status = fields[field].read(&filter, value, now_ms, err);
        if (status) {
            error_prefix(err, "column %zu: ", equals + 2);
            return status;
        }
        count++;
    }
    if (!count) return wrong_at(err, 0, "nothing is chosen by", text);
    *out_filter = filter;
    return OK;
}

/* --- the runs --------------------------------------------------------------------------------------------------------------- */

typedef struct Listing {
    Arena *arena;
    const RunFilter *filter;
    uint64_t count_max;
    int64_t cursor;                         /* number of the last run seen */
    uint32_t seen;
    StepRows rows;
} Listing;

static bool fits(Str wanted, const Cell *cell)
{
    return !wanted.len || (cell->kind == CELL_TEXT && str_is(cell->text, wanted));
}

static bool take_run(void *context, const Cell *cells, uint32_t count)
{
    Listing *listing = context;
    const RunFilter *filter = listing->filter;
    listing->seen++;
    listing->cursor = cells[RUNS_run_no].integer;
    if (!fits(filter->workflow, &cells[RUNS_definition_key]) || !fits(filter->step, &cells[RUNS_failed_step_key])) return true;
    if (!fits(filter->cause, &cells[RUNS_error_cause])) return true;
    if (filter->has_state && row_state(cells) != filter->state) return true;
    StepRows *rows = &listing->rows;
    if (rows->count == rows->capacity)
        rows->rows = arena_grow(listing->arena, rows->rows, sizeof *rows->rows, rows->count, &rows->capacity);
    rows->rows[rows->count++] = row_copy(listing->arena, cells, count);
    return rows->count < listing->count_max;
}

/* The query whose index serves the filter best; the rest is looked at row by row. */
static QueryAsk ask_of(const Listing *listing)
{
    const RunFilter *filter = listing->filter;
    Cell tenant = cell_text(filter->tenant), workflow = cell_text(filter->workflow), before = cell_int(listing->cursor);
    Cell state = filter->has_state ? cell_text(str_of(run_state_stored(filter->state))) : cell_null();
    if (!filter->tenant.len) return (QueryAsk){ QUERY_RUNS, { before, state, filter->since }, 3, 0 };
    if (filter->workflow.len)
        return (QueryAsk){ QUERY_RUNS_OF_DEFINITION, { tenant, workflow, before, state, filter->since }, 5, 0 };
    if (filter->has_state) return (QueryAsk){ QUERY_RUNS_IN_STATE, { tenant, state, before, cell_null(), filter->since }, 5, 0 };
    return (QueryAsk){ QUERY_RUNS_OF_TENANT, { tenant, before, filter->since }, 3, 0 };
}

Status run_list(Arena *arena, Store *store, const RunFilter *filter, uint64_t count_max, StepRows *out_rows, Error *err)
{
    Listing listing = { .arena = arena, .filter = filter, .count_max = count_max, .cursor = INT64_MAX };
    Status status;
    do {
        QueryAsk ask = ask_of(&listing);
        listing.seen = 0;
        status = store_select(store, &ask, take_run, &listing, err);
    } while (!status && listing.seen && listing.rows.count < count_max);
    if (!status) *out_rows = listing.rows;
    return status;
}
