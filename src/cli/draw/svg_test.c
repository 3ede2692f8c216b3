/* Pictures: well-formed, on their page, nothing on top of anything. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "cli/draw/fixture_test.h"
#include "harness/test.h"

#define DEPTH_MAX 32u
#define BOX_COUNT_MAX 4096u

static const char *const plans[] = {
    "order-fulfillment", "data-protection", "draft-review", "release", "names", "regions", "forks", "log-analysis",
};

static bool has(Str text, const char *part)
{
    return text.len && memmem(text.ptr, text.len, part, strlen(part)) != NULL;
}

/* --- well-formed ------------------------------------------------------------------------------------------------- */

typedef struct Xml {
    Str text;
    size_t at;
    Str open[DEPTH_MAX];                /* names of the elements around */
    uint32_t depth;
    const char *wrong;                  /* what, or NULL */
} Xml;

static char peek(const Xml *xml) { return xml->at < xml->text.len ? xml->text.ptr[xml->at] : '\0'; }

static bool take(Xml *xml, const char *word)
{
    if (!str_starts(str_slice(xml->text, xml->at, xml->text.len), str_of(word))) return false;
    xml->at += strlen(word);
    return true;
}

static Str read_name(Xml *xml)
{
    size_t from = xml->at;
    while (ascii_is_alnum(peek(xml)) || peek(xml) == '-' || peek(xml) == ':') xml->at++;
    if (xml->at == from) xml->wrong = "a name is missing";
    return str_slice(xml->text, from, xml->at);
}

static void read_entity(Xml *xml)
{
    static const char *const known[] = { "&amp;", "&lt;", "&gt;", "&quot;" };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (take(xml, known[i])) return;
    xml->wrong = "a stray '&'";
}

static void read_char(Xml *xml)
{
    uint32_t point = 0;
    size_t size = utf8_decode(str_slice(xml->text, xml->at, xml->text.len), &point);
    bool is_forbidden = size == 0 || (point < ' ' && point != '\n') || point == 0xfffe || point == 0xffff;
    if (peek(xml) == '&') read_entity(xml);
    else if (is_forbidden) xml->wrong = "a forbidden character";
    else xml->at += size;
}

static void read_tag(Xml *xml)
{
    Str name = read_name(xml);
    while (!xml->wrong && take(xml, " ")) {
        read_name(xml);
        if (!take(xml, "=\"")) xml->wrong = "an attribute without value";
        while (!xml->wrong && peek(xml) && peek(xml) != '"') {
            if (peek(xml) == '<') xml->wrong = "'<' in an attribute";
            else read_char(xml);
        }
        if (!take(xml, "\"")) xml->wrong = "an open attribute";
    }
    if (take(xml, "/>")) return;
    if (!take(xml, ">")) xml->wrong = "an open tag";
    else if (xml->depth == DEPTH_MAX) xml->wrong = "too deep";
    else xml->open[xml->depth++] = name;
}

static void read_end(Xml *xml)
{
    Str name = read_name(xml);
    if (xml->depth == 0 || !str_is(name, xml->open[xml->depth - 1])) xml->wrong = "another element is open";
    else xml->depth--;
    if (!take(xml, ">")) xml->wrong = "an open end";
}

static bool expect_well_formed(Str text)
{
    Xml xml = { .text = text };
    if (!take(&xml, "<svg ")) xml.wrong = "no svg";
    xml.at = 0;
    while (!xml.wrong && xml.at < text.len) {
        if (take(&xml, "</")) read_end(&xml);
        else if (take(&xml, "<")) read_tag(&xml);
        else if (xml.depth == 0 && peek(&xml) != '\n') xml.wrong = "text outside";
        else read_char(&xml);
    }
    if (!xml.wrong && xml.depth) xml.wrong = "an element is open";
    return test_expect(!xml.wrong, __FILE__, __LINE__, "at byte %zu: %s", xml.at, xml.wrong ? xml.wrong : "");
}

TEST(the_checker_finds_what_is_not_well_formed, "")
{
    static const char *const rows[] = {
        "<svg a=\"1\"><g></svg>", "<svg a=\"1\"><g></svg></g>", "<svg a=\"1\">a & b</svg>", "<svg a=\"<\"/>",
        "<svg a=1/>", "<svg a=\"1\">\x1b</svg>", "<svg a=\"1\"", "<svg a=\"1\">", "<svg a=\"1\">\xff</svg>", "<p/>",
    };
    EXPECT(expect_well_formed(STR("<svg a=\"&lt;\"><g/>&amp; b</svg>\n")));
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ROW(rows[i]);
        Xml xml = { .text = str_of(rows[i]) };
        while (!xml.wrong && xml.at < xml.text.len) {
            if (take(&xml, "</")) read_end(&xml);
            else if (take(&xml, "<")) read_tag(&xml);
            else read_char(&xml);
        }
        EXPECT(xml.wrong != NULL || xml.depth > 0 || !str_starts(xml.text, STR("<svg")));
    }
}

TEST(pictures_are_well_formed_whatever_the_names, "")
{
    Fixture fixture;
    fixture_begin(&fixture);
    for (size_t i = 0; i < sizeof plans / sizeof *plans; i++) {
        ROW(plans[i]);
        if (!fixture_golden(&fixture, plans[i])) continue;
        Str svg = fixture_draw(&fixture, &(DrawOptions){ .format = DRAW_SVG });
        expect_well_formed(svg);
        EXPECT(has(svg, "<title id=\"t-"));
        EXPECT(has(svg, "prefers-color-scheme:dark"));
        EXPECT(!has(svg, "<script") && !has(svg, "href") && !has(svg, "@import") && !has(svg, "url("));
    }
    fixture_end(&fixture);
}

TEST(pictures_of_different_plans_share_no_id, "")
{
    Fixture fixture;
    fixture_begin(&fixture);
    REQUIRE(fixture_chain(&fixture, 1));
    Str svg = fixture_draw(&fixture, &(DrawOptions){ .format = DRAW_SVG });
    const char *id = memmem(svg.ptr, svg.len, "id=\"t-", 6);
    REQUIRE(id != NULL);
    char first[20];
    memcpy(first, id, 19);
    first[19] = '\0';
    REQUIRE(fixture_chain(&fixture, 2));
    EXPECT(!has(fixture_draw(&fixture, &(DrawOptions){ .format = DRAW_SVG }), first));
    fixture_end(&fixture);
}

/* --- places ------------------------------------------------------------------------------------------------------ */

typedef struct Rect {
    int32_t x, y, width, height;
} Rect;

static int32_t attribute(const char *at, const char *name)
{
    const char *found = strstr(at, name);
    return found ? (int32_t)strtol(found + strlen(name), NULL, 10) : -1;
}

/* The rectangles of some classes, in the order drawn. */
static uint32_t find_rects(Str svg, const char *start, Rect *rects, uint32_t count)
{
    const char *end = svg.ptr + svg.len;
    for (const char *at = svg.ptr; count < BOX_COUNT_MAX; at++) {
        at = memmem(at, (size_t)(end - at), start, strlen(start));
        if (!at) break;
        rects[count++] = (Rect){
            attribute(at, " x=\""), attribute(at, " y=\""), attribute(at, " width=\""), attribute(at, " height=\""),
        };
    }
    return count;
}

static bool overlap(const Rect *a, const Rect *b)
{
    return a->x < b->x + b->width && b->x < a->x + a->width && a->y < b->y + b->height && b->y < a->y + a->height;
}

static void expect_apart(Str svg, uint32_t box_count)
{
    static Rect rects[BOX_COUNT_MAX];
    int32_t width = attribute(svg.ptr, " width=\""), height = attribute(svg.ptr, " height=\"");
    uint32_t count = find_rects(svg, "<rect class=\"box", rects, 0);
    EXPECT_INT(count, box_count);
    count = find_rects(svg, "<rect class=\"behind\"", rects, count);
    for (uint32_t i = 0; i < count; i++) {
        EXPECT(rects[i].x >= 0 && rects[i].x + rects[i].width <= width - 40);           /* the page has a margin */
        EXPECT(rects[i].y >= 0 && rects[i].y + rects[i].height <= height - 40);
        for (uint32_t k = 0; k < i; k++) EXPECT(!overlap(&rects[i], &rects[k]));
    }
}

TEST(boxes_and_labels_stand_apart_on_the_page, "")
{
    Fixture fixture;
    fixture_begin(&fixture);
    for (uint32_t seed = 0; seed < 60; seed++) {
        char row[32];
        snprintf(row, sizeof row, "seed %u", seed);
        ROW(row);
        FixtureShape shape = {
            .job_count = 5 + seed, .need_count_max = 1 + seed % 4, .reach = 3 + seed % 9, .loop_count = seed % 3,
            .seed = seed,
        };
        if (!fixture_random(&fixture, &shape)) continue;
        Str svg = fixture_draw(&fixture, &(DrawOptions){ .format = DRAW_SVG });
        expect_well_formed(svg);
        expect_apart(svg, shape.job_count);
        uint32_t edges = 0;
        const char *end = svg.ptr + svg.len;
        for (const char *at = svg.ptr; (at = memmem(at, (size_t)(end - at), "class=\"edge\"", 12)); at++) edges++;
        EXPECT_INT(edges, fixture.plan.edge_count);
    }
    fixture_end(&fixture);
}

TEST(the_parts_of_a_step_tree_lie_inside_one_another, "")
{
    static Rect rects[BOX_COUNT_MAX];
    Fixture fixture;
    fixture_begin(&fixture);
    REQUIRE(fixture_golden(&fixture, "release"));
    Str svg = fixture_draw(&fixture, &(DrawOptions){ .format = DRAW_SVG });
    uint32_t leaves = find_rects(svg, "<rect class=\"box", rects, 0);
    EXPECT_INT(leaves, 8);
    for (uint32_t i = 0; i < leaves; i++)
        for (uint32_t k = 0; k < i; k++) EXPECT(!overlap(&rects[i], &rects[k]));
    Rect groups[8];
    uint32_t count = find_rects(svg, "<rect class=\"group\"", groups, 0);
    EXPECT_INT(count, 2);                                  /* the first holds everything */
    for (uint32_t i = 0; i < leaves; i++)
        EXPECT(rects[i].x > groups[0].x && rects[i].x + rects[i].width < groups[0].x + groups[0].width
               && rects[i].y > groups[0].y && rects[i].y + rects[i].height < groups[0].y + groups[0].height);
    fixture_end(&fixture);
}
