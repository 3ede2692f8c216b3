#include "base/status.h"

#include <stdio.h>
#include <string.h>

#include "base/utf8.h"
#include "harness/test.h"

TEST(each_status_has_its_own_name, "")
{
    static const struct { Status status; const char *name; } cases[] = {
        { OK, "ok" },                       { ERR_INVALID, "invalid" },         { ERR_DENIED, "denied" },
        { ERR_NOT_FOUND, "not-found" },     { ERR_CONFLICT, "conflict" },       { ERR_LIMIT, "limit" },
        { ERR_UNAVAILABLE, "unavailable" }, { ERR_CORRUPT, "corrupt" },         { STATUS_COUNT, "unknown" },
        { (Status)1000, "unknown" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        EXPECT_STR(str_of(status_name(cases[i].status)), str_of(cases[i].name));
    for (unsigned i = 0; i < STATUS_COUNT; i++) EXPECT(status_name((Status)i) != NULL);
}

TEST(an_error_holds_status_place_and_reason, "")
{
    Error err = { .line = 9, .column = 9 };
    EXPECT_INT(error_set(&err, ERR_CONFLICT, "schema is at %d", 3), ERR_CONFLICT);
    EXPECT_INT(err.status, ERR_CONFLICT);
    EXPECT_INT(err.line, 0);
    EXPECT_INT(err.column, 0);
    EXPECT_STR(str_of(err.text), STR("schema is at 3"));

    EXPECT_INT(error_at(&err, ERR_INVALID, 12, 7, "found '%s'", "}"), ERR_INVALID);
    EXPECT_INT(err.status, ERR_INVALID);
    EXPECT_INT(err.line, 12);
    EXPECT_INT(err.column, 7);
    EXPECT_STR(str_of(err.text), STR("found '}'"));

    error_prefix(&err, "%s: ", "runners.yaml");
    EXPECT_INT(err.status, ERR_INVALID);
    EXPECT_INT(err.line, 12);
    EXPECT_INT(err.column, 7);
    EXPECT_STR(str_of(err.text), STR("runners.yaml: found '}'"));
    error_prefix(&err, "<%s> ", err.text);                  /* its own text may be an argument */
    EXPECT_STR(str_of(err.text), STR("<runners.yaml: found '}'> runners.yaml: found '}'"));
}

TEST(an_error_that_nobody_wants_is_not_written, "")
{
    EXPECT_INT(error_set(NULL, ERR_LIMIT, "%d", 1), ERR_LIMIT);
    EXPECT_INT(error_at(NULL, ERR_DENIED, 1, 1, "%d", 1), ERR_DENIED);
    error_prefix(NULL, "%s", "nothing");
}

/* A text of `count` characters, `unit` again and again. */
static const char *repeated(const char *unit, size_t count)
{
    static char text[4096];
    size_t size = strlen(unit);
    for (size_t i = 0; i < count; i++) memcpy(text + i * size, unit, size);
    text[count * size] = '\0';
    return text;
}

TEST(a_reason_beyond_its_space_is_cut_before_a_character_and_says_so, "")
{
    static const struct { const char *name, *unit; size_t count, want_len; bool want_cut; } cases[] = {
        { "one below the space", "x", ERROR_TEXT_SIZE - 1, ERROR_TEXT_SIZE - 1, false },
        { "the first one cut", "x", ERROR_TEXT_SIZE, ERROR_TEXT_SIZE - 1, true },
        { "far beyond", "x", 3000, ERROR_TEXT_SIZE - 1, true },
        { "two-byte characters", "\xc3\xa9", 300, ERROR_TEXT_SIZE - 1, true },
        { "three-byte characters", "\xe2\x82\xac", 300, 507 + 3, true },
        { "four-byte characters", "\xf0\x9f\x98\x80", 300, 508 + 3, true },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ROW(cases[i].name);
        Error set, prefixed = { 0 };
        error_set(&set, ERR_INVALID, "%s", repeated(cases[i].unit, cases[i].count));
        error_prefix(&prefixed, "%s", repeated(cases[i].unit, cases[i].count));
        const Error *errors[] = { &set, &prefixed };
        for (unsigned kind = 0; kind < 2; kind++) {
            Str text = str_of(errors[kind]->text);
            EXPECT_INT(text.len, cases[i].want_len);
            EXPECT_INT(str_ends(text, STR("...")), cases[i].want_cut);
            EXPECT_INT(utf8_valid_size(text), text.len);
        }
    }
}

TEST(a_prefix_and_a_reason_are_cut_together, "")
{
    for (size_t prefix = 0; prefix < 2 * ERROR_TEXT_SIZE; prefix += 37) {
        Error err;
        error_set(&err, ERR_INVALID, "%s", repeated("r", 400));
        error_prefix(&err, "%s", repeated("p", prefix));
        Str text = str_of(err.text);
        bool cut = prefix + 400 >= ERROR_TEXT_SIZE;
        EXPECT_INT(text.len, cut ? ERROR_TEXT_SIZE - 1 : prefix + 400);
        EXPECT_INT(str_ends(text, STR("...")), cut);
        size_t kept = prefix < ERROR_TEXT_SIZE - 4 ? prefix : ERROR_TEXT_SIZE - 4;
        EXPECT_INT(str_find(text, 'p', 0), kept ? 0 : text.len);
        EXPECT_INT(str_find(text, 'r', 0), prefix < ERROR_TEXT_SIZE - 4 ? prefix : text.len);
    }
}
