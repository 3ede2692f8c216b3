/* log_routes.c - what the steps of an execution wrote: as a list, and as it happens. */
#include "api/document.h"
#include "api/page.h"
#include "api/routes.h"
#include "api/stream.h"

typedef struct Lines { Page page; LineNames names; } Lines;

static bool take_line(void *context, const Cell *cells, uint32_t count)
{
    Lines *lines = context;
    Call *call = lines->page.call;
    if (!page_has_room(&lines->page)) return false;
    const Cell *row = row_copy(&call->arena, cells, count);
    page_add(&lines->page, document_line(&call->arena, call->api->store, &lines->names, row), (Str){ 0 }, row[LOGS_line_no].integer, 0);
    return true;
}

void route_execution_logs(Call *call)
{
    Lines lines = { 0 };
    const Cell *row;
    Error err;
    uint64_t index;
    bool is_stream;
    if (!api_execution(call, &row) || !call_query_number(call, "stepIndex", 0, UINT32_MAX, &index) || !stream_is_meant(call, &is_stream)) return;
    Cell step = call_has_query(call, "stepIndex") ? cell_int((int64_t)index) : cell_null();
    if (is_stream) {
        stream_of_lines(call, row, step);
        return;
    }
    if (!page_begin(&lines.page, call)) return;
    QueryAsk ask = { .query = QUERY_LOG_LINES, .param_count = 3, .row_count_max = lines.page.limit + 1,
                     .params = { row[RUNS_run_no], cell_int(lines.page.has_cursor ? lines.page.number : 0), step } };
    if (store_select(call->api->store, &ask, take_line, &lines, &err)) call_error(call, &err);
    else page_answer(&lines.page);
}
