#include "api/spans.h"

#include <string.h>

#include "base/limits.h"
#include "harness/test.h"

#define STEP_COUNT 2000u

/* A store whose plans all have the same steps, each with an input of a few kilobytes, and which has no run. */
typedef struct Fake {
    Store port;
    Buf plan;
    uint32_t asked[QUERY_COUNT];
} Fake;

static Status fake_select(Store *store, const QueryAsk *ask, RowVisit visit, void *context, Error *err)
{
    Fake *fake = (Fake *)store;
    (void)err;
    fake->asked[ask->query]++;
    Cell row[COLUMN_COUNT_MAX] = { [PLANS_document] = cell_text(buf_peek(&fake->plan)) };
    if (ask->query == QUERY_PLAN) (void)visit(context, row, COLUMN_COUNT_MAX);
    return OK;
}

static const StoreOps fake_ops = { .select = fake_select };

static void fake_init(Fake *fake)
{
    char input[2048];
    memset(input, 'x', sizeof input);
    *fake = (Fake){ .port.ops = &fake_ops };
    buf_init(&fake->plan, PLAN_SIZE_MAX);
    buf_text(&fake->plan, "{\"format\":1,\"kind\":\"runbook\",\"steps\":[");
    for (uint32_t i = 0; i < STEP_COUNT; i++)
        buf_format(&fake->plan, "%s{\"id\":\"j.s%u\",\"kind\":\"artifact\",\"input\":{\"text\":\"%.*s\"}}", i ? "," : "", i,
                   (int)sizeof input, input);
    buf_text(&fake->plan, "]}");
}

static char last_name[64];              /* of the span that was given out last */

static void take_span(void *context, const Span *span)
{
    ++*(uint32_t *)context;
    memcpy(last_name, span->name.ptr, span->name.len < sizeof last_name - 1 ? span->name.len : sizeof last_name - 1);
    last_name[span->name.len < sizeof last_name - 1 ? span->name.len : sizeof last_name - 1] = '\0';
}

static void take(SpanBook *book, uint64_t run_no, uint64_t first_event, Event event)
{
    Record record = { .head = { .run_id = STR("run"), .first_event = first_event, .position = 2 * run_no + first_event, .now_ms = 1000 },
                      .events = &event, .event_count = 1 };
    span_book_take(book, run_no, &record);
}

static Digest digest_number(uint32_t number) { return digest_of((Str){ (const char *)&number, sizeof number }); }

static void begin(SpanBook *book, uint64_t run_no, const Digest *plan, uint32_t step)
{
    take(book, run_no, 1, (Event){ .kind = EVENT_RUN_CREATED, .tenant = STR("t"), .name = STR("w"), .seed = run_no, .digest = plan });
    take(book, run_no, 2, (Event){ .kind = EVENT_STEP_DISPATCHED, .step = step, .number = 1, .attempt = 1, .name = STR("local") });
}

TEST(names_of_steps_are_kept_and_not_their_plans, "")
{
    Fake fake;
    uint32_t given = 0;
    fake_init(&fake);
    SpanBook *book = span_book_new(&fake.port, take_span, &given);
    for (uint32_t i = 1; i <= 8; i++) {
        Digest plan = digest_number(i);
        begin(book, i, &plan, STEP_COUNT - 1);
        take(book, i, 3, (Event){ .kind = EVENT_STEP_SUCCEEDED, .step = STEP_COUNT - 1 });
        EXPECT_STR(str_of(last_name), STR("step j.s1999"));
        EXPECT(span_book_size(book) < i * fake.plan.len / 8);
    }
    EXPECT_INT(fake.asked[QUERY_PLAN], 8);
    EXPECT_INT(given, 16);
    Digest plan = digest_number(8);
    begin(book, 9, &plan, 0);
    take(book, 9, 3, (Event){ .kind = EVENT_STEP_SUCCEEDED, .step = 0 });
    EXPECT_STR(str_of(last_name), STR("step j.s0"));
    EXPECT_INT(fake.asked[QUERY_PLAN], 8);
    span_book_free(book);
    buf_deinit(&fake.plan);
}

TEST(runs_with_many_steps_are_forgotten_before_they_take_the_memory, "")
{
    enum { COUNT = 24, FAR = 99999 };
    Fake fake;
    uint32_t given = 0;
    fake_init(&fake);
    SpanBook *book = span_book_new(&fake.port, take_span, &given);
    Digest plan = digest_number(1);
    for (uint32_t i = 1; i <= COUNT; i++) {
        begin(book, i, &plan, FAR);
        EXPECT(span_book_size(book) <= HERALD_RUN_SIZE_MAX + HERALD_NAME_SIZE_MAX);
    }
    take(book, COUNT, 3, (Event){ .kind = EVENT_STEP_SUCCEEDED, .step = FAR });
    EXPECT_INT(given, 2);
    EXPECT_INT(fake.asked[QUERY_RUN], 0);       /* the newest is at hand ... */
    take(book, 1, 3, (Event){ .kind = EVENT_STEP_SUCCEEDED, .step = FAR });
    EXPECT_INT(fake.asked[QUERY_RUN], 1);       /* ... and the oldest is read again */
    span_book_free(book);
    buf_deinit(&fake.plan);
}
