#include "api/access.h"

#include <stdlib.h>
#include <string.h>

#include "api/access_policy.h"
#include "api/key.h"
#include "base/check.h"
#include "base/limits.h"
#include "policy/policy.h"

#define MEMORY_COUNT 256u           /* answers of the built-in policy that are remembered */

typedef struct Remembered { const char *verb; Str role; bool is_allowed; } Remembered;

struct Access {
    Policy *policy;
    Arena scratch;
    bool is_built_in;
    Remembered memory[MEMORY_COUNT];
    uint32_t memory_count;
    uint64_t allowed, denied;
};

Status access_open(const char *path, Access **out_access, Error *err)
{
    Access *access = calloc(1, sizeof *access);
    Arena arena;
    PolicySet set;
    Status status = OK;
    CHECK(access);
    arena_init(&arena, SIZE_MAX);
    arena_init(&access->scratch, SIZE_MAX);
    policy_set_init(&set, &arena);
    access->is_built_in = !path;
    if (path) status = policy_add_path(&set, path, err);
    else policy_set_add(&set, STR("access.rego"), STR(ACCESS_POLICY));
    if (!status) status = policy_make(&set, &(PolicyOptions){ STR("access"), HOOKS_ALL }, &access->policy, err);
    if (!status && !policy_has_allow(access->policy))
        status = error_set(err, ERR_INVALID, "%s: no package at or below 'maestro' has a rule 'allow': without one every key may do all that 'deny' "
                           "does not name", path);
    arena_deinit(&arena);
    if (status) access_close(access);
    else *out_access = access;
    return status;
}

void access_close(Access *access)
{
    if (!access) return;
    policy_free(access->policy);
    arena_deinit(&access->scratch);
    free(access);
}

static Value input_of(Arena *arena, const Caller *who, Str address, const char *verb, Str tenant)
{
    MemberList caller = { .arena = arena }, input = { .arena = arena };
    member_list_add(&caller, STR("key"), value_string(who->key));
    member_list_add(&caller, STR("role"), value_string(who->role));
    member_list_add(&caller, STR("tenant"), value_string(who->tenant));
    if (who->run.len) member_list_add(&caller, STR("run"), value_string(who->run));
    member_list_add(&input, STR("verb"), value_string(str_of(verb)));
    member_list_add(&input, STR("tenant"), value_string(tenant));
    member_list_add(&input, STR("caller"), member_list_object(&caller));
    member_list_add(&input, STR("address"), value_string(address));
    return member_list_object(&input);
}

static const Remembered *remembered(const Access *access, const Call *call, const char *verb)
{
    for (uint32_t i = 0; access->is_built_in && i < access->memory_count; i++)
        if (strcmp(access->memory[i].verb, verb) == 0 && str_is(access->memory[i].role, call->caller.role)) return &access->memory[i];
    return NULL;
}

static bool ask(Access *access, Call *call, const char *verb, Str tenant, Denial *out_denial)
{
    const Remembered *known = remembered(access, call, verb);
    bool is_allowed = known && known->is_allowed;
    if (!is_allowed) {
        PolicyMoment moment = { .scratch = &access->scratch, .now_ms = call->now_ms };
        PolicyAnswer answer = policy_answer(access->policy, input_of(&call->arena, &call->caller, call->source, verb, tenant), &moment,
                                            &call->arena, &out_denial->why);
        is_allowed = answer == POLICY_PERMITS;
        out_denial->told = out_denial->why;
        if (answer == POLICY_UNCLEAR) out_denial->told = STR("the access policy of this server gives no clear answer; its log says why");
        /* A role is one of a few constant texts, a verb a constant of the program. */
        if (!known && access->is_built_in && access->memory_count < MEMORY_COUNT)
            access->memory[access->memory_count++] = (Remembered){ verb, call->caller.role, is_allowed };
    }
    return is_allowed;
}

Status access_try(Access *access, Error *err)
{
    static const char *const verbs[] = { "root.read", "execution.read", "execution.start", "workflow.create", "executor.exchange", "key.create" };
    Status status = OK;
    Arena arena;
    arena_init(&arena, SIZE_MAX);
    for (size_t i = 0; !status && key_role_names[i]; i++)
        for (size_t v = 0; !status && v < sizeof verbs / sizeof *verbs; v++) {
            PolicyMoment moment = { .scratch = &access->scratch };
            Caller caller = { .key = STR("AAAAAAAA"), .role = str_of(key_role_names[i]), .tenant = STR("default") };
            Value input = input_of(&arena, &caller, STR("127.0.0.1"), verbs[v], caller.tenant);
            Str why;
            if (policy_answer(access->policy, input, &moment, &arena, &why) == POLICY_UNCLEAR)
                status = error_set(err, ERR_INVALID, "the access policy gives no clear answer, for one, to the role %s about %s: %.*s",
                                   key_role_names[i], verbs[v], STR_ARG(why));
        }
    arena_deinit(&arena);
    return status;
}

bool access_permits(Access *access, Call *call, const char *verb, Str tenant, Denial *out_denial)
{
    bool is_allowed = ask(access, call, verb, tenant, out_denial);
    *(is_allowed ? &access->allowed : &access->denied) += 1;
    return is_allowed;
}

/* A list has many things of one tenant, and a policy that was given may look at the tenant and the address. */
bool access_shows(Access *access, Call *call, const char *verb, Str tenant)
{
    const Remembered *known = remembered(access, call, verb);
    Denial denial;
    if (known) return known->is_allowed;
    for (const CallShown *shown = call->shown; shown; shown = shown->next)
        if (strcmp(shown->verb, verb) == 0 && str_is(shown->tenant, tenant)) return shown->is_shown;
    CallShown *shown = ARENA_NEW(&call->arena, CallShown);
    *shown = (CallShown){ call->shown, verb, arena_copy(&call->arena, tenant), ask(access, call, verb, tenant, &denial) };
    call->shown = shown;
    return shown->is_shown;
}

bool access_is_built_in(const Access *access) { return access->is_built_in; }

uint64_t access_count(const Access *access, bool is_denial) { return is_denial ? access->denied : access->allowed; }
