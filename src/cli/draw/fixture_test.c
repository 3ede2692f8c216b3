#include "cli/draw/fixture_test.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "harness/test.h"
#include "value/json.h"

void fixture_begin(Fixture *fixture)
{
    arena_init(&fixture->arena, SIZE_MAX);
    arena_init(&fixture->scratch, SIZE_MAX);
    buf_init(&fixture->json, 256u << 20);
    buf_init(&fixture->out, 256u << 20);
}

void fixture_end(Fixture *fixture)
{
    arena_deinit(&fixture->arena);
    arena_deinit(&fixture->scratch);
    buf_deinit(&fixture->json);
    buf_deinit(&fixture->out);
}

bool fixture_read(Fixture *fixture, Str json)
{
    Value document;
    Error err = { 0 };
    arena_reset(&fixture->arena);
    return EXPECT_OK(json_parse(&fixture->arena, json, &document, &err), &err)
        && EXPECT_OK(plan_read(&fixture->arena, document, &fixture->plan, &err), &err);
}

bool fixture_text(Fixture *fixture, const char *format, ...)
{
    char text[4096];
    va_list args;
    va_start(args, format);
    int size = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (!EXPECT(size > 0 && (size_t)size < sizeof text)) return false;
    for (int i = 0; i < size; i++)
        if (text[i] == '\'') text[i] = '"';
    buf_clear(&fixture->json);
    buf_text(&fixture->json, text);
    return fixture_read(fixture, buf_peek(&fixture->json));
}

bool fixture_golden(Fixture *fixture, const char *name)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s.json", GOLDEN_DIR, name);
    return fixture_read(fixture, test_read_file(path));
}

Str fixture_draw(Fixture *fixture, const DrawOptions *options)
{
    Error err = { 0 };
    arena_reset(&fixture->scratch);
    buf_clear(&fixture->out);
    if (!EXPECT_OK(draw_plan(&fixture->plan, options, &fixture->scratch, &fixture->out, &err), &err)) return STR("");
    size_t size = fixture->out.len;
    buf_char(&fixture->out, '\0');                /* tests search it as C text */
    return (Str){ fixture->out.ptr, size };
}

/* --- made plans -------------------------------------------------------------------------------------------------- */

static uint32_t next_random(uint64_t *seed)
{
    *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(*seed >> 33);
}

static bool is_branch(const FixtureShape *shape, uint32_t job) { return shape->has_branches && job % 3 == 2; }

static void put_jobs(Buf *json, const FixtureShape *shape)
{
    buf_text(json, "{\"format\":1,\"kind\":\"workflow\",\"id\":\"made\",\"jobs\":[");
    for (uint32_t i = 0; i < shape->job_count; i++)
        buf_format(json, "%s{\"id\":\"j%" PRIu32 "\",\"priority\":\"normal\"}", i ? "," : "", i);
    buf_text(json, "],\"steps\":[");
    for (uint32_t i = 0; i < shape->job_count; i++)
        buf_format(json, "%s{\"id\":\"j%" PRIu32 ".t\",\"name\":\"t%" PRIu32 "\",\"kind\":\"%s\",\"job\":%" PRIu32 "}",
                   i ? "," : "", i, i, is_branch(shape, i) ? "branch" : "task", i);
    buf_text(json, "],\"edges\":[");
}

/* Edges must be sorted by where they leave: a row of targets for each job, each edge decided by chance. */
static void put_edges(Buf *json, const FixtureShape *shape)
{
    uint64_t seed = shape->seed;
    bool is_first = true;
    static uint32_t need_counts[1024];
    static struct { uint32_t from, to; } edges[8192];       /* a loop goes back along one of them */
    uint32_t edge_count = 0;
    for (uint32_t i = 0; i < shape->job_count; i++) need_counts[i] = 0;
    for (uint32_t from = 0; from < shape->job_count; from++) {
        for (uint32_t to = from + 1; to < shape->job_count && to <= from + shape->reach; to++) {
            bool is_wanted = next_random(&seed) % shape->reach < shape->need_count_max;
            if (!is_wanted || need_counts[to] >= shape->need_count_max) continue;
            need_counts[to]++;
            if (edge_count < sizeof edges / sizeof *edges) {
                edges[edge_count].from = from;
                edges[edge_count++].to = to;
            }
            buf_format(json, "%s[%" PRIu32 ",%" PRIu32 ",", is_first ? "" : ",", from, to);
            if (is_branch(shape, from)) buf_format(json, "\"branch\",\"k%" PRIu32 "\"]", to);
            else buf_text(json, "\"order\"]");
            is_first = false;
        }
    }
    buf_text(json, "],\"loops\":[");
    for (uint32_t i = 0; edge_count && i < shape->loop_count; i++) {
        uint32_t edge = next_random(&seed) % edge_count;
        buf_format(json, "%s{\"head\":%" PRIu32 ",\"tail\":%" PRIu32 ",\"max_iterations\":%" PRIu32 "}", i ? "," : "",
                   edges[edge].from, edges[edge].to, i + 2);
    }
    buf_text(json, "]}");
}

bool fixture_random(Fixture *fixture, const FixtureShape *shape)
{
    buf_clear(&fixture->json);
    put_jobs(&fixture->json, shape);
    put_edges(&fixture->json, shape);
    return fixture_read(fixture, buf_peek(&fixture->json));
}

bool fixture_chain(Fixture *fixture, uint32_t count)
{
    buf_clear(&fixture->json);
    put_jobs(&fixture->json, &(FixtureShape){ .job_count = count });
    for (uint32_t i = 1; i < count; i++)
        buf_format(&fixture->json, "%s[%" PRIu32 ",%" PRIu32 ",\"order\"]", i > 1 ? "," : "", i - 1, i);
    buf_text(&fixture->json, "]}");
    return fixture_read(fixture, buf_peek(&fixture->json));
}

bool fixture_fan(Fixture *fixture, uint32_t count)
{
    buf_clear(&fixture->json);
    put_jobs(&fixture->json, &(FixtureShape){ .job_count = count + 2 });
    for (uint32_t i = 1; i <= count; i++) buf_format(&fixture->json, "[0,%" PRIu32 ",\"order\"],", i);
    for (uint32_t i = 1; i <= count; i++)
        buf_format(&fixture->json, "%s[%" PRIu32 ",%" PRIu32 ",\"order\"]", i > 1 ? "," : "", i, count + 1);
    buf_text(&fixture->json, "]}");
    return fixture_read(fixture, buf_peek(&fixture->json));
}

bool fixture_deep(Fixture *fixture, uint32_t count)
{
    buf_clear(&fixture->json);
    buf_text(&fixture->json, "{\"format\":1,\"kind\":\"step-tree\",\"id\":\"deep\",\"steps\":["
                             "{\"id\":\"s0\",\"kind\":\"sequence\"}");
    for (uint32_t i = 1; i < count; i++)
        buf_format(&fixture->json, ",{\"id\":\"s%" PRIu32 "\",\"kind\":\"sequence\",\"parent\":%" PRIu32 "}", i, i - 1);
    buf_text(&fixture->json, "]}");
    return fixture_read(fixture, buf_peek(&fixture->json));
}
