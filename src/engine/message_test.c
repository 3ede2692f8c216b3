#include "engine/message.h"

#include "harness/test.h"
#include "value/json.h"

TEST(message_of_each_kind_becomes_its_notice, "")
{
    static const struct { const char *name, *line; NoticeKind kind; uint64_t number; const char *text; bool committed, withdrawn; }
    cases[] = {
        { "an effect", "{\"effect\":{\"charge\":5}}", NOTICE_EFFECT, 0, "", false },
        { "an effect that is done", "{\"effectCommitted\":true}", NOTICE_EFFECT, 0, "", true },
        { "an effect that will not be", "{\"effectCommitted\":false}", NOTICE_EFFECT, 0, "", false, true },
        { "a cost", "{\"cost\":0.25}", NOTICE_COST, 250000, "", false },
        { "a whole cost", "{\"cost\":12}", NOTICE_COST, 12000000, "", false },
        { "a cost with an exponent", "{\"cost\":1.5e2}", NOTICE_COST, 150000000, "", false },
        { "the least cost", "{\"cost\":0.000001}", NOTICE_COST, 1, "", false },
        { "no cost", "{\"cost\":0}", NOTICE_COST, 0, "", false },
        { "progress", "{\"progress\":0.5}", NOTICE_PROGRESS, 500, "", false },
        { "progress finer than shown", "{\"progress\":0.12399}", NOTICE_PROGRESS, 123, "", false },
        { "progress below what is shown", "{\"progress\":0.0004}", NOTICE_PROGRESS, 0, "", false },
        { "all of it", "{\"progress\":1}", NOTICE_PROGRESS, 1000, "", false },
        { "progress with words", "{\"progress\":{\"done\":0.02,\"text\":\"begun\"}}", NOTICE_PROGRESS, 20, "begun", false },
        { "a heartbeat", " {\"heartbeat\" : true} ", NOTICE_HEARTBEAT, 0, "", false },
    };
    Arena arena;
    arena_init(&arena, SIZE_MAX);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ROW(cases[i].name);
        Error err;
        Notice notice;
        if (!EXPECT_OK(message_read(&arena, str_of(cases[i].line), &notice, &err), &err)) continue;
        EXPECT_INT(notice.kind, cases[i].kind);
        EXPECT_INT(notice.number, cases[i].number);
        EXPECT_STR(notice.text, str_of(cases[i].text));
        EXPECT(notice.is_committed == cases[i].committed && notice.is_withdrawn == cases[i].withdrawn);
    }
    arena_deinit(&arena);
}

TEST(message_with_a_signal_has_name_kind_and_value, "")
{
    Arena arena;
    arena_init(&arena, SIZE_MAX);
    Error err;
    Notice notice;
    EXPECT_OK(message_read(&arena, STR("{\"signal\":\"half-way\"}"), &notice, &err), &err);
    EXPECT_INT(notice.kind, NOTICE_SIGNAL);
    EXPECT_STR(notice.name, STR("half-way"));
    EXPECT_INT(notice.sort, SIGNAL_MILESTONE);
    EXPECT_OK(message_read(&arena, STR("{\"signal\":{\"name\":\"spike\",\"kind\":\"anomaly\",\"value\":7}}"), &notice, &err), &err);
    EXPECT_STR(notice.name, STR("spike"));
    EXPECT_INT(notice.sort, SIGNAL_ANOMALY);
    EXPECT(value_equals(notice.value, value_int(7)));
    arena_deinit(&arena);
}

TEST(message_that_is_wrong_is_refused, "")
{
    static const char *const lines[] = {
        "", "no JSON", "[]", "{}", "{\"heart\":true}", "{\"heartbeat\":false}", "{\"heartbeat\":true,\"cost\":1}",
        "{\"effectCommitted\":1}", "{\"cost\":-1}", "{\"cost\":0.0000001}", "{\"cost\":1e30}", "{\"cost\":\"1\"}",
        "{\"progress\":1.1}", "{\"progress\":-0.1}", "{\"progress\":{\"text\":\"x\"}}", "{\"signal\":5}",
        "{\"signal\":{\"kind\":\"anomaly\"}}", "{\"signal\":{\"name\":\"x\",\"kind\":\"unheard-of\"}}", "{\"signal\":\"\"}",
    };
    Arena arena;
    arena_init(&arena, SIZE_MAX);
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        ROW(lines[i]);
        Error err;
        Notice notice = { .number = 77 };
        EXPECT_INT(message_read(&arena, str_of(lines[i]), &notice, &err), ERR_INVALID);
        EXPECT_INT(notice.number, 77);
    }
    arena_deinit(&arena);
}

TEST(message_with_a_report_from_outside_has_nothing_beside_it, "")
{
    static const struct { const char *name, *line, *beside, *want; } rows[] = {
        { "an output", "{\"output\":1}", NULL, "" },
        { "a failure of nothing", "{\"failure\":{}}", NULL, "" },
        { "all of a failure", "{\"failure\":{\"cause\":\"policy\",\"message\":\"no\",\"details\":null}}", NULL, "" },
        { "who sends it", "{\"token\":\"x\",\"output\":1}", "token", "" },
        { "neither", "{}", NULL, "a report has either" },
        { "both", "{\"output\":1,\"failure\":{}}", NULL, "a report has either" },
        { "a member beside it", "{\"output\":1,\"token\":\"x\"}", NULL, "/token: " },
        { "another one than the sender's", "{\"token\":\"x\",\"output\":1,\"z~\":0}", "token", "/z~0: " },
        { "no object", "{\"failure\":[]}", NULL, "/failure: " },
        { "a cause that there is not", "{\"failure\":{\"cause\":\"moon\"}}", NULL, "/failure/cause: " },
        { "a cause of another kind", "{\"failure\":{\"cause\":1}}", NULL, "/failure/cause: " },
        { "no message", "{\"failure\":{\"message\":null}}", NULL, "/failure/message: " },
        { "a member that a failure has not", "{\"failure\":{\"class\":1}}", NULL, "/failure/class: " },
    };
    Arena arena;
    arena_init(&arena, SIZE_MAX);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ROW(rows[i].name);
        Error err = { .text = "" };
        Value item;
        if (!EXPECT_OK(json_parse(&arena, str_of(rows[i].line), &item, &err), &err)) continue;
        EXPECT_INT(message_report_check(item, rows[i].beside, &err), *rows[i].want ? ERR_INVALID : OK);
        EXPECT(str_starts(str_of(err.text), str_of(rows[i].want)));
    }
    arena_deinit(&arena);
}
