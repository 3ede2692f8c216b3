#include <string.h>

#include "api/access.h"
#include "api/key.h"
#include "api/route.h"
#include "base/limits.h"
#include "harness/test.h"
#include "value/json.h"

typedef struct Bench { Access *access; Call call; } Bench;

static void bench_open(Bench *bench)
{
    Error err;
    memset(bench, 0, sizeof *bench);
    arena_init(&bench->call.arena, SIZE_MAX);
    bench->call.source = STR("127.0.0.1");
    REQUIRE_OK(access_open(NULL, &bench->access, &err), &err);
}

static void bench_close(Bench *bench)
{
    access_close(bench->access);
    arena_deinit(&bench->call.arena);
}

static bool permits(Bench *bench, const char *role, const char *verb, Str *out_why)
{
    bench->call.caller = (Caller){ .key = STR("abcdefgh"), .tenant = STR("acme"), .role = str_of(role), .actor = STR("key:abcdefgh") };
    Denial denial = { 0 };
    bool is_permitted = access_permits(bench->access, &bench->call, verb, STR("acme"), &denial);
    *out_why = denial.why;
    return is_permitted;
}

TEST(the_built_in_policy_permits_each_role_what_it_says, "")
{
    static const struct { const char *verb, *roles; } cases[] = {
        { "execution.read", "viewer operator author admin" },  { "event.read", "viewer operator author admin" },
        { "execution.start", "operator admin" },               { "execution.cancel", "operator admin" },
        { "workflow.create", "author admin" },                 { "workflow.delete", "author admin" },
        { "executor.exchange", "worker admin" },               { "store.read", "admin" },
        { "key.read", "admin" }, { "key.create", "admin" }, { "key.revoke", "admin" }, { "secret.read", "admin" }, { "secret.set", "admin" },
        { "secret.remove", "admin" }, { "trigger.token", "admin" },
        { "something.new", "admin" },
    };
    Bench bench;
    bench_open(&bench);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (size_t role = 0; key_role_names[role]; role++)
            for (int again = 0; again < 2; again++) {           /* remembered, and not */
                Str why = { 0 };
                ROW(cases[i].verb);
                bool is_permitted = permits(&bench, key_role_names[role], cases[i].verb, &why);
                EXPECT_INT(is_permitted, strstr(cases[i].roles, key_role_names[role]) != NULL);
                EXPECT(is_permitted || why.len);
            }
    bench_close(&bench);
}

static bool is_for_admins(const char *verb)
{
    static const char *const groups[] = { "store.", "key.", "secret.", "trigger." };
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++)
        if (str_starts(str_of(verb), str_of(groups[i]))) return true;
    return false;
}

TEST(every_verb_of_the_table_is_known_to_the_policy, "")
{
    Bench bench;
    bench_open(&bench);
    for (uint32_t i = 0; i < route_count; i++) {
        bool is_known = routes[i].access == ROUTE_OPEN || is_for_admins(routes[i].verb);
        Str why;
        for (size_t role = 0; key_role_names[role] && !is_known; role++)
            is_known = role != ROLE_ADMIN && permits(&bench, key_role_names[role], routes[i].verb, &why);
        ROW(routes[i].name);
        EXPECT(is_known);
    }
    bench_close(&bench);
}

TEST(a_key_has_its_tenant_its_id_and_a_secret_that_is_kept_nowhere, "")
{
    Arena arena;
    Str id, key, document, other_id, other, other_document;
    KeyFacts facts = { .role = ROLE_OPERATOR, .expires_ms = 17 }, read;
    Error err;
    arena_init(&arena, SIZE_MAX);
    key_make(&arena, STR("acme.eu"), &facts, &id, &key, &document);
    key_make(&arena, STR("acme.eu"), &facts, &other_id, &other, &other_document);
    EXPECT(str_starts(key, STR("mk.acme.eu.")));
    EXPECT(!str_is(key, other));
    EXPECT_INT(id.len, KEY_ID_SIZE);
    Str secret = str_slice(key, key.len - 43, key.len);
    EXPECT(!memmem(document.ptr, document.len, secret.ptr, secret.len));
    EXPECT_OK(key_read_document(&arena, document, &read, &err), &err);
    EXPECT_INT(read.role, ROLE_OPERATOR);
    EXPECT_INT(read.expires_ms, 17);
    EXPECT_INT(key_read_document(&arena, STR("{\"role\":\"emperor\"}"), &read, &err), ERR_CORRUPT);
    arena_deinit(&arena);
}

TEST(a_workers_key_keeps_what_it_is_limited_to_and_others_have_no_limits, "proves: F-113")
{
    Arena arena;
    Str id, key, document;
    KeyFacts facts = { .role = ROLE_WORKER }, read;
    Value many = value_null(), lists;
    const char *member;
    Error err;
    arena_init(&arena, SIZE_MAX);
    EXPECT_OK(json_parse(&arena, STR("{\"executors\":[\"far\"],\"queues\":[\"a \\\"b\\\"\",\"c\"]}"), &lists, &err), &err);
    facts.limits = key_limits_of(lists);
    EXPECT_OK(key_limits_check(&facts.limits, /* is_worker= */ true, &member, &err), &err);
    EXPECT_INT(key_limits_check(&facts.limits, /* is_worker= */ false, &member, &err), ERR_INVALID);
    key_make(&arena, STR("acme"), &facts, &id, &key, &document);
    EXPECT_OK(key_read_document(&arena, document, &read, &err), &err);
    EXPECT(value_equals(read.limits.queues, facts.limits.queues));
    EXPECT(key_limits_permit_executor(&read.limits, STR("far")));
    EXPECT(!key_limits_permit_executor(&read.limits, STR("near")));
    EXPECT_OK(key_read_document(&arena, STR("{\"role\":\"worker\"}"), &read, &err), &err);      /* as keys were before there were limits */
    EXPECT(!key_limits_are_some(&read.limits));
    EXPECT(key_limits_permit_executor(&read.limits, STR("near")));
    static const struct { const char *name, *text; Status want; } wrong[] = {
        { "an empty list", "[]", ERR_INVALID }, { "a text", "\"far\"", ERR_INVALID }, { "a number in it", "[1]", ERR_INVALID },
        { "an empty name", "[\"\"]", ERR_INVALID }, { "a control character", "[\"a\\nb\"]", ERR_INVALID },
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        ROW(wrong[i].name);
        EXPECT_OK(json_parse(&arena, str_of(wrong[i].text), &many, &err), &err);
        EXPECT_INT(key_limits_check(&(KeyLimits){ value_null(), many }, /* is_worker= */ true, &member, &err), wrong[i].want);
        EXPECT_STR(str_of(member), STR("queues"));
    }
    ValueList list = { .arena = &arena };
    for (unsigned i = 0; i < API_KEY_QUEUE_COUNT_MAX; i++) value_list_add(&list, value_string(arena_format(&arena, "q%u", i)));
    EXPECT_OK(key_limits_check(&(KeyLimits){ value_null(), value_list_array(&list) }, /* is_worker= */ true, &member, &err), &err);
    value_list_add(&list, value_string(STR("one more")));
    EXPECT_INT(key_limits_check(&(KeyLimits){ value_null(), value_list_array(&list) }, /* is_worker= */ true, &member, &err), ERR_LIMIT);
    arena_deinit(&arena);
}

TEST(a_path_finds_its_route_and_its_names, "")
{
    static const struct { const char *path; Method method; const char *route, *first; uint32_t allowed; } cases[] = {
        { "/api/executions", METHOD_POST, "execution_start", "", 0 },
        { "/api/executions/abc", METHOD_GET, "execution", "abc", 0 },
        { "/api/executions/abc/steps", METHOD_GET, "steps", "abc", 0 },
        { "/api/executions/", METHOD_GET, NULL, "", 0 },
        { "/api/secrets/definition/a/b", METHOD_PUT, "secret_set", "definition/a/b", 0 },
        { "/api/secrets/A", METHOD_DELETE, "secret_remove", "A", 0 },
        { "/api/secrets/", METHOD_PUT, NULL, "", 0 },
        { "/api/executions//steps", METHOD_GET, NULL, "", 0 },
        { "/api/executions/abc/steps/x", METHOD_GET, NULL, "", 0 },
        { "/api/executions/abc", METHOD_DELETE, NULL, "", 1u << METHOD_GET },
        { "", METHOD_GET, NULL, "", 0 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Call call = { .method = cases[i].method, .path = str_of(cases[i].path) };
        uint32_t allowed;
        const Route *route = route_find(&call, &allowed);
        ROW(cases[i].path);
        EXPECT_INT(route != NULL, cases[i].route != NULL);
        if (route && cases[i].route) EXPECT_STR(str_of(route->name), str_of(cases[i].route));
        if (route) EXPECT_STR(call.segments[0], str_of(cases[i].first));
        if (!route) EXPECT_INT(allowed, cases[i].allowed);
    }
}
