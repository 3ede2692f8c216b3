/* secret_routes.c - secrets of tenants over the API: set, listed by name, removed; and tokens of triggers, which are made of a tenant's
 * key. No answer has the value of a secret. */
#include <sodium.h>

#include "api/page.h"
#include "api/plan_facts.h"
#include "api/routes.h"
#include "api/seal_wish.h"
#include "base/limits.h"
#include "view/revision_row.h"

static Value secret_value(Call *call, const Cell *row)
{
    MemberList members = { .arena = &call->arena }, links = { .arena = &call->arena };
    add_member(&members, "namespace", cell_value(&row[SECRETS_tenant]));
    add_member(&members, "name", cell_value(&row[SECRETS_name]));
    add_member(&members, "createdAt", cell_time(&call->arena, &row[SECRETS_created_ms]));
    add_member(&members, "createdBy", cell_value(&row[SECRETS_created_by]));
    add_member(&members, "updatedAt", cell_time(&call->arena, &row[SECRETS_updated_ms]));
    add_member(&members, "updatedBy", cell_value(&row[SECRETS_updated_by]));
    Value self = api_link(call, "/api/secrets/%.*s?namespace=%.*s", STR_ARG(row[SECRETS_name].text),
                          STR_ARG(api_escape(call, row[SECRETS_tenant].text)));
    if (api_shows(call, "secret.set", row[SECRETS_tenant].text)) add_member(&links, "set", self);
    if (api_shows(call, "secret.remove", row[SECRETS_tenant].text)) add_member(&links, "remove", self);
    add_member(&members, "_links", member_list_object(&links));
    return member_list_object(&members);
}

/* --- which there are ---------------------------------------------------------------------------------------------------------------------- */

typedef struct Listing { Page page; Str last; uint32_t seen; } Listing;

static bool take_secret(void *context, const Cell *cells, uint32_t count)
{
    Listing *listing = context;
    Call *call = listing->page.call;
    (void)count;
    listing->seen++;
    listing->last = arena_copy(&call->arena, cells[SECRETS_name].text);
    if (str_starts(listing->last, STR(KEY_SECRET_PREFIX))) {                    /* /api/keys has them, and there may be many */
        listing->last = STR(KEY_SECRET_PREFIX "~");                             /* behind all of them */
        return false;
    }
    if (!page_has_room(&listing->page)) return false;
    page_add(&listing->page, secret_value(call, row_copy(&call->arena, cells, count)), listing->last, 0, 0);
    return true;
}

void route_secrets(Call *call)
{
    Str tenant = api_tenant(call, call_query(call, "namespace"));
    Listing listing = { 0 };
    Error err;
    Status status;
    if (!api_may(call, tenant, PROBLEM_NOT_FOUND) || !page_begin(&listing.page, call)) return;
    listing.last = listing.page.text;
    do {
        QueryAsk ask = { .query = QUERY_SECRETS_OF_TENANT, .params = { cell_text(tenant), cell_text(listing.last) }, .param_count = 2 };
        if (!listing.last.len) ask.params[1] = cell_text(STR(""));
        listing.seen = 0;
        status = store_select(call->api->store, &ask, take_secret, &listing, &err);
    } while (!status && listing.seen && !listing.page.is_full);
    if (status) call_error(call, &err);
    else page_answer(&listing.page);
}

/* --- set ---------------------------------------------------------------------------------------------------------------------------------- */

static void answer_secret(Call *call)
{
    const SealWish *wish = call->state;
    const Cell *row = NULL;
    Error err;
    QueryAsk ask = { .query = QUERY_SECRET, .params = { cell_text(wish->tenant), cell_text(wish->name) }, .param_count = 2 };
    if (row_select(&call->arena, call->api->store, &ask, &row, &err)) call_error(call, &err);
    else if (row) call_value(call, 200, secret_value(call, row));
    else call_problem(call, PROBLEM_CONFLICT, "the secret was removed at the same time");
}

static void set(Call *call, const BridgeAnswer *answer)
{
    (void)answer;
    answer_secret(call);
}

/* What is sealed twice differs: whether a request is the same as before, the value that is stored says. */
static bool not_set(Call *call, const BridgeAnswer *answer)
{
    const SealWish *wish = call->state;
    Str stored;
    Error err;
    if (answer->is_stale) {
        call_problem_fields(call, PROBLEM_PRECONDITION, str_of(answer->error.text), NULL, 0);
        return true;
    }
    if (!answer->is_other_request || vault_secret(call->api->triggers.vault, wish->tenant, wish->name, &stored, &err)) return false;
    if (stored.len != wish->value.len || sodium_memcmp(stored.ptr, wish->value.ptr, stored.len)) return false;
    answer_secret(call);
    return true;
}

/* False after answering. */
static bool read_name(Call *call, Str *out_name)
{
    Error err;
    *out_name = call->segments[0];
    Status status = secret_check_name(*out_name, &err);
    if (!status) status = key_check_other_secret(*out_name, &err);
    if (status) call_error(call, &err);
    return !status;
}

void route_secret_set(Call *call)
{
    static const BodyMember known[] = { { "value", VALUE_STRING, true, .is_raw = true }, { "reason", VALUE_STRING, false } };
    Str tenant = api_tenant(call, call_query(call, "namespace"));
    Value body;
    Error err;
    SealWish *wish = ARENA_NEW(&call->arena, SealWish);
    if (!api_may(call, tenant, PROBLEM_NOT_FOUND) || !read_name(call, &wish->name) || !call_read_json(call, &body)
        || !body_check(call, body, known, sizeof known / sizeof *known))
        return;
    wish->tenant = tenant;
    wish->value = value_get_string(body, "value", STR(""));
    wish->reason = value_get_string(body, "reason", STR(""));
    wish->is_new = call_has_header(call, "If-None-Match");      /* it is "*" */
    wish->done = set;
    wish->refused = not_set;
    if (secret_check_value(wish->value, &err)) body_error(call, "value", &err);
    else seal_wish_send(call, wish);
}

/* --- removed ------------------------------------------------------------------------------------------------------------------------------ */

static void removed(Call *call, const BridgeAnswer *answer)
{
    (void)answer;
    call_empty(call, 204);
}

void route_secret_remove(Call *call)
{
    SealWish *wish = ARENA_NEW(&call->arena, SealWish);
    wish->tenant = api_tenant(call, call_query(call, "namespace"));
    wish->reason = call_query(call, "reason");
    wish->done = removed;
    if (api_may(call, wish->tenant, PROBLEM_NOT_FOUND) && read_name(call, &wish->name)) seal_wish_remove(call, wish);
}

/* --- tokens of triggers ------------------------------------------------------------------------------------------------------------------- */

/* What the token is for, as the answer says it. */
typedef struct TokenWish { Str bound, trigger, shown; } TokenWish;

static void answer_token(Call *call, const BridgeAnswer *answer)
{
    const SealWish *wish = call->state;
    const TokenWish *wanted = wish->state;
    MemberList members = { .arena = &call->arena };
    TriggerToken token;
    Error err;
    (void)answer;
    if (vault_token(call->api->triggers.vault, wish->tenant, wanted->bound, wanted->trigger, &token, &err)) {
        call_error(call, &err);
        return;
    }
    add_member(&members, "trigger", value_string(wanted->shown));
    add_member(&members, "token", value_string(arena_copy(&call->arena, str_of(token.text))));
    call_add_header(call, "Cache-Control", STR("no-store"));
    call_value(call, 200, member_list_object(&members));
    sodium_memzero(&token, sizeof token);
}

/* A token is made of the tenant's key: a tenant that has none yet gets it first. */
static void make_token(Call *call, Str tenant, const TokenWish *wanted)
{
    SealWish *wish = ARENA_NEW(&call->arena, SealWish);
    TokenWish *kept = ARENA_NEW(&call->arena, TokenWish);
    *kept = *wanted;
    *wish = (SealWish){ .tenant = tenant, .name = STR(""), .value = STR(""), .done = answer_token, .state = kept };
    seal_wish_send(call, wish);
}

static bool read_trigger(Call *call, Str *out_trigger)
{
    static const BodyMember known[] = { { "trigger", VALUE_STRING, true } };
    Value body;
    if (!call_read_json(call, &body) || !body_check(call, body, known, 1)) return false;
    *out_trigger = value_get_string(body, "trigger", STR(""));
    return true;
}

void route_execution_token(Call *call)
{
    const Cell *row;
    const Plan *plan;
    PlanFact fact;
    Str trigger;
    Error err;
    if (!api_execution(call, &row) || !read_trigger(call, &trigger)) return;
    Status status = run_is_here(row, &err);
    Digest digest = cell_digest(&row[RUNS_plan_digest]);
    bool is_known = plan_facts_find(call->api->facts, &digest, trigger, &fact) && fact.takes_token;
    if (!status && !is_known) status = api_plan(call->api, &digest, &plan, &err);
    if (!status && !is_known) status = trigger_check_bearer(plan, row[RUNS_id].text, trigger, &err);
    if (status) call_error(call, &err);
    else make_token(call, row[RUNS_tenant].text, &(TokenWish){ row[RUNS_id].text, trigger, trigger });
}

/* Of a webhook of the active revision: no other is taken. */
void route_workflow_token(Call *call)
{
    Str tenant = call->segments[0], trigger;
    const Cell *revision;
    Value triggers;
    Error err;
    if (!api_may(call, tenant, PROBLEM_WORKFLOW_NOT_FOUND) || !read_trigger(call, &trigger)
        || !revision_to_start(call, tenant, call->segments[1], /* version= */ 0, &revision)) return;
    Status status = revision_row_triggers(&call->arena, revision, &triggers, &err);
    if (!status) status = trigger_check_webhook(triggers, call->segments[1], trigger, &err);
    if (status) {
        call_error(call, &err);
        return;
    }
    make_token(call, tenant, &(TokenWish){ trigger_workflow_bound(&call->arena, call->segments[1]),
                                           trigger_webhook_name(&call->arena, trigger), trigger });
}
