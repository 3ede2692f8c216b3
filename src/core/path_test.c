#include "core/path.h"

#include <string.h>

#include "harness/test.h"

TEST(a_path_is_a_name_and_steps_into_it, "")
{
    PathScan scan = { .text = STR("x ${outputs[\"a-b\"].c[10]['d e']}${commit} $${no} $ $$ ${run.id}") };
    Path path;
    EXPECT_INT(path_next(&scan, &path), PATH_FOUND);
    EXPECT_INT(path.part_count, 5);
    EXPECT_STR(path.parts[1], STR("a-b"));
    EXPECT_STR(path.parts[3], STR("10"));
    EXPECT_STR(path.parts[4], STR("d e"));
    EXPECT_INT(path.begin, 2);
    EXPECT_INT(path_next(&scan, &path), PATH_FOUND);
    EXPECT_STR(path.parts[0], STR("commit"));
    EXPECT_INT(path_next(&scan, &path), PATH_ESCAPE);
    EXPECT_INT(path.end - path.begin, 3);
    EXPECT_INT(path_next(&scan, &path), PATH_FOUND);
    EXPECT_INT(path.end, scan.text.len);
    EXPECT_INT(path_next(&scan, &path), PATH_END);
    EXPECT(path_is_in(STR("$${")) && path_is_in(STR("${x}")));
    EXPECT(!path_is_in(STR("100 $ $$ {x}")));
}

TEST(what_is_no_path_is_refused_with_its_place, "")
{
    static const struct { const char *text; size_t at; const char *says; } rows[] = {
        { "a ${}", 2, "names nothing" },   { "${a", 0, "has no '}'" },        { "${a..b}", 4, "a name is missing" },
        { "${a b}", 3, "not an expression" }, { "${a[x]}", 4, "a number" },   { "${a[\"x}", 4, "has no end" },
        { "${a[1}", 5, "']' is missing" }, { "${.a}", 2, "a name is missing" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        PathScan scan = { .text = str_of(rows[i].text) };
        Path path;
        ROW(rows[i].text);
        EXPECT_INT(path_next(&scan, &path), PATH_WRONG);
        EXPECT_INT(scan.wrong_at, rows[i].at);
        EXPECT(strstr(scan.wrong, rows[i].says) != NULL);
        EXPECT_INT(path_next(&scan, &path), PATH_END);
    }
}
