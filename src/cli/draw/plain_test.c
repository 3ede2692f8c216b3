#include "cli/draw/plain.h"
#include "harness/test.h"

TEST(what_a_terminal_would_obey_is_seen_and_not_obeyed, "")
{
    static const struct { const char *name, *text, *line, *lines; } rows[] = {
        { "plain", "ok \\ \"x\"", "ok \\ \"x\"", "ok \\ \"x\"" },
        { "a colour", "\033[31mred", "\\u001b[31mred", "\\u001b[31mred" },
        { "a title", "\033]0;x\007", "\\u001b]0;x\\u0007", "\\u001b]0;x\\u0007" },
        { "line ends", "a\r\nb\tc", "a\\r\\nb\\tc", "a\\r\nb\tc" },
        { "delete", "a\177b", "a\\u007fb", "a\\u007fb" },
        { "C1 in UTF-8", "a\xc2\x9b" "31mb", "a\\u009b31mb", "a\\u009b31mb" },
        { "C1 as a byte", "a\x9b" "31mb", "a\\x9b31mb", "a\\x9b31mb" },
        { "cut short", "\xe2\x82", "\\xe2\\x82", "\\xe2\\x82" },
        { "overlong", "\xc0\x9b", "\\xc0\\x9b", "\\xc0\\x9b" },
        { "turned", "a\xe2\x80\xae" "b\xe2\x81\xa6", "a\\u202eb\\u2066", "a\\u202eb\\u2066" },
        { "a separator", "a\xe2\x80\xa8" "b", "a\\u2028b", "a\\u2028b" },
        { "other alphabets", "日本語 é ✓", "日本語 é ✓", "日本語 é ✓" },
    };
    Arena arena;
    arena_init(&arena, SIZE_MAX);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ROW(rows[i].name);
        EXPECT_STR(plain_text(&arena, str_of(rows[i].text), PLAIN_LINE), str_of(rows[i].line));
        EXPECT_STR(plain_text(&arena, str_of(rows[i].text), PLAIN_LINES), str_of(rows[i].lines));
    }
    EXPECT_STR(plain_text(&arena, STR("exit 3\n\twhy\r\033"), PLAIN_JOINED), STR("exit 3  why\\r\\u001b"));
    Str zero = { "a\0b", 3 };
    EXPECT_STR(plain_text(&arena, zero, PLAIN_LINES), STR("a\\u0000b"));
    arena_deinit(&arena);
}

TEST(text_that_is_plain_is_not_copied, "")
{
    Arena arena;
    arena_init(&arena, SIZE_MAX);
    Str text = STR("as it is, 日本語");
    EXPECT(plain_text(&arena, text, PLAIN_LINE).ptr == text.ptr);
    arena_deinit(&arena);
}
