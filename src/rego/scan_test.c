#include "rego/scan.h"

#include "base/buf.h"
#include "harness/test.h"
#include "rego/engine_test.h"
#include "value/json.h"

static Value json_of(Arena *arena, const char *text)
{
    Value value = value_null();
    Error err;
    EXPECT_OK(json_parse(arena, str_of(text), &value, &err), &err);
    return value;
}

/* --- the index --------------------------------------------------------------------------------------------------- */

static void expect_places(Arena *arena, const char *container, const char *path, const char *wanted, const char *want)
{
    Value keys = json_of(arena, path), items = json_of(arena, container);
    ScanPath steps = { keys.items, keys.count, false };
    ScanIndex index;
    scan_index_make(items, steps, arena_alloc(arena, scan_index_size(items.count)), &index);
    EXPECT(scan_index_is_of(&index, items));
    char storage[256];
    Buf places = buf_on(storage, sizeof storage);
    for (uint32_t at = scan_index_first(&index, json_of(arena, wanted)); at != SCAN_END; at = index.next[at])
        buf_format(&places, "%u ", at);
    EXPECT_STR(buf_peek(&places), str_of(want));
}

TEST(an_index_gives_the_places_of_a_value_in_the_order_of_the_container, "")
{
    static const struct {
        const char *name, *container, *path, *wanted, *want;
    } rows[] = {
        { "texts", "[{\"k\":\"a\"},{\"k\":\"b\"},{\"k\":\"a\"},{\"k\":\"a\"}]", "[\"k\"]", "\"a\"", "0 2 3 " },
        { "numbers however they are written", "[1, 2, 1.0, 1e0, 10e-1]", "[]", "1", "0 2 3 4 " },
        { "fractions", "[1.5, 2, 1.50]", "[]", "1.5", "0 2 " },
        { "items without the path are in no chain", "[{}, {\"k\":null}, 7]", "[\"k\"]", "null", "1 " },
        { "deeper paths, places of arrays too", "[{\"a\":[1,2]},{\"a\":[1,3]}]", "[\"a\",1]", "3", "1 " },
        { "values of an object", "{\"x\":{\"k\":true},\"y\":{\"k\":true}}", "[\"k\"]", "true", "0 1 " },
        { "nothing", "[]", "[\"k\"]", "1", "" },
    };
    Arena arena;
    arena_init(&arena, SIZE_MAX);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ROW(rows[i].name);
        expect_places(&arena, rows[i].container, rows[i].path, rows[i].wanted, rows[i].want);
    }
    arena_deinit(&arena);
}

TEST(equal_values_are_in_one_chain_whatever_they_are, "")
{
    Arena arena;
    arena_init(&arena, SIZE_MAX);
    Value items = json_of(&arena, "[null, true, 3, 3.0, 0.1, 1e300, \"\", \"x\", [1, [2]], {\"a\": {}}, [], {}]");
    ScanIndex index;
    scan_index_make(items, (ScanPath){ 0 }, arena_alloc(&arena, scan_index_size(items.count)), &index);
    for (uint32_t i = 0; i < items.count; i++) {
        bool is_found = false;
        for (uint32_t at = scan_index_first(&index, items.items[i]); at != SCAN_END; at = index.next[at])
            is_found = is_found || at == i;
        EXPECT(is_found);
    }
    arena_deinit(&arena);
}

/* --- bodies that are answered by one ----------------------------------------------------------------------------- */

/* An array of people, or an object of them by name. */
static void write_people(Buf *text, uint32_t count, uint32_t team_count, bool by_name)
{
    buf_char(text, by_name ? '{' : '[');
    for (uint32_t i = 0; i < count; i++) {
        if (i) buf_char(text, ',');
        if (by_name) buf_format(text, "\"p%u\":", i);
        buf_format(text, "{\"name\":\"p%u\",\"team\":\"t%u\",\"n\":%u%s,", i, i % team_count, i % 3, i % 2 ? ".0" : "");
        buf_format(text, "\"at\":[%u,{\"x\":%u}],\"1\":%u}", i % 4, i % 5, i % 6);
    }
    buf_char(text, by_name ? '}' : ']');
}

static Str data_text(Arena *arena, uint32_t count, uint32_t team_count)
{
    Buf text;
    buf_init(&text, 16u << 20);
    buf_text(&text, "{\"people\":{\"list\":");
    write_people(&text, count, team_count, /* by_name= */ false);
    buf_text(&text, "},\"by_name\":");
    write_people(&text, count, team_count, /* by_name= */ true);
    buf_text(&text, ",\"teams\":[");
    for (uint32_t i = 0; i < team_count; i++) buf_format(&text, "%s\"t%u\"", i ? "," : "", i);
    buf_text(&text, "]}");
    Str copy = arena_copy(arena, buf_peek(&text));
    buf_deinit(&text);
    return copy;
}

static Str input_text(Arena *arena, uint32_t count, uint32_t team_count)
{
    Buf text;
    buf_init(&text, 1u << 20);
    buf_text(&text, "{\"team\":\"t7\",\"people\":");
    write_people(&text, count, team_count, /* by_name= */ false);
    buf_char(&text, '}');
    Str copy = arena_copy(arena, buf_peek(&text));
    buf_deinit(&text);
    return copy;
}

#define BY_TEAM(body) "p := [r | some team in data.teams; r := [x | " body "]]"

static const char *const bodies[] = {
    BY_TEAM("some e in data.people.list; e.team == team; x := e.name"),
    BY_TEAM("some i, e in data.people.list; team == e.team; x := [i, e.name]"),
    BY_TEAM("some k, e in data.by_name; e.team == team; x := k"),
    BY_TEAM("x := data.people.list[_]; x.team = team"),
    BY_TEAM("data.people.list[i].team = team; x := i"),
    BY_TEAM("e := data.people.list[_]; e.name != \"p3\"; e.n < 2; e.team == team; x := e.name"),
    BY_TEAM("some e in people; e.team == team; x := e.name") "\npeople contains e if some e in data.people.list",
    BY_TEAM("some e in people; e.team == team; x := e.name") "\npeople := [e | some e in data.people.list; e.n == 1]",
    BY_TEAM("some e in input.people; e.team == team; x := e.name"),
    BY_TEAM("some a in data.people.list; some b in data.people.list; a.team == team; b.team == a.team; "
            "a.name < b.name; x := [a.name, b.name]"),
    BY_TEAM("some e in data.people.list; e.n == 1; e.team == team; x := e.name"),
    BY_TEAM("some e in data.people.list; e.n == 1; x := [team, e.name]"),
    BY_TEAM("some e in data.people.list; e.at[1].x == count(team); x := e.name"),
    BY_TEAM("some e in data.people.list; n := count(team) - 1; e.at[0] == n; x := e.name"),
    BY_TEAM("some e in data.people.list; e[1] == 4; e.team == team; x := e.name"),
    BY_TEAM("some e in data.people.list; e[\"1\"] == 4; e.team == team; x := e.name"),
    BY_TEAM("data.people.list[i][1] == 4; x := i"),
    BY_TEAM("some e in data.people.list; e.missing == team; x := e"),
    BY_TEAM("some e in data.people.list; e.team == input.missing; x := e"),
    BY_TEAM("some e in data.people.list; e.team == input.team; x := [team, e.name]"),
    BY_TEAM("some e in data.people.list; e.team == data.teams[1]; x := [team, e.name]"),
    BY_TEAM("some e in data.people.list; {\"team\": team, \"n\": 1, \"name\": x, \"at\": _, \"1\": _} = e"),
    BY_TEAM("some e in data.people.list; e.at == [2, {\"x\": 2}]; x := [team, e.name]"),
    BY_TEAM("some e in data.teams; e == team; x := e"),
    BY_TEAM("some e in data.people.list with data.people.list as input.people; e.team == team; x := e.name"),
    BY_TEAM("some e in data.people.list; e.team == input.team with input as {\"team\": team}; x := e.name"),
    "p := [x | some team in data.teams; x := f(team)]\nf(t) := [e.name | some e in data.people.list; e.team == t]",
    "p := [team | some team in data.teams; not bad(team)]\n"
    "bad(t) if { some e in data.people.list; e.team == t; e.at[1].x == 2 }",
    "p contains e.name if { some team in data.teams; every x in [0, 1] { x < 2 }; "
    "some e in data.people.list; e.team == team }",
    "p[team] contains e.name if { some e in data.people.list; e.n == 1; team := e.team }",
    "p := q.t1\nq[team] contains e.name if { some e in data.people.list; team := e.team }",
};

TEST(scans_with_an_index_give_the_same_answers_in_the_same_order, "")
{
    Arena arena;
    arena_init(&arena, SIZE_MAX);
    Str data = data_text(&arena, 60, 20), input = input_text(&arena, 50, 10);
    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
        ROW(bodies[i]);
        EngineCase c = { .module = bodies[i], .query = "data.t.p", .input = input.ptr, .data = data.ptr };
        Str got = engine_answer(&arena, &c, &(EngineOptions){ 0 });
        EngineOptions watched = { .compile = { .instrument = true } };      /* what is watched goes over every item */
        EXPECT_STR(got, engine_answer(&arena, &c, &watched));
        EXPECT(str_starts(got, STR("[")) || str_starts(got, STR("{")));     /* an answer, no error */
    }
    arena_deinit(&arena);
}

TEST(grouping_takes_steps_for_the_items_and_not_for_items_times_groups, "")
{
    static const char *const modules[] = {
        "p := count([1 | some team in data.teams; some e in data.people.list; e.team == team])",
        "p := count([1 | some team in data.teams; some e in list; e.team == team])\n"
        "list := [e | some e in data.people.list]",
    };
    Arena arena;
    arena_init(&arena, SIZE_MAX);
    Str data = data_text(&arena, 2000, 400);
    for (size_t i = 0; i < sizeof modules / sizeof *modules; i++) {
        ROW(modules[i]);
        EngineCase c = { .module = modules[i], .query = "data.t.p", .data = data.ptr };
        EngineOptions options = { .budget = { .step_count_max = 100000 } };
        EXPECT_STR(engine_answer(&arena, &c, &options), STR("2000"));
        options.compile.instrument = true;
        EXPECT_STR(engine_answer(&arena, &c, &options),
                   STR("t.rego:2: eval_cancel_error: the evaluation took more than 100000 steps"));
    }
    arena_deinit(&arena);
}

TEST(a_comprehension_is_made_once_for_all_values_it_is_compared_with, "")
{
    static const struct { const char *module, *want; } rows[] = {
        { "p := count([1 | [x | some x in numbers.range(1, 2000)] == input.lists[_]])", "2" },
        { "p := count([i | {x | some x in [1, 2]} == input.sets[i]; numbers.range(1, 2000)])", "0" },
        { "p := count([i | [x | some x in numbers.range(1, 2000)] = input.lists[i]])", "2" },
        { "p := count([1 | some n in [1999, 2000]; [x | some x in numbers.range(1, n)] == input.lists[_]])", "3" },
        { "p := [i | some i in [0, 1, 2]; input.indexes[j] == [x | x := i]]", "[1,2]" },
    };
    Arena arena;
    arena_init(&arena, SIZE_MAX);
    Buf input;
    buf_init(&input, 1u << 20);
    buf_text(&input, "{\"sets\":[[1,2]],\"indexes\":[[7],[1],[2]],\"lists\":[");
    for (int list = 0; list < 43; list++) {
        int last = list < 40 ? 3 : list < 42 ? 2000 : 1999;
        buf_text(&input, list ? ",[" : "[");
        for (int i = 1; i <= last; i++) buf_format(&input, i > 1 ? ",%d" : "%d", i);
        buf_char(&input, ']');
    }
    buf_text(&input, "]}");
    buf_char(&input, 0);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ROW(rows[i].module);
        EngineCase c = { .module = rows[i].module, .query = "data.t.p", .input = input.ptr };
        EngineOptions options = { .budget = { .step_count_max = 50000 } };
        EXPECT_STR(engine_answer(&arena, &c, &options), str_of(rows[i].want));
        options = (EngineOptions){ .compile = { .instrument = true } };
        EXPECT_STR(engine_answer(&arena, &c, &options), str_of(rows[i].want));
    }
    buf_deinit(&input);
    arena_deinit(&arena);
}

TEST(a_query_finds_by_the_index_of_its_policy_or_its_own, "")
{
    Arena arena;
    arena_init(&arena, SIZE_MAX);
    EngineCase c = { .query = "count([1 | some team in data.teams; some e in data.people.list; e.team == team])",
                     .data = data_text(&arena, 2000, 400).ptr };
    EngineOptions options = { .budget = { .step_count_max = 50000 } };
    EXPECT_STR(engine_answer(&arena, &c, &options), STR("2000"));
    c.module = "q if { some e in data.people.list; e.team == input.team }";
    EXPECT_STR(engine_answer(&arena, &c, &options), STR("2000"));
    arena_deinit(&arena);
}
