#include "harness/test.h"
#include "lang/shape.h"
#include "lang/suggest.h"
#include "lang/template.h"
#include "value/number.h"

TEST(durations_are_read_exactly, "")
{
    static const struct {
        const char *text; int64_t ms;
    } rows[] = {
        { "500ms", 500 },
        { "30s", 30000 },
        { "5m", 300000 },
        { "48h", 172800000 },
        { "7d", 604800000 },
        { "1h30m", 5400000 },
        { "0s", 0 },
        { "", -1 },
        { "5", -1 },
        { "s", -1 },
        { "-5s", -1 },
        { "1.5h", -1 },
        { "5 s", -1 },
        { "1m1h", -1 },
        { "1h1h", -1 },
        { "5S", -1 },
        { "99999d", -1 },
        { "9223372036854775807ms", -1 },
        { "18446744073709551616s", -1 },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int64_t ms = -1;
        ROW(rows[i].text);
        bool is_read = duration_read(str_of(rows[i].text), &ms);
        EXPECT(is_read == (rows[i].ms >= 0));
        EXPECT_INT(ms, rows[i].ms);
    }
}

TEST(money_is_counted_in_millionths, "")
{
    static const struct {
        const char *text; int64_t micro;
    } rows[] = {
        { "0", 0 },
        { "10", 10000000 },
        { "10.0", 10000000 },
        { "0.000001", 1 },
        { "1.25", 1250000 },
        { "1e3", 1000000000 },
        { "12.345678", 12345678 },
        { "0.0000001", -1 },
        { "-1", -1 },
        { "1e12", -1 },
        { "100000000000", 100000000000000000 },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        Arena arena;
        int64_t micro = -1;
        ROW(rows[i].text);
        arena_init(&arena, SIZE_MAX);
        bool is_read = money_read(number_make(&arena, str_of(rows[i].text)), &micro);
        EXPECT(is_read == (rows[i].micro >= 0));
        EXPECT_INT(micro, rows[i].micro);
        arena_deinit(&arena);
    }
}

TEST(names_and_rates_are_told_from_others, "")
{
    EXPECT(name_is_valid(STR("order-1_x"), false));
    EXPECT(!name_is_valid(STR("a.b"), false));
    EXPECT(name_is_valid(STR("ci/builder@2.1"), true));
    EXPECT(!name_is_valid(STR(""), true));
    EXPECT(!name_is_valid(STR("-a"), true));
    EXPECT(!name_is_valid(STR("a b"), true));
    int64_t count, per_ms;
    EXPECT(rate_read(STR("50/s"), &count, &per_ms) && count == 50 && per_ms == 1000);
    EXPECT(!rate_read(STR("50"), &count, &per_ms));
    EXPECT(!rate_read(STR("0/s"), &count, &per_ms));
    EXPECT(!rate_read(STR("5/week"), &count, &per_ms));
}

TEST(the_nearest_name_is_suggested, "")
{
    static const struct {
        const char *wanted, *best;
    } rows[] = {
        { "tenent", "tenant" },
        { "retrys", "retries" },
        { "time_out", "timeout" },
        { "Timeout", "timeout" },
        { "imtout", "timeout" },
        { "colour", "" },
        { "q", "" },
    };
    static const char *const known[] = { "tenant", "retries", "timeout", "x" };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        Suggestion suggestion = suggest_begin(str_of(rows[i].wanted));
        ROW(rows[i].wanted);
        for (size_t k = 0; k < 4; k++) suggest_offer(&suggestion, str_of(known[k]));
        EXPECT_STR(suggestion.best, str_of(rows[i].best));
    }
}

TEST(paths_are_found_in_texts, "")
{
    TemplateScan scan = { .text = STR("a ${params.x} $${no} $5 ${outputs[\"a-b\"].c[0]} ${commit}") };
    Path path;
    Error err;
    REQUIRE(template_next(&scan, &path, &err) == TEMPLATE_PATH);
    EXPECT_INT(path.part_count, 2);
    EXPECT_STR(path.parts[1], STR("x"));
    EXPECT_INT(path.offset, 2);
    EXPECT_INT(path.width, 11);
    REQUIRE(template_next(&scan, &path, &err) == TEMPLATE_PATH);
    EXPECT_INT(path.part_count, 4);
    EXPECT_STR(path.parts[1], STR("a-b"));
    EXPECT_STR(path.parts[3], STR("0"));
    REQUIRE(template_next(&scan, &path, &err) == TEMPLATE_PATH);
    EXPECT_STR(path.parts[0], STR("commit"));
    EXPECT_INT(template_next(&scan, &path, &err), TEMPLATE_END);
}

TEST(a_wrong_path_is_refused_with_its_place, "")
{
    static const struct {
        const char *text; uint32_t column;
    } rows[] = {
        { "${", 3 },       { "x${a", 2 },  { "${}", 1 },     { "${a..b}", 5 },
        { "${a + b}", 4 }, { "${a[}", 5 }, { "${a['b}", 5 }, { "${a[0}", 6 },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        TemplateScan scan = { .text = str_of(rows[i].text) };
        Path path;
        Error err;
        ROW(rows[i].text);
        EXPECT_INT(template_next(&scan, &path, &err), TEMPLATE_WRONG);
        EXPECT_INT(err.column, rows[i].column);
    }
}
