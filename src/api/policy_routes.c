/* policy_routes.c - policies that are in force or registered, and what reviewers said of their versions. */
#include <string.h>

#include "api/page.h"
#include "api/reviews.h"
#include "api/routes.h"
#include "base/limits.h"

static Value described(const Call *call)
{
    return call->api->guard ? guard_describe(call->api->guard, (Arena *)&call->arena) : value_array(NULL, 0);
}

void route_policies(Call *call)
{
    Str tenant = api_tenant(call, call_query(call, "namespace"));
    Page page;
    Value items;
    Error err;
    if (!api_may(call, tenant, PROBLEM_NOT_FOUND) || !page_begin(&page, call)) return;
    if (reviews_add(&call->arena, call->api->store, tenant, described(call), &items, &err)) {
        call_error(call, &err);
        return;
    }
    for (uint32_t i = (uint32_t)(page.number < items.count ? page.number : items.count); i < items.count && page_has_room(&page); i++)
        page_add(&page, items.items[i], (Str){ 0 }, i + 1, 0);
    add_member(&page.links, "reviews", api_link(call, "/api/policies/review"));
    page_answer(&page);
}

/* --- reviews, all that there are ------------------------------------------------------------------------------------------------------------ */

/* Of every tenant, or of one and those that count for all. The cursor is a row's key, by lines. */
typedef struct Scan { Page *page; Str only; Cell key[4]; uint32_t seen; bool is_over; } Scan;

static bool take_review(void *context, const Cell *cells, uint32_t count)
{
    Scan *scan = context;
    Arena *arena = &scan->page->call->arena;
    const Cell *row = row_copy(arena, cells, count);
    scan->is_over = scan->only.len && !str_is(row[REVIEWS_tenant].text, scan->only);
    if (scan->is_over) return false;
    scan->key[0] = row[REVIEWS_tenant], scan->key[1] = row[REVIEWS_policy], scan->key[2] = row[REVIEWS_digest], scan->key[3] = row[REVIEWS_reviewer];
    scan->seen++;
    /* Of several tenants; those that count for all are everybody's. */
    bool is_shown = scan->only.len || str_is_text(row[REVIEWS_tenant].text, REVIEW_TENANT_ALL)
                 || api_shows(scan->page->call, scan->page->call->route->verb, row[REVIEWS_tenant].text);
    if (!is_shown) return true;
    if (!page_has_room(scan->page)) return false;
    page_add(scan->page, review_value(arena, row),
             arena_format(arena, "%.*s\n%.*s\n%.*s\n%.*s", STR_ARG(row[REVIEWS_tenant].text), STR_ARG(row[REVIEWS_policy].text),
                          STR_ARG(row[REVIEWS_digest].text), STR_ARG(row[REVIEWS_reviewer].text)), 0, 0);
    return true;
}

static void read_cursor(Scan *scan)
{
    Str text = scan->page->text;
    size_t at = 0;
    for (uint32_t i = 0; i < 4; i++) {
        size_t end = i < 3 ? str_find(text, '\n', at) : text.len;
        scan->key[i] = cell_text(str_slice(text, at < text.len ? at : text.len, end));
        at = end + 1;
    }
}

static bool list_reviews(Scan *scan, Str only)
{
    Call *call = scan->page->call;
    Error err;
    scan->only = only;
    /* A cursor is the client's to send: it leads to no rows but those of the tenant. */
    if (only.len && !str_is(scan->key[0].text, only)) scan->key[0] = cell_text(only), scan->key[1] = scan->key[2] = scan->key[3] = cell_text(STR(""));
    do {
        QueryAsk ask = { .query = QUERY_REVIEWS, .param_count = 4, .row_count_max = scan->page->limit + 1u,
                         .params = { scan->key[0], scan->key[1], scan->key[2], scan->key[3] } };
        scan->seen = 0;
        if (store_select(call->api->store, &ask, take_review, scan, &err)) {
            call_error(call, &err);
            return false;
        }
    } while (scan->seen && !scan->is_over && !scan->page->is_full);
    return true;
}

void route_reviews(Call *call)
{
    Str given = call_query(call, "namespace"), tenant = api_tenant(call, given);
    bool is_of_all = !given.len && str_is_text(call->caller.tenant, REVIEW_TENANT_ALL);
    Page page;
    Scan scan = { .page = &page };
    if (!api_may(call, is_of_all ? call->caller.tenant : tenant, PROBLEM_NOT_FOUND) || !page_begin(&page, call)) return;
    read_cursor(&scan);
    bool is_behind = str_is(scan.key[0].text, tenant);         /* those that count for all were told before */
    if (is_of_all) {
        if (!list_reviews(&scan, STR(""))) return;
    } else {
        if (!is_behind && !list_reviews(&scan, STR(REVIEW_TENANT_ALL))) return;
        if (!page.is_full && !list_reviews(&scan, tenant)) return;
    }
    add_member(&page.links, "policies", api_link(call, "/api/policies"));
    page_answer(&page);
}

/* --- a new one ------------------------------------------------------------------------------------------------------------------------------- */

/* Only what is there can have been read: a version that was replaced meanwhile is reviewed anew. False after answering. */
static bool check_version(Call *call, Str policy, Str digest)
{
    Value policies = described(call);
    for (uint32_t i = 0; i < policies.count; i++) {
        Str now = value_get_string(policies.items[i], "digest", STR(""));
        if (!str_is(value_get_string(policies.items[i], "name", STR("")), policy)) continue;
        if (str_is(now, digest)) return true;
        if (now.len)
            call_problem(call, PROBLEM_CONFLICT, "the version of policy '%.*s' that is in force is %.*s: read that",
                         STR_ARG(policy), STR_ARG(now));
        else call_problem(call, PROBLEM_CONFLICT, "policy '%.*s' cannot be used here: %.*s", STR_ARG(policy),
                          STR_ARG(value_get_string(policies.items[i], "unusable", STR(""))));
        return false;
    }
    call_problem(call, PROBLEM_NOT_FOUND, "there is no policy '%.*s'", STR_ARG(policy));
    return false;
}

typedef struct Reviewing { Str tenant, policy, digest, reviewer; } Reviewing;

/* What was committed is answered as it is in the store. */
static void reviewed(Call *call, const BridgeAnswer *answer)
{
    const Reviewing *reviewing = call->state;
    Value reviews;
    Error err;
    (void)answer;
    store_renew(call->api->store);
    if (reviews_find(&call->arena, call->api->store, reviewing->tenant, reviewing->policy, reviewing->digest, &reviews, &err)) {
        call_error(call, &err);
        return;
    }
    for (uint32_t i = reviews.count; i; i--)
        if (str_is(value_get_string(reviews.items[i - 1], "reviewer", STR("")), reviewing->reviewer)
            && str_is(value_get_string(reviews.items[i - 1], "namespace", STR("")), reviewing->tenant)) {
            call_value(call, 201, reviews.items[i - 1]);
            return;
        }
    call_problem(call, PROBLEM_CORRUPT, "the review that was recorded is not there");
}

void route_review_create(Call *call)
{
    static const BodyMember known[] = { { "namespace", VALUE_STRING, false }, { "policy", VALUE_STRING, true }, { "digest", VALUE_STRING, true },
                                        { "reviewer", VALUE_STRING, true }, { "verdict", VALUE_STRING, true }, { "comment", VALUE_STRING, false } };
    MemberList members = { .arena = &call->arena };
    Value body;
    if (!call_read_json(call, &body) || !body_check(call, body, known, sizeof known / sizeof *known)) return;
    Str given = value_get_string(body, "namespace", STR("")), verdict = value_get_string(body, "verdict", STR(""));
    Reviewing *reviewing = ARENA_NEW(&call->arena, Reviewing);
    *reviewing = (Reviewing){ .tenant = given.len ? given : call->caller.tenant,
                              .policy = value_get_string(body, "policy", STR("")),
                              .digest = value_get_string(body, "digest", STR("")),
                              .reviewer = str_trim(value_get_string(body, "reviewer", STR(""))) };
    if (!api_may(call, reviewing->tenant, PROBLEM_NOT_FOUND)) return;
    if (!reviewing->reviewer.len || reviewing->reviewer.len > NAME_SIZE_MAX || memchr(reviewing->reviewer.ptr, '\n', reviewing->reviewer.len)) {
        (void)body_refuse(call, "reviewer", "is the name of who has reviewed it, of at most 128 bytes");
        return;
    }
    if (!str_is_text(verdict, "approved") && !str_is_text(verdict, "rejected")) {
        (void)body_refuse(call, "verdict", "is one of approved, rejected");
        return;
    }
    if (value_get_string(body, "comment", STR("")).len > TEXT_SIZE_MAX) {
        call_problem(call, PROBLEM_LIMIT, "'comment' has more than TEXT_SIZE_MAX (%u) bytes", TEXT_SIZE_MAX);
        return;
    }
    if (!check_version(call, reviewing->policy, reviewing->digest)) return;
    call->state = reviewing;
    add_member(&members, "tenant", value_string(reviewing->tenant));
    add_member(&members, "policy", value_string(reviewing->policy));
    add_member(&members, "digest", value_string(reviewing->digest));
    add_member(&members, "reviewer", value_string(reviewing->reviewer));
    add_member(&members, "verdict", value_string(verdict));
    if (value_get_text(body, "comment")) add_member(&members, "comment", *value_get_text(body, "comment"));
    api_petition(call, &members, "review-policy", reviewed);
}
