/* What holds for every format: the golden drawings, refusals, and what becomes of names. The drawings that are expected
 * lie in test/golden/draw, beside the plans that they show; MAESTRO_GOLDEN=write accepts new ones. */
#include "cli/draw/draw.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "cli/draw/fixture_test.h"
#include "harness/test.h"

static bool has(Str text, const char *part)
{
    return text.len && memmem(text.ptr, text.len, part, strlen(part)) != NULL;
}

static uint32_t count_of(Str text, const char *part)
{
    uint32_t count = 0;
    size_t size = strlen(part);
    for (size_t at = 0; at + size <= text.len; at++) count += memcmp(text.ptr + at, part, size) == 0;
    return count;
}

/* --- golden drawings --------------------------------------------------------------------------------------------- */

static const struct { const char *plan, *file; DrawOptions options; } golden[] = {
    { "order-fulfillment", "order-fulfillment.txt", { .format = DRAW_TEXT } },
    { "order-fulfillment", "order-fulfillment.ascii.txt", { .format = DRAW_TEXT, .ascii = true } },
    { "order-fulfillment", "order-fulfillment.color.txt", { .format = DRAW_TEXT, .color = true } },
    { "order-fulfillment", "order-fulfillment.narrow.txt", { .format = DRAW_TEXT, .width = 44 } },
    { "order-fulfillment", "order-fulfillment.mmd", { .format = DRAW_MERMAID } },
    { "order-fulfillment", "order-fulfillment.dot", { .format = DRAW_DOT } },
    { "order-fulfillment", "order-fulfillment.svg", { .format = DRAW_SVG } },
    { "data-protection", "data-protection.txt", { .format = DRAW_TEXT } },
    { "data-protection", "data-protection.ascii.txt", { .format = DRAW_TEXT, .ascii = true } },
    { "data-protection", "data-protection.mmd", { .format = DRAW_MERMAID } },
    { "data-protection", "data-protection.svg", { .format = DRAW_SVG } },
    { "log-analysis", "log-analysis.txt", { .format = DRAW_TEXT } },
    { "incident-playbook", "incident-playbook.txt", { .format = DRAW_TEXT } },
    { "draft-review", "draft-review.txt", { .format = DRAW_TEXT } },
    { "draft-review", "draft-review.ascii.txt", { .format = DRAW_TEXT, .ascii = true } },
    { "draft-review", "draft-review.dot", { .format = DRAW_DOT } },
    { "draft-review", "draft-review.svg", { .format = DRAW_SVG } },
    { "release", "release.txt", { .format = DRAW_TEXT } },
    { "release", "release.ascii.txt", { .format = DRAW_TEXT, .ascii = true } },
    { "release", "release.mmd", { .format = DRAW_MERMAID } },
    { "release", "release.dot", { .format = DRAW_DOT } },
    { "release", "release.svg", { .format = DRAW_SVG } },
    { "forks", "forks.txt", { .format = DRAW_TEXT } },
    { "regions", "regions.txt", { .format = DRAW_TEXT } },
    { "regions", "regions.wide.txt", { .format = DRAW_TEXT, .width = 200 } },
    { "names", "names.txt", { .format = DRAW_TEXT } },
    { "names", "names.ascii.txt", { .format = DRAW_TEXT, .ascii = true } },
    { "names", "names.mmd", { .format = DRAW_MERMAID } },
    { "names", "names.dot", { .format = DRAW_DOT } },
};

static void write_file(const char *path, Str text)
{
    FILE *file = fopen(path, "wb");
    if (!EXPECT(file != NULL)) return;
    fwrite(text.ptr, 1, text.len, file);
    fclose(file);
}

/* The first line that differs tells more than two whole drawings. */
static void expect_lines(Str got, Str want)
{
    for (size_t i = 0, k = 0; i < got.len || k < want.len;) {
        size_t got_end = str_find(got, '\n', i), want_end = str_find(want, '\n', k);
        if (!EXPECT_STR(str_slice(got, i, got_end), str_slice(want, k, want_end))) return;
        i = got_end + 1;
        k = want_end + 1;
    }
    EXPECT_INT(got.len, want.len);
}

TEST(drawings_are_those_that_were_accepted, "")
{
    const char *mode = getenv("MAESTRO_GOLDEN");
    bool is_writing = mode && strcmp(mode, "write") == 0;
    Fixture fixture;
    fixture_begin(&fixture);
    for (size_t i = 0; i < sizeof golden / sizeof *golden; i++) {
        ROW(golden[i].file);
        char path[512];
        snprintf(path, sizeof path, "%s/%s", GOLDEN_DIR, golden[i].file);
        if (!fixture_golden(&fixture, golden[i].plan)) continue;
        Str drawing = fixture_draw(&fixture, &golden[i].options);
        if (is_writing) write_file(path, drawing);
        else expect_lines(drawing, test_read_file(path));
    }
    fixture_end(&fixture);
}

TEST(colours_change_nothing_but_the_colours, "")
{
    Fixture fixture;
    fixture_begin(&fixture);
    REQUIRE(fixture_golden(&fixture, "draft-review"));
    Str plain = fixture_draw(&fixture, &(DrawOptions){ .format = DRAW_TEXT });
    char *copy = malloc(plain.len);
    memcpy(copy, plain.ptr, plain.len);
    plain.ptr = copy;
    Str colored = fixture_draw(&fixture, &(DrawOptions){ .format = DRAW_TEXT, .color = true });
    EXPECT(colored.len > plain.len);
    size_t at = 0;
    for (size_t i = 0; i < colored.len; i++) {
        if (colored.ptr[i] == '\x1b')
            while (colored.ptr[i] != 'm') i++;
        else if (!EXPECT(at < plain.len && plain.ptr[at++] == colored.ptr[i])) break;
    }
    EXPECT_INT(at, plain.len);
    free(copy);
    fixture_end(&fixture);
}

/* --- what is drawn ----------------------------------------------------------------------------------------------- */

TEST(a_runbook_is_drawn_as_its_graph_of_artifacts, "proves: K-057")
{
    static const char *const said[] = {
        "Log Files", "filesystem_connector", "Personal Data Findings", "personal_data_analyser",
    };
    static const struct { DrawFormat format; const char *edge; } formats[] = {
        { DRAW_TEXT, "▼" },
        { DRAW_MERMAID, "s0 --> s1\n" },
        { DRAW_DOT, "s0 -> s1;\n" },
        { DRAW_SVG, "class=\"edge\"" },
    };
    Fixture fixture;
    fixture_begin(&fixture);
    REQUIRE(fixture_golden(&fixture, "log-analysis"));
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        ROW(draw_format_name(formats[i].format));
        Str drawing = fixture_draw(&fixture, &(DrawOptions){ .format = formats[i].format });
        for (size_t k = 0; k < sizeof said / sizeof *said; k++)
            test_expect(has(drawing, said[k]), __FILE__, __LINE__, "'%s' is missing", said[k]);
        EXPECT_INT(count_of(drawing, formats[i].edge), 1);
        EXPECT(has(drawing, "★"));                         /* `output: true` */
    }
    fixture_end(&fixture);
}

TEST(every_step_and_every_edge_is_told_to_other_programs, "")
{
    static const char *const plans[] = {
        "order-fulfillment", "data-protection", "draft-review", "release", "forks", "names",
    };
    Fixture fixture;
    fixture_begin(&fixture);
    for (size_t i = 0; i < sizeof plans / sizeof *plans; i++) {
        ROW(plans[i]);
        if (!fixture_golden(&fixture, plans[i])) continue;
        const Plan *plan = &fixture.plan;
        Str dot = fixture_draw(&fixture, &(DrawOptions){ .format = DRAW_DOT });
        EXPECT_INT(count_of(dot, " -> s"), plan->edge_count + plan->loop_count);
        for (uint32_t step = 0; step < plan->step_count; step++) {
            char node[32];
            snprintf(node, sizeof node, "    s%u [label=", step);
            EXPECT_INT(count_of(dot, node), 1);
        }
        Str mermaid = fixture_draw(&fixture, &(DrawOptions){ .format = DRAW_MERMAID });
        uint32_t lines = count_of(mermaid, " --> s") + count_of(mermaid, "\"| s") + count_of(mermaid, " -.- s");
        EXPECT_INT(lines, plan->edge_count + plan->loop_count);
        EXPECT_INT(count_of(mermaid, "subgraph "), count_of(mermaid, "    end\n"));
    }
    fixture_end(&fixture);
}

TEST(marks_show_what_a_step_does_and_not_what_all_do, "")
{
    static const struct { const char *name, *settings, *has, *has_not; } rows[] = {
        { "a condition", "'when':'x'", "runs on a condition", "polls" },
        { "an empty list is nothing", "'policies':[]", "a", "under a policy" },
        { "false is nothing", "'optional':false", "a", "optional" },
        { "a policy of its own", "'policies':['p','q']", "under a policy", "polls" },
        { "the plan's policy", "'policies':['p']", "a", "under a policy" },
        { "a signal and a pause", "'wait_for_signal':{'signal':'s'},'pause_after':{'trigger':'t'}",
          "pauses afterwards   ⚑ waits for a signal", "polls" },
    };
    Fixture fixture;
    fixture_begin(&fixture);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ROW(rows[i].name);
        if (!fixture_text(&fixture, "{'format':1,'kind':'workflow','id':'w','policies':['p'],"
                                    "'steps':[{'id':'a','kind':'task',%s}]}", rows[i].settings))
            continue;
        Str drawing = fixture_draw(&fixture, &(DrawOptions){ .format = DRAW_TEXT });
        EXPECT(has(drawing, rows[i].has));
        EXPECT(!has(drawing, rows[i].has_not));
    }
    fixture_end(&fixture);
}

TEST(an_edge_of_data_is_drawn_where_nothing_else_says_it, "")
{
    static const struct { const char *name, *kind, *edges; uint32_t edge_count, arrows; } rows[] = {
        { "implied by order", "workflow", "[0,1,'order'],[0,2,'data'],[1,2,'order']", 3, 2 },
        { "implied by other data", "workflow", "[0,1,'data'],[0,2,'data'],[1,2,'data']", 3, 2 },
        { "written by the author of a runbook", "runbook", "[0,1,'data'],[0,2,'data'],[1,2,'data']", 3, 3 },
        { "beside an order that is implied too, but was written", "workflow",
          "[0,1,'order'],[0,3,'data'],[1,2,'order'],[1,3,'order'],[2,3,'order']", 5, 4 },
        { "the only way", "workflow", "[0,1,'order'],[0,2,'data'],[1,3,'order']", 3, 3 },
    };
    Fixture fixture;
    fixture_begin(&fixture);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ROW(rows[i].name);
        if (!fixture_text(&fixture, "{'format':1,'kind':'%s','id':'w','steps':[{'id':'a','kind':'task'},"
                                    "{'id':'b','kind':'task'},{'id':'c','kind':'task'},{'id':'d','kind':'task'}],"
                                    "'edges':[%s]}", rows[i].kind, rows[i].edges))
            continue;
        Str svg = fixture_draw(&fixture, &(DrawOptions){ .format = DRAW_SVG });
        EXPECT_INT(count_of(svg, "class=\"edge\""), rows[i].arrows);
        Str dot = fixture_draw(&fixture, &(DrawOptions){ .format = DRAW_DOT });
        EXPECT_INT(count_of(dot, " -> s"), rows[i].edge_count);        /* other programs are told all the same */
        EXPECT_INT(count_of(dot, "style=dotted"), rows[i].edge_count - rows[i].arrows);
    }
    fixture_end(&fixture);
}

/* --- names ------------------------------------------------------------------------------------------------------- */

TEST(names_stay_text_in_every_format, "")
{
    static const struct { const char *name, *text, *mermaid, *dot, *svg; } rows[] = {
        { "a\\\"b", "a\"b", "a#34;b", "a\\\"b", "a&quot;b" },
        { "<b>&", "<b>&", "#60;b#62;#38;", "<b>&amp;", "&lt;b&gt;&amp;" },
        { "a\\\\n", "a\\n", "a#92;n", "a\\\\n", "a\\n" },
        { "a\\nb", "a b", "a b", "a b", "a b" },
        { "a\\u001b[1mb", "a\xef\xbf\xbd[1mb", "a\xef\xbf\xbd#91;1mb", "a\xef\xbf\xbd[1mb", "a\xef\xbf\xbd[1mb" },
        { "a\\u202eb", "a\xef\xbf\xbd" "b", "a\xef\xbf\xbd" "b", "a\xef\xbf\xbd" "b", "a\xef\xbf\xbd" "b" },
        { "%%{init}%%", "%%{init}%%", "#37;#37;#123;init#125;#37;#37;", "%%{init}%%", "%%{init}%%" },
        { "1. x", "1. x", "1#46; x", "1. x", "1. x" },
        { "- x", "- x", "#45; x", "- x", "- x" },
        { "_x_ a_b a-b", "_x_ a_b a-b", "#95;x#95; a_b a-b", "_x_ a_b a-b", "_x_ a_b a-b" },
        { "end", "end", "end", "end", "end" },
        { "日本 🙂", "日本 🙂", "日本 🙂", "日本 🙂", "日本 🙂" },
    };
    Fixture fixture;
    fixture_begin(&fixture);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ROW(rows[i].name);
        if (!fixture_text(&fixture, "{'format':1,'kind':'workflow','id':'w',"
                                    "'steps':[{'id':'s','name':'%s','kind':'task'}]}", rows[i].name))
            continue;
        char wanted[256];
        snprintf(wanted, sizeof wanted, "│ %s │\n", rows[i].text);
        EXPECT(has(fixture_draw(&fixture, &(DrawOptions){ .format = DRAW_TEXT }), wanted));
        snprintf(wanted, sizeof wanted, "s0[\"%s\"]\n", rows[i].mermaid);
        EXPECT(has(fixture_draw(&fixture, &(DrawOptions){ .format = DRAW_MERMAID }), wanted));
        snprintf(wanted, sizeof wanted, "s0 [label=\"%s\"];\n", rows[i].dot);
        EXPECT(has(fixture_draw(&fixture, &(DrawOptions){ .format = DRAW_DOT }), wanted));
        snprintf(wanted, sizeof wanted, ">%s</text>", rows[i].svg);
        EXPECT(has(fixture_draw(&fixture, &(DrawOptions){ .format = DRAW_SVG }), wanted));
    }
    fixture_end(&fixture);
}

/* --- sizes and refusals ------------------------------------------------------------------------------------------ */

TEST(formats_have_names, "")
{
    DrawFormat format = DRAW_FORMAT_COUNT;
    for (DrawFormat i = 0; i < DRAW_FORMAT_COUNT; i++) {
        EXPECT(draw_format_from(str_of(draw_format_name(i)), &format));
        EXPECT_INT(format, i);
    }
    format = DRAW_FORMAT_COUNT;
    EXPECT(!draw_format_from(STR("png"), &format));
    EXPECT(!draw_format_from(STR(""), &format));
    EXPECT(!draw_format_from(STR("SVG"), &format));
    EXPECT_INT(format, DRAW_FORMAT_COUNT);
}

TEST(a_plan_without_steps_is_drawn_all_the_same, "")
{
    static const char *const kinds[] = { "workflow", "runbook", "step-tree" };
    Fixture fixture;
    fixture_begin(&fixture);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        ROW(kinds[i]);
        if (!fixture_text(&fixture, "{'format':1,'kind':'%s','id':'nothing','steps':[]}", kinds[i])) continue;
        for (DrawFormat format = 0; format < DRAW_FORMAT_COUNT; format++)
            EXPECT(has(fixture_draw(&fixture, &(DrawOptions){ .format = format }), "nothing"));
    }
    fixture_end(&fixture);
}

TEST(a_drawing_that_does_not_fit_is_refused, "")
{
    Fixture fixture;
    fixture_begin(&fixture);
    REQUIRE(fixture_golden(&fixture, "order-fulfillment"));
    for (DrawFormat format = 0; format < DRAW_FORMAT_COUNT; format++) {
        ROW(draw_format_name(format));
        char storage[100];
        Buf out = buf_on(storage, sizeof storage);
        Error err = { 0 };
        arena_reset(&fixture.scratch);
        Status status = draw_plan(&fixture.plan, &(DrawOptions){ .format = format }, &fixture.scratch, &out, &err);
        EXPECT_INT(status, ERR_LIMIT);
        EXPECT(has(str_of(err.text), "100 bytes"));
    }
    fixture_end(&fixture);
}

TEST(a_picture_of_too_many_boxes_is_refused_by_name, "")
{
    Fixture fixture;
    fixture_begin(&fixture);
    static const struct { const char *name; bool (*make)(Fixture *, uint32_t); uint32_t count; Status want; } rows[] = {
        { "as many as there may be", fixture_chain, DRAW_SVG_COUNT_MAX, OK },
        { "one more", fixture_chain, DRAW_SVG_COUNT_MAX + 1, ERR_LIMIT },
        { "a fan", fixture_fan, 1000, OK },
        { "a tree", fixture_deep, DRAW_SVG_COUNT_MAX, OK },
        { "a tree with one more", fixture_deep, DRAW_SVG_COUNT_MAX + 1, ERR_LIMIT },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ROW(rows[i].name);
        if (!rows[i].make(&fixture, rows[i].count)) continue;
        Error err = { 0 };
        DrawOptions options = { .format = DRAW_SVG };
        arena_reset(&fixture.scratch);
        buf_clear(&fixture.out);
        Status status = draw_plan(&fixture.plan, &options, &fixture.scratch, &fixture.out, &err);
        EXPECT_INT(status, rows[i].want);
        if (rows[i].want) EXPECT(has(str_of(err.text), "DRAW_SVG_COUNT_MAX (2000)"));
    }
    fixture_end(&fixture);
}

TEST(a_hundred_thousand_steps_are_told_to_other_programs, "")
{
    Fixture fixture;
    fixture_begin(&fixture);
    REQUIRE(fixture_fan(&fixture, 99998));
    EXPECT_INT(count_of(fixture_draw(&fixture, &(DrawOptions){ .format = DRAW_DOT }), " -> s"), 2 * 99998);
    EXPECT_INT(count_of(fixture_draw(&fixture, &(DrawOptions){ .format = DRAW_MERMAID }), " --> s"), 2 * 99998);
    fixture_end(&fixture);
}
