#include "rego/builtins/builtin.h"

#include <string.h>

#include "base/limits.h"
#include "harness/test.h"
#include "rego/builtins/rows_test.h"

/* --- the table --------------------------------------------------------------------------------------------------- */

TEST(the_table_is_sorted_and_every_row_is_found, "")
{
    for (uint32_t i = 0; i < builtin_count(); i++) {
        const Builtin *builtin = builtin_at(i);
        ROW(builtin->name);
        if (i) EXPECT(strcmp(builtin_at(i - 1)->name, builtin->name) < 0);
        EXPECT(builtin_find(str_of(builtin->name)) == builtin);
        EXPECT(builtin->call != NULL);
        if (builtin->infix) EXPECT(builtin_find_infix(str_of(builtin->infix)) != NULL);
    }
    EXPECT(builtin_find(STR("no.such")) == NULL);
    EXPECT(builtin_find(STR("")) == NULL);
    EXPECT(builtin_find_infix(STR("no")) == NULL);
}

/* Commas at the outermost level of the parameters, plus one; brackets of types hold commas of their own. */
static uint32_t parameter_count(const char *signature)
{
    uint32_t depth = 0, count = 0;
    for (const char *at = signature; *at; at++) {
        depth += *at == '(' || *at == '[' || *at == '<';
        if (*at == ')' && --depth == 0) break;
        depth -= *at == ']' || (*at == '>' && at[-1] != '-');
        if (depth && count == 0 && *at != '(') count = 1;
        count += *at == ',' && depth == 1;
    }
    return count;
}

TEST(the_arity_of_a_row_is_that_of_its_signature, "")
{
    for (uint32_t i = 0; i < builtin_count(); i++) {
        const Builtin *builtin = builtin_at(i);
        ROW(builtin->name);
        EXPECT(builtin->signature[0] == '(');
        EXPECT(strstr(builtin->signature, ") -> ") != NULL);
        EXPECT_INT(builtin->arity, parameter_count(builtin->signature));
    }
}

/* --- calls ------------------------------------------------------------------------------------------------------- */

static void expect_result(const Call *call, const char *want)
{
    Buf buf;
    buf_init(&buf, JSON_SIZE_MAX);
    tagged_print(&buf, call->result);
    EXPECT_STR(buf_peek(&buf), str_of(want));
    buf_deinit(&buf);
}

TEST(chance_follows_the_seed_alone, "")
{
    Call call;
    call_begin(&call);
    call.context.seed = 1;
    int64_t first = -1, spread = 0;
    for (int i = 0; i < 100; i++) {
        EXPECT_INT(call_run(&call, "rand.intn", "[\"key\", 1000000]"), BUILTIN_OK);
        EXPECT(call.result.integer >= 0 && call.result.integer < 1000000);
        if (first < 0) first = call.result.integer;
        EXPECT_INT(call.result.integer, first);
    }
    for (uint64_t seed = 2; seed < 102; seed++) {
        call.context.seed = seed;
        EXPECT_INT(call_run(&call, "rand.intn", "[\"key\", 1000000]"), BUILTIN_OK);
        spread += call.result.integer != first;
    }
    EXPECT(spread > 95);
    EXPECT_INT(call_run(&call, "rand.intn", "[\"key\", 0]"), BUILTIN_OK);
    expect_result(&call, "0");
    EXPECT_INT(call_run(&call, "rand.intn", "[\"key\", 1.5]"), BUILTIN_TYPE_ERROR);
    call_end(&call);
}

TEST(clock_and_environment_come_from_the_context, "")
{
    Call call;
    call_begin(&call);
    call.context.now_ns = 1517832000000000000;
    EXPECT_INT(call_run(&call, "time.now_ns", "[]"), BUILTIN_OK);
    expect_result(&call, "1517832000000000000");
    EXPECT_INT(call_run(&call, "opa.runtime", "[]"), BUILTIN_OK);
    expect_result(&call, "{}");
    call_end(&call);
}

TEST(without_zones_only_utc_is_known, "")
{
    Call call;
    call_begin(&call);
    call.context.zones = NULL;
    EXPECT_INT(call_run(&call, "time.clock", "[[0, \"UTC\"]]"), BUILTIN_OK);
    EXPECT_INT(call_run(&call, "time.clock", "[[0, \"Europe/Berlin\"]]"), BUILTIN_ERROR);
    EXPECT_STR(str_of(call.err.text), STR("time.clock: unknown time zone Europe/Berlin"));
    EXPECT_INT(call_run(&call, "time.clock", "[[0, \"../etc/passwd\"]]"), BUILTIN_ERROR);
    call_end(&call);
}

TEST(dates_are_added_on_the_clock_of_their_zone, "")
{
    Call call;
    call_begin(&call);
    /* 2024-03-30 02:30 in Berlin: a day later that time does not exist, and 03:30 is shown instead. */
    EXPECT_INT(call_run(&call, "time.add_date", "[[1711762200000000000, \"Europe/Berlin\"], 0, 0, 1]"), BUILTIN_OK);
    expect_result(&call, "1711848600000000000");
    /* A day of 23 hours. */
    EXPECT_INT(call_run(&call, "time.add_date", "[[1711796400000000000, \"Europe/Berlin\"], 0, 0, 1]"), BUILTIN_OK);
    expect_result(&call, "1711879200000000000");
    call_end(&call);
}

TEST(walk_gives_every_value_with_its_path, "")
{
    Call call;
    call_begin(&call);
    EXPECT_INT(call_run(&call, "walk", "[{\"a\": [1, {\"$set\": [\"x\"]}]}]"), BUILTIN_OK);
    expect_result(&call, "[[[],{\"a\":[1,{\"$set\":[\"x\"]}]}],[[\"a\"],[1,{\"$set\":[\"x\"]}]],[[\"a\",0],1],"
                         "[[\"a\",1],{\"$set\":[\"x\"]}],[[\"a\",1,\"x\"],\"x\"]]");
    EXPECT(builtin_find(STR("walk"))->flags & BUILTIN_RELATION);
    call_end(&call);
}

TEST(conflicts_of_template_strings_are_told_apart, "")
{
    Call call;
    call_begin(&call);
    EXPECT_INT(call_run(&call, "internal.template_string", "[[{\"$set\": [1, 2]}]]"), BUILTIN_CONFLICT);
    call_end(&call);
}

/* --- budgets ----------------------------------------------------------------------------------------------------- */

static void expect_halt(const char *name, const char *arguments)
{
    ROW(name);
    Call call;
    call_begin(&call);
    call.steps = 20000;
    call.context.arena_size_max = 4u << 20;
    EXPECT_INT(call_run(&call, name, arguments), BUILTIN_HALT);
    EXPECT_INT(call.err.status, ERR_LIMIT);
    EXPECT(call.arena.size < (64u << 20));
    call_end(&call);
    ROW(NULL);
}

/* Each of these would take long, or much memory, if nothing stopped it. */
TEST(a_spent_budget_stops_every_loop, "")
{
    static const struct { const char *name, *arguments; } calls[] = {
        { "numbers.range", "[1, 100000000]" },
        { "numbers.range", "[1, 99999999999999999999]" },
        { "net.cidr_expand", "[\"10.0.0.0/8\"]" },
        { "net.cidr_expand", "[\"::/0\"]" },
        { "sprintf", "[\"%1000000d%1000000d%1000000d%1000000d%1000000d\", [1, 1, 1, 1, 1]]" },
        { "strings.render_template", "[\"{{range 1000000}}{{range 1000000}}x{{end}}{{end}}\", {}]" },
        { "yaml.unmarshal", "[\"a: &a [x,x,x,x,x,x,x,x,x]\\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\\n"
                            "c: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c]\\n"
                            "e: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d]\\nf: &f [*e,*e,*e,*e,*e,*e,*e,*e,*e]\"]" },
    };
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) expect_halt(calls[i].name, calls[i].arguments);
}

/* Twelve nodes, each joined to all: there are more paths than steps. */
TEST(a_spent_budget_stops_the_search_for_paths, "")
{
    Buf text;
    buf_init(&text, 1u << 16);
    buf_text(&text, "[{");
    for (int from = 0; from < 12; from++) {
        buf_format(&text, "%s\"%d\":[", from ? "," : "", from);
        for (int to = 0; to < 12; to++) buf_format(&text, "%s\"%d\"", to ? "," : "", to);
        buf_char(&text, ']');
    }
    buf_text(&text, "}, [\"0\"]]");
    buf_char(&text, '\0');
    expect_halt("graph.reachable_paths", text.ptr);
    buf_deinit(&text);
}

TEST(a_raised_flag_stops_the_next_call, "")
{
    Call call;
    atomic_bool stop = false;
    call_begin(&call);
    call.context.stop = &stop;
    EXPECT_INT(call_run(&call, "plus", "[1, 2]"), BUILTIN_OK);
    stop = true;
    EXPECT_INT(call_run(&call, "plus", "[1, 2]"), BUILTIN_HALT);
    EXPECT_STR(str_of(call.err.text), STR("the evaluation was stopped"));
    call_end(&call);
}

TEST(memory_is_refused_by_name_and_value, "")
{
    Call call;
    call_begin(&call);
    call.context.arena_size_max = 1u << 20;
    EXPECT_INT(call_run(&call, "numbers.range", "[1, 1000000]"), BUILTIN_HALT);
    EXPECT(strstr(call.err.text, "1048576") != NULL);
    call_end(&call);
}

TEST(no_pattern_makes_a_glob_slow, "")
{
    Call call;
    call_begin(&call);
    call.steps = 100000;
    EXPECT_INT(call_run(&call, "glob.match", "[\"**a**a**a**a**a**a**a**a**a**a**a**a**a**b\", [], "
                                             "\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\"]"),
               BUILTIN_OK);
    expect_result(&call, "false");
    call_end(&call);
}

TEST(numbers_do_not_grow_without_end, "")
{
    static const struct { const char *name, *arguments; } calls[] = {
        { "mul", "[1e9999, 1e9999]" },
        { "bits.lsh", "[1, 1000000]" },
        { "product", "[[1e9999, 1e9999, 1e9999]]" },
        { "product", "[[1e9999, 1e9999, 0.5]]" },
        { "mul", "[1e-9999, 1.5e-9999]" },
        { "div", "[1e-9999, 1.5e9999]" },
    };
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        ROW(calls[i].arguments);
        Call call;
        call_begin(&call);
        EXPECT_INT(call_run(&call, calls[i].name, calls[i].arguments), BUILTIN_HALT);
        EXPECT(strstr(call.err.text, "NUMBER_EXPONENT_MAX") != NULL);
        call_end(&call);
    }
}

/* --- depth ------------------------------------------------------------------------------------------------------- */

static void repeat(Buf *buf, const char *text, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) buf_text(buf, text);
}

TEST(nesting_is_refused_before_the_stack_is_used_up, "")
{
    static const struct { const char *name, *begin, *open, *middle, *close, *end; } calls[] = {
        { "json.unmarshal", "[\"", "[", "1", "]", "\"]" },
        { "yaml.unmarshal", "[\"", "[", "1", "]", "\"]" },
        { "glob.match", "[\"", "{", "a", "}", "\", [], \"a\"]" },
        { "strings.render_template", "[\"", "{{if 1}}", "a", "{{end}}", "\", {}]" },
        { "strings.render_template", "[\"{{", "(", "1", ")", "}}\", {}]" },
        { "strings.render_template", "[\"{{define `a`}}", "", "{{template `a`}}{{end}}{{template `a`}}", "", "\", {}]" },
    };
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        ROW(calls[i].name);
        Buf text;
        buf_init(&text, 1u << 20);
        buf_text(&text, calls[i].begin);
        repeat(&text, calls[i].open, 2000);
        buf_text(&text, calls[i].middle);
        repeat(&text, calls[i].close, 2000);
        buf_text(&text, calls[i].end);
        buf_char(&text, '\0');
        Call call;
        call_begin(&call);
        EXPECT_INT(call_run(&call, calls[i].name, text.ptr), BUILTIN_HALT);
        EXPECT(strstr(call.err.text, "_DEPTH_MAX") != NULL);
        call_end(&call);
        buf_deinit(&text);
    }
}

TEST(a_patch_cannot_nest_a_document_beyond_the_limit, "")
{
    Buf text;
    buf_init(&text, 1u << 20);
    buf_text(&text, "[[0], [");
    for (int i = 0; i < 3; i++) {
        if (i) buf_char(&text, ',');
        buf_text(&text, "{\"op\":\"replace\",\"path\":\"/0");
        repeat(&text, "/0", (uint32_t)i * 200);
        buf_text(&text, "\",\"value\":");
        repeat(&text, "[", 200);
        repeat(&text, "]", 200);
        buf_char(&text, '}');
    }
    buf_text(&text, "]]");
    buf_char(&text, '\0');
    Call call;
    call_begin(&call);
    EXPECT_INT(call_run(&call, "json.patch", text.ptr), BUILTIN_ERROR);
    call_end(&call);
    buf_deinit(&text);
}
