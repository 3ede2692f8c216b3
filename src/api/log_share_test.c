#include "api/log_share.h"

#include <stdio.h>

#include "base/limits.h"
#include "harness/test.h"

static LogKind kind_of(unsigned number)
{
    LogKind kind = { .status = 401, .route = "root" };
    (void)snprintf(kind.key, sizeof kind.key, "%08u", number);
    (void)snprintf(kind.source, sizeof kind.source, "192.0.2.%u", number);
    return kind;
}

static uint32_t take(LogShares *shares, LogKind kind, uint32_t count, int64_t now_ms)
{
    uint32_t written = 0;
    for (uint32_t i = 0; i < count; i++) written += log_share_take(shares, &kind, now_ms);
    return written;
}

TEST(of_requests_that_are_refused_alike_some_are_lines_and_the_others_a_number, "")
{
    LogShares shares = { 0 };
    LogKind told;
    uint64_t count = 0;
    ROW("as many as may be");
    EXPECT_INT(take(&shares, kind_of(1), API_LOG_LIKE_COUNT_MAX, 1000), API_LOG_LIKE_COUNT_MAX);
    EXPECT_INT(log_share_due_ms(&shares, 1000), -1);
    ROW("and more");
    EXPECT_INT(take(&shares, kind_of(1), 500, 1500), 0);
    EXPECT_INT(log_share_due_ms(&shares, 2000), API_LOG_SPAN_MS - 1000);
    EXPECT(!log_share_next(&shares, 1000 + API_LOG_SPAN_MS - 1, /* is_end= */ false, &told, &count));
    ROW("others are not in their way");
    EXPECT_INT(take(&shares, kind_of(2), 1, 1500), 1);
    ROW("told when their time is over, and once");
    EXPECT(log_share_next(&shares, 1000 + API_LOG_SPAN_MS, /* is_end= */ false, &told, &count));
    EXPECT_INT(count, 500);
    EXPECT_STR(str_of(told.source), STR("192.0.2.1"));
    EXPECT_INT(told.status, 401);
    EXPECT(!log_share_next(&shares, 1000 + API_LOG_SPAN_MS, /* is_end= */ false, &told, &count));
    ROW("then they begin anew");
    EXPECT_INT(take(&shares, kind_of(1), 1, 1000 + API_LOG_SPAN_MS), 1);
    ROW("at the end all is told");
    EXPECT_INT(take(&shares, kind_of(1), API_LOG_LIKE_COUNT_MAX + 2u, 1000 + API_LOG_SPAN_MS), API_LOG_LIKE_COUNT_MAX - 1);
    EXPECT(log_share_next(&shares, 1000 + API_LOG_SPAN_MS, /* is_end= */ true, &told, &count));
    EXPECT_INT(count, 3);
}

TEST(more_kinds_than_are_told_apart_share_their_lines, "")
{
    LogShares shares = { 0 };
    LogKind told;
    uint64_t count = 0, written = 0;
    for (unsigned i = 0; i < 4 * API_LOG_KIND_COUNT_MAX; i++) written += take(&shares, kind_of(i), 2, 1000);
    EXPECT_INT(written, 2 * API_LOG_KIND_COUNT_MAX + API_LOG_LIKE_COUNT_MAX);
    REQUIRE(log_share_next(&shares, 1000 + API_LOG_SPAN_MS, /* is_end= */ false, &told, &count));
    EXPECT_INT(told.status, 0);
    EXPECT_INT(count, 6 * API_LOG_KIND_COUNT_MAX - API_LOG_LIKE_COUNT_MAX);
    ROW("a place whose time is over is free for others");
    EXPECT_INT(take(&shares, kind_of(999), 2, 1000 + API_LOG_SPAN_MS), 2);
    EXPECT_INT(take(&shares, kind_of(998), 2, 1000 + API_LOG_SPAN_MS), 2);
    EXPECT_INT(log_share_due_ms(&shares, 1000 + API_LOG_SPAN_MS), -1);
}

TEST(a_key_or_all_who_have_none_have_a_part_of_the_kinds, "")
{
    static const char *const keys[] = { "", "aaaaaaaa" };
    for (size_t k = 0; k < sizeof keys / sizeof *keys; k++) {
        LogShares shares = { 0 };
        uint64_t written = 0;
        ROW(keys[k]);
        for (unsigned i = 0; i < 4 * API_LOG_KIND_COUNT_MAX; i++) {
            LogKind kind = kind_of(i);
            (void)snprintf(kind.key, sizeof kind.key, "%s", keys[k]);
            written += take(&shares, kind, 1, 1000);
        }
        EXPECT_INT(written, API_LOG_KEY_KIND_MAX + API_LOG_LIKE_COUNT_MAX);
        EXPECT_INT(take(&shares, kind_of(1), 2, 1000), 2);
    }
}
