#include "engine/notice_ring.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "harness/test.h"
#include "os/thread.h"
#include "value/json.h"

static bool is_readable(int fd)
{
    struct pollfd one = { .fd = fd, .events = POLLIN };
    return poll(&one, 1, 0) == 1;
}

TEST(notice_ring_copies_what_it_is_given, "")
{
    Error err;
    NoticeRing *ring;
    REQUIRE_OK(notice_ring_open(0, &ring, &err), &err);
    NoticeSink sink = notice_ring_sink(ring);
    Arena arena;
    arena_init(&arena, SIZE_MAX);
    Value output;
    REQUIRE_OK(json_parse(&arena, STR("{\"a\":[1,2.5,\"text\",null,{\"deep\":[true]}],\"b\":\"\"}"), &output, &err), &err);
    char text[] = "a line";
    Notice notice = { .kind = NOTICE_LOG, .id = { 7, 8, 9, 10 }, .text = { text, 6 }, .name = STR("n"), .number = 11,
                      .value = output, .report = { CAUSE_TIMEOUT, STR("why"), output }, .is_error = true };
    EXPECT(!is_readable(notice_ring_fd(ring)));
    EXPECT(sink.notice(sink.context, &notice));
    EXPECT(is_readable(notice_ring_fd(ring)));
    memset(text, 'x', 6);
    arena_deinit(&arena);

    Notice got;
    notice_ring_lower(ring);
    EXPECT(!is_readable(notice_ring_fd(ring)));
    REQUIRE(notice_ring_take(ring, &got));
    EXPECT_INT(got.kind, NOTICE_LOG);
    EXPECT_INT(got.id.run_no, 7);
    EXPECT_INT(got.id.holder, 10);
    EXPECT_STR(got.text, STR("a line"));
    EXPECT_STR(got.name, STR("n"));
    EXPECT_STR(got.report.message, STR("why"));
    EXPECT_INT(got.number, 11);
    EXPECT(got.is_error);
    char storage[256];
    Buf printed = buf_on(storage, sizeof storage);
    EXPECT_OK(json_print(&printed, got.report.output, JSON_COMPACT, &err), &err);
    EXPECT_STR(buf_peek(&printed), STR("{\"a\":[1,2.5,\"text\",null,{\"deep\":[true]}],\"b\":\"\"}"));
    EXPECT(value_equals(got.value, got.report.output));
    EXPECT(!notice_ring_take(ring, &got));
    notice_ring_close(ring);
}

TEST(notice_ring_copies_outputs_of_every_size, "")
{
    static const uint32_t sizes[] = { 0, 1, 1000, 60000, 65000, 65536, 70000, 131072, 1 << 20, OUTPUT_SIZE_MAX - 100 };
    Error err;
    NoticeRing *ring;
    REQUIRE_OK(notice_ring_open(0, &ring, &err), &err);
    NoticeSink sink = notice_ring_sink(ring);
    char *text = malloc(OUTPUT_SIZE_MAX);
    REQUIRE(text);
    memset(text, 'a', OUTPUT_SIZE_MAX);
    for (uint32_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        Arena arena;
        arena_init(&arena, SIZE_MAX);
        MemberList members = { .arena = &arena };
        member_list_add(&members, STR("small"), value_string(STR("x")));
        member_list_add(&members, STR("x"), value_string((Str){ text, sizes[i] }));
        Notice notice = { .kind = NOTICE_REPORT, .report.output = member_list_object(&members) }, got;
        EXPECT(sink.notice(sink.context, &notice));
        if (EXPECT(notice_ring_take(ring, &got))) EXPECT(value_equals(got.report.output, notice.report.output));
        arena_deinit(&arena);
    }
    free(text);
    notice_ring_close(ring);
}

TEST(notice_ring_that_is_full_refuses_until_something_is_taken, "")
{
    Error err;
    NoticeRing *ring;
    REQUIRE_OK(notice_ring_open(4, &ring, &err), &err);
    NoticeSink sink = notice_ring_sink(ring);
    Notice notice = { .kind = NOTICE_HEARTBEAT }, got;
    for (int i = 0; i < 4; i++) EXPECT(sink.notice(sink.context, &notice));
    EXPECT(!sink.notice(sink.context, &notice));
    EXPECT(notice_ring_take(ring, &got));
    EXPECT(sink.notice(sink.context, &notice));
    notice_ring_close(ring);                                /* what is still inside is freed */
}

TEST(notice_ring_is_bounded_in_bytes_but_takes_one_large_notice, "")
{
    Error err;
    NoticeRing *ring;
    REQUIRE_OK(notice_ring_open(0, &ring, &err), &err);
    NoticeSink sink = notice_ring_sink(ring);
    Arena arena;
    arena_init(&arena, SIZE_MAX);
    size_t size = NOTICE_SIZE_MAX + 1;
    Notice large = { .kind = NOTICE_LOG, .text = { arena_alloc(&arena, size), size } }, got;
    Notice small = { .kind = NOTICE_LOG, .text = STR("small") };
    EXPECT(sink.notice(sink.context, &large));
    EXPECT(!sink.notice(sink.context, &large));
    EXPECT(!sink.notice(sink.context, &small));
    EXPECT(notice_ring_take(ring, &got));
    EXPECT_INT(got.text.len, size);
    EXPECT(!notice_ring_take(ring, &got));
    EXPECT(sink.notice(sink.context, &small));
    notice_ring_close(ring);
    arena_deinit(&arena);
}

enum { SENDERS = 3, NOTICES = 5000 };

typedef struct Sender {
    NoticeSink sink;
    uint32_t number;
} Sender;

static void send_notices(void *context)
{
    Sender *sender = context;
    for (uint32_t i = 0; i < NOTICES; i++) {
        Notice notice = { .kind = NOTICE_LOG, .id = { .step = sender->number, .attempt = i }, .text = STR("line") };
        while (!sender->sink.notice(sender->sink.context, &notice)) sched_yield();
    }
}

TEST(notice_ring_keeps_the_order_of_each_thread, "")
{
    Error err;
    NoticeRing *ring;
    REQUIRE_OK(notice_ring_open(128, &ring, &err), &err);
    Thread threads[SENDERS];
    Sender senders[SENDERS];
    for (uint32_t i = 0; i < SENDERS; i++) {
        senders[i] = (Sender){ notice_ring_sink(ring), i };
        REQUIRE_OK(thread_start(&threads[i], "sender", send_notices, &senders[i], &err), &err);
    }
    uint32_t next[SENDERS] = { 0 }, count = 0, wrong = 0;
    while (count < SENDERS * NOTICES) {
        struct pollfd one = { .fd = notice_ring_fd(ring), .events = POLLIN };
        if (poll(&one, 1, 10000) != 1) break;
        notice_ring_lower(ring);
        for (Notice got; notice_ring_take(ring, &got); count++)
            if (got.id.attempt != next[got.id.step]++ || !str_is(got.text, STR("line"))) wrong++;
    }
    EXPECT_INT(count, SENDERS * NOTICES);
    EXPECT_INT(wrong, 0);
    for (int i = 0; i < SENDERS; i++) thread_join(&threads[i]);
    notice_ring_close(ring);
}
