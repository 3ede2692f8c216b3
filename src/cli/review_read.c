#include "cli/review_read.h"

#include "api/reviews.h"
#include "base/limits.h"
#include "cli/deed.h"
#include "cli/guardrails.h"
#include "cli/server_order.h"

/* --- which there are --------------------------------------------------------------------------------------------------------------- */

static ExitCode list_of_server(const Args *args, Str tenant, Value *out)
{
    ValueList list = { .arena = args->arena };
    Str cursor = STR("");
    do {
        Value answer;
        Str path = arena_format(args->arena, "/api/policies?limit=%u&namespace=%.*s%s%.*s", API_PAGE_COUNT_MAX,
                                STR_ARG(server_word(args->arena, tenant)), cursor.len ? "&cursor=" : "", STR_ARG(cursor));
        ExitCode code = server_order(args, &(ServerCall){ .method = "GET", .path = path }, &answer);
        if (code) return code;
        const Value *items = value_get_text(answer, "items");
        for (uint32_t i = 0; items && i < items->count; i++) value_list_add(&list, items->items[i]);
        cursor = value_get_string(answer, "nextCursor", STR(""));
    } while (cursor.len);
    *out = value_list_array(&list);
    return EXIT_CODE_OK;
}

ExitCode review_list(const Args *args, const Catalog *catalog, Str tenant, Value *out_policies)
{
    Store *store;
    Guard *guard;
    Error err;
    if (server_is_meant(args)) return list_of_server(args, tenant, out_policies);
    ExitCode code = guardrails_open(args, catalog, /* plan= */ NULL, &guard);
    if (code) return code;
    Value policies = guard_describe(guard, args->arena);
    guard_close(guard);
    code = store_open_or_make(args, &store);
    if (code) return code;
    Status status = reviews_add(args->arena, store, tenant, policies, out_policies, &err);
    store_close(store);
    return status ? fail(&err) : EXIT_CODE_OK;
}

/* --- for the checklist --------------------------------------------------------------------------------------------------------------- */

typedef struct Known { Arena *arena; const Value *policies; } Known;

static bool is_reviewed(void *context, Str policy, Str *out_text)
{
    const Known *known = context;
    for (uint32_t i = 0; i < known->policies->count; i++) {
        Value item = known->policies->items[i];
        const Value *reviews = value_get_text(item, "reviews");
        if (str_is(value_get_string(item, "name", STR("")), policy)) return reviews && reviews_stand(known->arena, *reviews, out_text);
    }
    *out_text = STR("not registered there");
    return false;
}

ProductionFacts review_facts(const Args *args, const Value *policies)
{
    Known *known = ARENA_NEW(args->arena, Known);
    Str *everywhere = ARENA_ARRAY(args->arena, Str, policies->count + 1);
    uint32_t count = 0;
    *known = (Known){ args->arena, policies };
    for (uint32_t i = 0; i < policies->count; i++)
        if (value_get_bool(policies->items[i], "everywhere", false)) everywhere[count++] = value_get_string(policies->items[i], "name", STR(""));
    return (ProductionFacts){ .has_place = true, .is_reviewed = is_reviewed, .context = known, .everywhere = everywhere, .everywhere_count = count };
}

/* --- a new one ----------------------------------------------------------------------------------------------------------------------- */

static bool send(Engine *engine, const void *keep) { return engine_keep(engine, keep); }

static ExitCode record_at_server(const Args *args, const ReviewWish *wish)
{
    MemberList body = { .arena = args->arena };
    Value answer;
    if (wish->tenant.len) member_list_add(&body, STR("namespace"), value_string(wish->tenant));
    member_list_add(&body, STR("policy"), value_string(wish->policy));
    member_list_add(&body, STR("digest"), value_string(wish->digest));
    member_list_add(&body, STR("reviewer"), value_string(wish->reviewer));
    member_list_add(&body, STR("verdict"), value_string(wish->verdict));
    if (wish->comment.len) member_list_add(&body, STR("comment"), value_string(wish->comment));
    return server_order(args, &(ServerCall){ .method = "POST", .path = STR("/api/policies/review"), .body = member_list_object(&body) }, &answer);
}

ExitCode review_record(const Args *args, const ReviewWish *wish)
{
    if (server_is_meant(args)) return record_at_server(args, wish);
    Str tenant = wish->tenant.len ? wish->tenant : STR(REVIEW_TENANT_ALL);
    EngineKeep keep;
    Deed deed = { .args = args, .errand = errand_begin(args, "review-policy"), .send = send, .what = &keep };
    keep = (EngineKeep){
        .kind = KEEP_REVIEW, .tenant = tenant, .name = wish->policy, .key = wish->digest, .payload = wish->reviewer, .text = wish->comment,
        .flags = str_is_text(wish->verdict, "approved") ? REVIEW_APPROVED : REVIEW_REJECTED, .reply = deed_reply, .context = &deed,
        .command = { .id = deed.errand.id, .actor = deed.errand.actor, .trace = deed.errand.trace,
                     .value = value_null(), .report.output = value_null() },
    };
    errand_add(&deed.errand, "tenant", value_string(tenant));
    errand_add(&deed.errand, "policy", value_string(wish->policy));
    errand_add(&deed.errand, "digest", value_string(wish->digest));
    errand_add(&deed.errand, "reviewer", value_string(wish->reviewer));
    errand_add(&deed.errand, "verdict", value_string(wish->verdict));
    errand_add(&deed.errand, "comment", value_string(wish->comment));
    ExitCode code = deed_do(&deed);
    return code || !deed.status ? code : problem_report(deed.problem, &deed.error);
}
