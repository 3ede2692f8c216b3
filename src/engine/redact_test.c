#include "engine/redact.h"

#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/limits.h"
#include "harness/test.h"
#include "value/json.h"

TEST(a_value_is_taken_out_of_texts_wherever_it_stands, "")
{
    static const struct { const char *name, *secret, *text, *want; } rows[] = {
        { "alone", "hunter22", "hunter22", "***" },
        { "inside", "hunter22", "password=hunter22&x=1", "password=***&x=1" },
        { "twice, side by side", "hunter22", "hunter22hunter22", "******" },
        { "nearly", "hunter22", "hunter2 hunter23", "hunter2 hunter23" },
        { "behind its own beginning", "aaab", "aaaab", "a***" },
        { "a line of it", "first line\nsecond line\n", "got: second line", "got: ***" },
        { "a line that ended otherwise", "first line\r\nsecond line", "first line", "***" },
        { "as JSON writes it", "a\"b\\c d", "{\"x\":\"a\\\"b\\\\c d\"}", "{\"x\":\"***\"}" },
        { "its beginning in a short text", "hunter22", "I am a hunter", "I am a hunter" },
        { "too short to be looked for", "abc", "abc", "abc" },
        { "as short as can be", "abcd", "xabcdx", "x***x" },
        { "another", "hunter22", "nothing of it", "nothing of it" },
        { "in nothing", "hunter22", "", "" },
    };
    Arena arena;
    arena_init(&arena, SIZE_MAX);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ROW(rows[i].name);
        Redaction *redaction = NULL;
        redaction_add(&redaction, str_of(rows[i].secret));
        EXPECT_STR(redact_text(redaction, &arena, str_of(rows[i].text)), str_of(rows[i].want));
        redaction_free(redaction);
    }
    EXPECT_STR(redact_text(NULL, &arena, STR("hunter22")), STR("hunter22"));
    arena_deinit(&arena);
}

TEST(of_two_values_the_longer_one_is_taken_out, "")
{
    Arena arena;
    Redaction *redaction = NULL;
    arena_init(&arena, SIZE_MAX);
    redaction_add(&redaction, STR("token"));
    redaction_add(&redaction, STR("token-of-ana"));
    redaction_add(&redaction, STR("other"));
    EXPECT_STR(redact_text(redaction, &arena, STR("token-of-ana, token, other")), STR("***, ***, ***"));
    redaction_free(redaction);
    arena_deinit(&arena);
}

/* A line that is too long ends inside of the value: what is left of it tells as much as the value. */
TEST(what_a_cut_has_left_of_a_value_is_taken_out, "")
{
    static const struct { const char *name, *end, *want; } rows[] = {
        { "at the end", "hunt", "***" },
        { "before the mark of the cut", "hunter2 [cut: the line exceeds ...]", "*** [cut: the line exceeds ...]" },
        { "cut inside of a character", "hunter2\xEF\xBF\xBD [cut: x]", "***\xEF\xBF\xBD [cut: x]" },
        { "less than is looked for", "hun", "hun" },
        { "not at the end", "hunter, and more", "hunter, and more" },
    };
    Arena arena;
    Redaction *redaction = NULL;
    arena_init(&arena, SIZE_MAX);
    redaction_add(&redaction, STR("hunter22"));
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ROW(rows[i].name);
        Buf text, want;
        buf_init(&text, SIZE_MAX);
        buf_init(&want, SIZE_MAX);
        buf_repeat(&text, '.', REPORT_TEXT_SIZE_MAX);
        buf_repeat(&want, '.', REPORT_TEXT_SIZE_MAX);
        buf_text(&text, rows[i].end);
        buf_text(&want, rows[i].want);
        EXPECT_STR(redact_text(redaction, &arena, buf_peek(&text)), buf_peek(&want));
        buf_deinit(&text);
        buf_deinit(&want);
    }
    redaction_free(redaction);
    arena_deinit(&arena);
}

TEST(a_value_is_taken_out_of_all_that_an_attempt_says, "")
{
    static const struct { const char *name, *given, *want; } rows[] = {
        { "a text", "\"is 1234567\"", "\"is ***\"" },
        { "a number", "1234567", "\"***\"" },
        { "a longer number", "0.1234567", "\"0.***\"" },
        { "a member's name and value", "{\"a\":[{\"k1234567\":\"1234567\"},true,null,12]}",
          "{\"a\":[{\"k***\":\"***\"},true,null,12]}" },
        { "nothing", "{\"a\":1}", "{\"a\":1}" },
    };
    Arena arena;
    Redaction *redaction = NULL;
    Error err;
    arena_init(&arena, SIZE_MAX);
    redaction_add(&redaction, STR("1234567"));
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ROW(rows[i].name);
        Value value;
        Buf text;
        buf_init(&text, SIZE_MAX);
        REQUIRE_OK(json_parse(&arena, str_of(rows[i].given), &value, &err), &err);
        Notice notice = redact_notice(redaction, &arena, &(Notice){ .kind = NOTICE_REPORT, .value = value_null(),
                                                                    .report = { .message = STR("was 1234567"),
                                                                                .output = value } });
        EXPECT_OK(json_print(&text, notice.report.output, JSON_COMPACT, &err), &err);
        EXPECT_STR(buf_peek(&text), str_of(rows[i].want));
        EXPECT_STR(notice.report.message, STR("was ***"));
        notice = redact_notice(redaction, &arena, &(Notice){ .kind = NOTICE_SIGNAL, .name = STR("1234567"),
                                                             .text = STR("1234567"), .value = value });
        buf_clear(&text);
        EXPECT_OK(json_print(&text, notice.value, JSON_COMPACT, &err), &err);
        EXPECT_STR(buf_peek(&text), str_of(rows[i].want));
        EXPECT_STR(notice.name, STR("***"));
        EXPECT_STR(notice.text, STR("***"));
        buf_deinit(&text);
    }
    redaction_free(redaction);
    arena_deinit(&arena);
}
