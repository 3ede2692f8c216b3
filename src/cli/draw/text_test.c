/* Drawings for a terminal, read back: boxes are found in the text and lines are followed from box to box, as a person
 * would. What is found must be the plan, no edge less and no edge more. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "base/utf8.h"
#include "cli/draw/fixture_test.h"
#include "harness/test.h"

#define SIDE_MAX 1024u
#define BOX_COUNT_MAX 256u

typedef struct Box {
    uint32_t job, left, right, top, bottom;
} Box;

typedef struct Page {
    uint32_t *points;                   /* by cell; 0 behind the end of a line and in the right half of a wide one */
    uint32_t width, height;
    Box boxes[BOX_COUNT_MAX];
    uint32_t box_count;
    bool *is_seen;                      /* by cell and direction, while a line is followed */
} Page;

static uint32_t point_at(const Page *page, uint32_t x, uint32_t y)
{
    return x < page->width && y < page->height ? page->points[y * page->width + x] : 0;
}

/* --- reading ----------------------------------------------------------------------------------------------------- */

static bool number_at(const Page *page, uint32_t x, uint32_t y, uint32_t *out)
{
    uint32_t number = 0, digits = 0;
    for (uint32_t c = point_at(page, x, y); c >= '0' && c <= '9'; c = point_at(page, x, y)) {
        number = number * 10 + c - '0';
        digits++;
        x++;
    }
    *out = number;
    return digits > 0;
}

/* "┌─ j7" for a job, "╱─" above "│ ◇ j7" for a branch. */
static bool box_begins(const Page *page, uint32_t x, uint32_t y, uint32_t *out_job)
{
    bool is_job = point_at(page, x, y) == 0x250c && point_at(page, x + 2, y) == ' ' && point_at(page, x + 3, y) == 'j';
    bool is_branch = point_at(page, x, y) == 0x2571 && point_at(page, x + 2, y + 1) == 0x25c7
                  && point_at(page, x + 4, y + 1) == 'j';
    return (is_job && number_at(page, x + 4, y, out_job)) || (is_branch && number_at(page, x + 5, y + 1, out_job));
}

static bool ends_box(uint32_t point) { return point == 0 || point == 0x2510 || point == 0x2572; }      /* ┐ ╲ */

static void find_boxes(Page *page)
{
    for (uint32_t y = 0; y < page->height; y++) {
        for (uint32_t x = 0; x < page->width; x++) {
            Box box = { .left = x, .top = y, .right = x, .bottom = y };
            if (!box_begins(page, x, y, &box.job) || page->box_count == BOX_COUNT_MAX) continue;
            while (!ends_box(point_at(page, box.right, y))) box.right++;
            do box.bottom++;
            while (point_at(page, x, box.bottom) == 0x2502);
            page->boxes[page->box_count++] = box;
        }
    }
}

static void page_read(Page *page, Str text)
{
    *page = (Page){ .width = SIDE_MAX };
    for (size_t i = 0; i < text.len; i++) page->height += text.ptr[i] == '\n';
    page->points = calloc((size_t)page->width * page->height, sizeof *page->points);
    page->is_seen = calloc((size_t)page->width * page->height * 3, sizeof *page->is_seen);
    uint32_t x = 0, y = 0;
    for (size_t at = 0; at < text.len;) {
        uint32_t point = 0;
        size_t size = utf8_decode(str_slice(text, at, text.len), &point);
        if (size == 0) break;
        if (point == '\n') {
            x = 0;
            y++;
        } else if (x < page->width) {
            page->points[y * page->width + x] = point;
            x += (uint32_t)utf8_width(str_slice(text, at, at + size));
        }
        at += size;
    }
    find_boxes(page);
}

static void page_end(Page *page)
{
    free(page->points);
    free(page->is_seen);
}

/* --- following --------------------------------------------------------------------------------------------------- */

typedef enum Direction { EAST, SOUTH, WEST } Direction;

/* In which directions a line goes on, by its character and by where it was going; never upwards. */
static const struct { uint32_t point; uint8_t ways[3]; } signs[] = {
    { 0x2502, { 1 << EAST, 1 << SOUTH, 1 << WEST } },                       /* │, and under it */
    { 0x250a, { 1 << EAST, 1 << SOUTH, 1 << WEST } },                       /* ┊ */
    { 0x2500, { 1 << EAST, 0, 1 << WEST } },                                /* ─ */
    { 0x2508, { 1 << EAST, 0, 1 << WEST } },                                /* ┈ */
    { 0x250c, { 0, 0, 1 << SOUTH } },                                       /* ┌ */
    { 0x2510, { 1 << SOUTH, 0, 0 } },                                       /* ┐ */
    { 0x2514, { 0, 1 << EAST, 0 } },                                        /* └ */
    { 0x2518, { 0, 1 << WEST, 0 } },                                        /* ┘ */
    { 0x251c, { 0, 1 << EAST | 1 << SOUTH, 1 << SOUTH } },                  /* ├ */
    { 0x2524, { 1 << SOUTH, 1 << WEST | 1 << SOUTH, 0 } },                  /* ┤ */
    { 0x252c, { 1 << EAST | 1 << SOUTH, 0, 1 << WEST | 1 << SOUTH } },      /* ┬ */
    { 0x2534, { 1 << EAST, 1 << EAST | 1 << WEST, 1 << WEST } },            /* ┴ */
    { 0x253c, { 1 << EAST | 1 << SOUTH, 1 << EAST | 1 << SOUTH | 1 << WEST, 1 << WEST | 1 << SOUTH } },   /* ┼ */
};

static uint8_t ways_from(uint32_t point, Direction going)
{
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++)
        if (signs[i].point == point) return signs[i].ways[going];
    return going == SOUTH && point != 0 && point != ' ' ? 1 << SOUTH : 0;   /* through a label */
}

static void follow(Page *page, uint32_t x, uint32_t y, Direction going, bool *out_jobs)
{
    for (uint32_t i = 0; i < page->box_count; i++) {
        const Box *box = &page->boxes[i];
        if (going != SOUTH || box->top != y || x < box->left || x > box->right) continue;
        out_jobs[box->job] = true;
        return;
    }
    if (x >= page->width || y >= page->height || page->is_seen[(y * page->width + x) * 3 + going]) return;
    page->is_seen[(y * page->width + x) * 3 + going] = true;
    uint8_t ways = ways_from(point_at(page, x, y), going);
    if (ways >> EAST & 1) follow(page, x + 1, y, EAST, out_jobs);
    if (ways >> SOUTH & 1) follow(page, x, y + 1, SOUTH, out_jobs);
    if (ways >> WEST & 1 && x > 0) follow(page, x - 1, y, WEST, out_jobs);
}

/* The boxes that the lines lead to which leave a box below: those of `sign`, an opened border or the head of a loop. */
static void follow_all(Page *page, const Box *box, uint32_t sign, bool *out_jobs)
{
    uint32_t y = sign == 0x252c ? box->bottom : box->bottom + 1;
    memset(page->is_seen, 0, (size_t)page->width * page->height * 3 * sizeof *page->is_seen);
    memset(out_jobs, 0, BOX_COUNT_MAX * sizeof *out_jobs);
    for (uint32_t x = box->left; x <= box->right; x++)
        if (point_at(page, x, y) == sign) follow(page, x, y + 1, SOUTH, out_jobs);
}

static void expect_same(const char *what, uint32_t job, uint32_t count, const bool *wanted, const bool *found)
{
    for (uint32_t i = 0; i < count; i++)
        test_expect(wanted[i] == found[i], __FILE__, __LINE__, "%s of j%u, j%u: drawn %d, wanted %d", what, job, i,
                    found[i], wanted[i]);
}

static void expect_plan(Page *page, const Plan *plan)
{
    static bool wanted[BOX_COUNT_MAX], found[BOX_COUNT_MAX];
    EXPECT_INT(page->box_count, plan->job_count);
    for (uint32_t i = 0; i < page->box_count; i++) {
        const Box *box = &page->boxes[i];
        const PlanStep *step = &plan->steps[box->job];          /* one step a job */
        memset(wanted, 0, sizeof wanted);
        for (uint32_t e = 0; e < step->edge_count; e++) wanted[plan->edges[step->edge_first + e].to] = true;
        follow_all(page, box, 0x252c, found);
        expect_same("edges", box->job, plan->job_count, wanted, found);
        memset(wanted, 0, sizeof wanted);
        for (uint32_t e = 0; e < plan->loop_count; e++)
            wanted[plan->loops[e].tail] |= plan->loops[e].head == box->job;
        follow_all(page, box, 0x25b2, found);
        expect_same("loops", box->job, plan->job_count, wanted, found);
    }
}

static void expect_width(Str text, uint32_t width)
{
    for (size_t at = 0; at < text.len;) {
        size_t end = str_find(text, '\n', at);
        Str line = str_slice(text, at, end);
        bool has_space = line.len && line.ptr[line.len - 1] == ' ';
        test_expect(utf8_width(line) <= width, __FILE__, __LINE__, "wider than %u: '%.*s'", width, STR_ARG(line));
        test_expect(!has_space, __FILE__, __LINE__, "ends with a space: '%.*s'", STR_ARG(line));
        at = end + 1;
    }
}

static bool has(Str text, const char *part)
{
    return text.len && memmem(text.ptr, text.len, part, strlen(part)) != NULL;
}

static const char *const plans[] = {
    "order-fulfillment", "data-protection", "draft-review", "release", "names", "regions", "forks", "incident-playbook",
};

/* --- layers ------------------------------------------------------------------------------------------------------ */

TEST(lines_lead_from_each_job_to_those_after_it_and_to_no_others, "")
{
    static const FixtureShape shapes[] = {
        { .job_count = 2, .need_count_max = 1, .reach = 1 },
        { .job_count = 6, .need_count_max = 3, .reach = 4 },
        { .job_count = 9, .need_count_max = 9, .reach = 9 },
        { .job_count = 12, .need_count_max = 2, .reach = 6 },
        { .job_count = 12, .need_count_max = 2, .reach = 6, .has_branches = true },
        { .job_count = 12, .need_count_max = 3, .reach = 5, .loop_count = 3 },
        { .job_count = 16, .need_count_max = 2, .reach = 9, .loop_count = 2, .has_branches = true },
        { .job_count = 40, .need_count_max = 2, .reach = 5 },
        { .job_count = 40, .need_count_max = 2, .reach = 30, .has_branches = true },
    };
    static const uint32_t widths[] = { 80, 120, 300 };
    Fixture fixture;
    fixture_begin(&fixture);
    uint32_t drawn = 0, made = 0;
    for (uint32_t i = 0; i < 40 * (uint32_t)(sizeof shapes / sizeof *shapes); i++) {
        FixtureShape shape = shapes[i % (sizeof shapes / sizeof *shapes)];
        shape.seed = i;
        char row[32];
        snprintf(row, sizeof row, "seed %u", i);
        ROW(row);
        if (!fixture_random(&fixture, &shape)) continue;
        for (size_t w = 0; w < sizeof widths / sizeof *widths; w++) {
            Str text = fixture_draw(&fixture, &(DrawOptions){ .format = DRAW_TEXT, .width = widths[w] });
            expect_width(text, widths[w]);
            made++;
            if (has(text, " • ")) continue;                 /* a list, which is another test's */
            Page page;
            page_read(&page, text);
            expect_plan(&page, &fixture.plan);
            page_end(&page);
            drawn++;
        }
    }
    test_expect(drawn * 2 > made, __FILE__, __LINE__, "only %u of %u were drawn in layers", drawn, made);
    fixture_end(&fixture);
}

TEST(a_chain_of_a_hundred_jobs_is_one_line_of_boxes, "")
{
    Fixture fixture;
    fixture_begin(&fixture);
    REQUIRE(fixture_chain(&fixture, 100));
    Str text = fixture_draw(&fixture, &(DrawOptions){ .format = DRAW_TEXT });
    expect_width(text, 40);
    Page page;
    page_read(&page, text);
    expect_plan(&page, &fixture.plan);
    page_end(&page);
    fixture_end(&fixture);
}

TEST(ascii_drawings_hold_nothing_else, "")
{
    Fixture fixture;
    fixture_begin(&fixture);
    for (size_t i = 0; i < sizeof plans / sizeof *plans; i++) {
        ROW(plans[i]);
        if (!fixture_golden(&fixture, plans[i])) continue;
        Str text = fixture_draw(&fixture, &(DrawOptions){ .format = DRAW_TEXT, .ascii = true });
        for (size_t k = 0; k < text.len; k++)
            if (!EXPECT(text.ptr[k] == '\n' || (text.ptr[k] >= ' ' && text.ptr[k] <= '~'))) break;
    }
    fixture_end(&fixture);
}

TEST(no_line_is_wider_than_the_terminal, "")
{
    Fixture fixture;
    fixture_begin(&fixture);
    for (size_t i = 0; i < sizeof plans / sizeof *plans; i++) {
        ROW(plans[i]);
        if (!fixture_golden(&fixture, plans[i])) continue;
        for (uint32_t width = 1; width < 220; width++) {
            uint32_t most = width < DRAW_WIDTH_MIN ? DRAW_WIDTH_MIN : width;
            DrawOptions options = { .format = DRAW_TEXT, .width = width };
            expect_width(fixture_draw(&fixture, &options), most);
            options.ascii = true;
            expect_width(fixture_draw(&fixture, &options), most);
        }
        Str widest = fixture_draw(&fixture, &(DrawOptions){ .format = DRAW_TEXT, .width = UINT32_MAX });
        expect_width(widest, DRAW_WIDTH_MAX);
    }
    fixture_end(&fixture);
}

/* --- lists ------------------------------------------------------------------------------------------------------- */

TEST(a_fan_too_wide_is_listed_with_its_needs, "")
{
    Fixture fixture;
    fixture_begin(&fixture);
    REQUIRE(fixture_fan(&fixture, 50));
    Str text = fixture_draw(&fixture, &(DrawOptions){ .format = DRAW_TEXT });
    expect_width(text, 80);
    for (uint32_t i = 1; i <= 50; i++) {
        char line[64];
        snprintf(line, sizeof line, "\n •  j%u%s  ← j0\n    t%u\n", i, i < 10 ? " " : "", i);
        test_expect(has(text, line), __FILE__, __LINE__, "j%u is missing", i);
    }
    EXPECT(has(text, "\n •  j51  ← j1, j2, j3, j4,"));
    EXPECT(has(text, "… 30 more\n    t51\n"));             /* DRAW_NEED_COUNT_MAX are listed */
    fixture_end(&fixture);
}

/* Each job's needs, read back from a list. */
static void expect_needs(Str text, const Plan *plan)
{
    static bool wanted[1024], found[1024];
    for (uint32_t job = 0; job < plan->job_count; job++) {
        char name[32];
        snprintf(name, sizeof name, "\n •  j%u ", job);
        const char *at = memmem(text.ptr, text.len, name, strlen(name));
        if (!at) snprintf(name, sizeof name, "\n •  j%u\n", job);
        if (!at) at = memmem(text.ptr, text.len, name, strlen(name));
        if (!test_expect(at != NULL, __FILE__, __LINE__, "j%u is missing", job)) continue;
        memset(wanted, 0, sizeof wanted);
        memset(found, 0, sizeof found);
        for (uint32_t e = 0; e < plan->edge_count; e++)
            if (plan->edges[e].to == job) wanted[plan->edges[e].from] = true;
        const char *end = text.ptr + text.len;
        for (at += 6; at < end && *at != 't'; at++)        /* up to its task */
            if (at[0] == 'j' && at[-1] == ' ') found[strtoul(at + 1, NULL, 10)] = true;
        found[job] = false;                                 /* its own name, at the start */
        expect_same("needs", job, plan->job_count, wanted, found);
    }
}

TEST(a_list_names_every_need_of_every_job, "")
{
    Fixture fixture;
    fixture_begin(&fixture);
    for (uint32_t seed = 0; seed < 20; seed++) {
        char row[32];
        snprintf(row, sizeof row, "seed %u", seed);
        ROW(row);
        FixtureShape shape = { .job_count = 1000, .need_count_max = 6, .reach = 40, .seed = seed };
        if (!fixture_random(&fixture, &shape)) continue;
        Str text = fixture_draw(&fixture, &(DrawOptions){ .format = DRAW_TEXT });
        expect_width(text, 80);
        expect_needs(text, &fixture.plan);
    }
    fixture_end(&fixture);
}

TEST(a_huge_plan_is_listed_in_part_and_says_so, "")
{
    static const struct {
        const char *name;
        bool (*make)(Fixture *fixture, uint32_t count);
        uint32_t count;
        const char *says;
    } rows[] = {
        { "the most that is listed", fixture_chain, 1000, "\n •  j999  ← j998\n" },
        { "one more", fixture_chain, 1001, "\n … 901 more\n" },
        { "a chain", fixture_chain, 100000, "\n … 99,900 more\n" },
        { "a fan", fixture_fan, 99998, "\n … 99,900 more\n" },
        { "a tree", fixture_deep, 100000, "\n … 99,900 more\n" },
    };
    Fixture fixture;
    fixture_begin(&fixture);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ROW(rows[i].name);
        if (!rows[i].make(&fixture, rows[i].count)) continue;
        Str text = fixture_draw(&fixture, &(DrawOptions){ .format = DRAW_TEXT });
        EXPECT(has(text, rows[i].says));
        EXPECT(text.len < 100u * 1024);
        expect_width(text, 80);
    }
    fixture_end(&fixture);
}

TEST(a_job_of_many_tasks_shows_the_first_and_counts_the_rest, "")
{
    Fixture fixture;
    fixture_begin(&fixture);
    Buf *json = &fixture.json;
    buf_text(json, "{\"format\":1,\"kind\":\"workflow\",\"id\":\"w\",");
    buf_text(json, "\"jobs\":[{\"id\":\"job\",\"priority\":\"low\"}],\"steps\":[");
    for (uint32_t i = 0; i < 2000; i++)
        buf_format(json, "%s{\"id\":\"j.%u\",\"name\":\"t%u\",\"kind\":\"task\",\"job\":0}", i ? "," : "", i, i);
    buf_text(json, "],\"edges\":[");
    for (uint32_t i = 1; i < 2000; i++) buf_format(json, "%s[%u,%u,\"order\"]", i > 1 ? "," : "", i - 1, i);
    buf_text(json, "]}");
    REQUIRE(fixture_read(&fixture, buf_peek(&fixture.json)));
    Str text = fixture_draw(&fixture, &(DrawOptions){ .format = DRAW_TEXT });
    EXPECT(has(text, "│ t39          │\n │ … 1,960 more │\n └──────────────┘\n"));
    fixture_end(&fixture);
}

TEST(loops_inside_of_a_job_are_rows_of_its_box, "")
{
    Fixture fixture;
    fixture_begin(&fixture);
    REQUIRE(fixture_text(&fixture, "{'format':1,'kind':'workflow','id':'w','jobs':[{'id':'job','priority':'low'}],"
                                   "'steps':[{'id':'a','kind':'task','job':0},{'id':'b','kind':'task','job':0},"
                                   "{'id':'c','kind':'task'}],'edges':[[0,1,'order'],[1,2,'order']],"
                                   "'loops':[{'head':0,'tail':1,'max_iterations':7},"
                                   "{'head':2,'tail':2,'max_iterations':8}]}"));
    Str text = fixture_draw(&fixture, &(DrawOptions){ .format = DRAW_TEXT });
    EXPECT(has(text, "│ ↺ ≤7× b → a │\n"));
    EXPECT(has(text, "│ ↺ ≤8× │\n"));
    EXPECT(!has(text, "▲"));
    fixture_end(&fixture);
}
