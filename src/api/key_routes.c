/* key_routes.c - API keys over the API: made, listed, shown, revoked. A key is in the answer that made it and nowhere else. */
#include "api/aside.h"
#include "api/key_list.h"
#include "api/page.h"
#include "api/routes.h"
#include "api/seal_wish.h"
#include "base/civil.h"
#include "base/limits.h"

/* As it is written in a key; "*" everywhere else. */
static Str tenant_meant(Str given) { return str_is_text(given, KEY_TENANT_ALL) ? STR("*") : given; }

static Str tenant_named(Call *call, Str tenant) { return api_escape(call, str_is_text(tenant, "*") ? STR(KEY_TENANT_ALL) : tenant); }

static Value time_of(Call *call, int64_t ms)
{
    Cell cell = ms ? cell_int(ms) : cell_null();
    return cell_time(&call->arena, &cell);
}

static Value key_value(Call *call, const KeyRow *row, Str key)
{
    MemberList members = { .arena = &call->arena }, links = { .arena = &call->arena };
    add_member(&members, "id", value_string(row->id));
    add_member(&members, "namespace", value_string(row->tenant));
    add_member(&members, "role", value_string(str_of(key_role_names[row->facts.role])));
    add_member(&members, "executors", row->facts.limits.executors);
    add_member(&members, "queues", row->facts.limits.queues);
    add_member(&members, "expiresAt", time_of(call, row->facts.expires_ms));
    add_member(&members, "lastUsedAt", time_of(call, row->used_ms));
    add_member(&members, "createdAt", time_of(call, row->created_ms));
    add_member(&members, "createdBy", value_string(row->created_by));
    if (key.len) add_member(&members, "key", value_string(key));
    Value self = api_link(call, "/api/keys/%.*s?namespace=%.*s", STR_ARG(row->id), STR_ARG(tenant_named(call, row->tenant)));
    add_member(&links, "self", self);
    if (api_shows(call, "key.revoke", row->tenant)) add_member(&links, "revoke", self);
    add_member(&members, "_links", member_list_object(&links));
    return member_list_object(&members);
}

/* --- which there are ---------------------------------------------------------------------------------------------------------------------- */

static bool read_cursor(const Page *page, KeyAsk *ask)
{
    if (!page->has_cursor) return true;
    if (page->text.len <= KEY_ID_SIZE) {
        call_problem(page->call, PROBLEM_INVALID, "'cursor' of the query is none of this list; use 'nextCursor' of its last answer");
        return false;
    }
    ask->after_tenant = str_slice(page->text, 0, page->text.len - KEY_ID_SIZE);
    ask->after_id = str_slice(page->text, page->text.len - KEY_ID_SIZE, page->text.len);
    return true;
}

/* Of keys of several tenants those that the caller may see. */
static void keep_shown(Call *call, KeyRows *rows)
{
    size_t count = 0;
    for (size_t i = 0; i < rows->count; i++)
        if (api_shows(call, call->route->verb, rows->rows[i].tenant)) rows->rows[count++] = rows->rows[i];
    rows->count = count;
}

void route_keys(Call *call)
{
    Str given = tenant_meant(call_query(call, "namespace"));
    bool is_of_all = !given.len && str_is_text(call->caller.tenant, "*");
    KeyAsk ask = { .tenant = is_of_all ? STR("") : given.len ? given : call->caller.tenant };
    KeyRows rows;
    Page page;
    Error err;
    bool is_going_on;
    if (!api_may(call, given.len ? given : call->caller.tenant, PROBLEM_NOT_FOUND) || !page_begin(&page, call)
        || !read_cursor(&page, &ask))
        return;
    /* A cursor is the client's to send: it leads to no keys but those of the tenant. */
    if (ask.tenant.len && ask.after_id.len) ask.after_tenant = ask.tenant;
    ask.count_max = page.limit + 1u;
    do {
        Status status = key_rows_find(&call->arena, call->api->store, &ask, &rows, &err);
        size_t found_count = rows.count;
        if (!status && found_count) ask.after_tenant = rows.rows[found_count - 1].tenant, ask.after_id = rows.rows[found_count - 1].id;
        if (!status) keep_shown(call, &rows);
        if (!status) status = key_rows_open(&call->arena, call->api->store, call->api->triggers.vault, &rows, &err);
        if (status) {
            call_error(call, &err);
            return;
        }
        for (size_t i = 0; i < rows.count && page_has_room(&page); i++) {
            const KeyRow *row = &rows.rows[i];
            page_add(&page, key_value(call, row, STR("")), arena_format(&call->arena, "%.*s%.*s", STR_ARG(row->tenant), STR_ARG(row->id)), 0, 0);
        }
        is_going_on = found_count == ask.count_max && !page.is_full;
    } while (is_going_on);
    page_answer(&page);
}

/* --- one of them --------------------------------------------------------------------------------------------------------------------------- */

static void refuse_unknown(Call *call) { call_problem(call, PROBLEM_NOT_FOUND, "there is no key '%.*s'", STR_ARG(call->segments[0])); }

/* The one of that id, of a tenant or (empty) of any that the caller has. NULL: there is none. False after answering. */
static bool find_key(Call *call, Str tenant, KeyRow **out)
{
    KeyRows rows;
    Error err;
    Str id = call->segments[0];
    KeyAsk ask = { .tenant = tenant.len || str_is_text(call->caller.tenant, "*") ? tenant : call->caller.tenant, .id = id };
    *out = NULL;
    if (id.len != KEY_ID_SIZE) return true;
    if (key_rows_find(&call->arena, call->api->store, &ask, &rows, &err)) {
        call_error(call, &err);
        return false;
    }
    if (rows.count) *out = &rows.rows[rows.count - 1];
    return true;
}

/* Whether another tenant has it is for the ledger alone. All of them are looked at, and beside the server's thread: nobody waits for that, and how
 * long it takes tells nothing. */
static void look_elsewhere(Call *copy)
{
    KeyRows rows;
    Error err;
    if (copy->segments[0].len != KEY_ID_SIZE) return;
    if (key_rows_find(&copy->arena, copy->api->store, &(KeyAsk){ .id = copy->segments[0] }, &rows, &err)) call_error(copy, &err);
    else if (rows.count) api_refuse_foreign(copy, rows.rows[0].tenant);
}

/* `done` finds it as the call's state; NULL: there is none of the caller's. */
static void find_or_tell(Call *call, Str tenant, AsideDone done)
{
    KeyRow *row;
    if (!find_key(call, tenant, &row)) return;
    call->state = row;
    if (row || tenant.len || str_is_text(call->caller.tenant, "*")) done(call, NULL);
    else aside_begin(call, look_elsewhere, done);
}

static void take_refusal(Call *call, const Call *copy)
{
    if (copy && copy->refused.len) call_refuse(call, copy->refused_tenant, copy->refused);
}

static void show(Call *call, Call *copy)
{
    KeyRow *row = call->state;
    Error err;
    take_refusal(call, copy);
    if (!row) {
        refuse_unknown(call);
        return;
    }
    if (key_rows_open(&call->arena, call->api->store, call->api->triggers.vault, &(KeyRows){ .rows = row, .count = 1 }, &err)) call_error(call, &err);
    else if (api_may(call, row->tenant, PROBLEM_NOT_FOUND)) call_value(call, 200, key_value(call, row, STR("")));
}

void route_key(Call *call)
{
    Str tenant = tenant_meant(call_query(call, "namespace"));
    if (api_may(call, tenant.len ? tenant : call->caller.tenant, PROBLEM_NOT_FOUND)) find_or_tell(call, tenant, show);
}

/* --- a new one ---------------------------------------------------------------------------------------------------------------------------- */

typedef struct Making { KeyRow row; Str key; } Making;

static void made(Call *call, const BridgeAnswer *answer)
{
    const Making *making = ((SealWish *)call->state)->state;
    (void)answer;
    call_add_header(call, "Cache-Control", STR("no-store"));
    call_add_header(call, "Location", arena_format(&call->arena, "/api/keys/%.*s?namespace=%.*s", STR_ARG(making->row.id),
                                                   STR_ARG(tenant_named(call, making->row.tenant))));
    call_value(call, 201, key_value(call, &making->row, making->key));
}

static bool not_made(Call *call, const BridgeAnswer *answer)
{
    if (!answer->is_other_request) return false;
    call_problem(call, PROBLEM_REQUEST_KEY, "a request with this Idempotency-Key was answered before, and a key is shown once: if it is lost, "
                 "revoke it and make another with another Idempotency-Key");
    return true;
}

/* False after answering. */
static bool read_facts(Call *call, Value body, KeyFacts *out)
{
    const Value *end = value_get_text(body, "expiresAt");
    const char *member;
    Error err;
    if (!key_role_find(value_get_string(body, "role", STR("")), &out->role))
        return body_refuse(call, "role", "is one of viewer, operator, author, admin, worker");
    out->limits = key_limits_of(body);
    if (key_limits_check(&out->limits, out->role == ROLE_WORKER, &member, &err))
        return body_refuse(call, member, "%s", err.text);
    if (!end || end->kind == VALUE_NULL) return true;
    if (end->kind != VALUE_STRING || !civil_read_time(value_text(*end), &out->expires_ms))
        return body_refuse(call, "expiresAt", "is a time such as 2027-01-31T00:00:00Z, or null");
    return out->expires_ms > call->now_ms || body_refuse(call, "expiresAt", "has to lie ahead");
}

/* Nobody makes more of himself: that is not up to a policy. False after answering. */
static bool may_make(Call *call, Str tenant, KeyRole role)
{
    bool is_limited = key_limits_are_some(&call->caller.limits);
    if (key_role_may_make(call->caller.role, role) && !is_limited) return true;
    Str why = is_limited ? STR("a key that is limited to executors or queues makes no others")
                         : arena_format(&call->arena, "the role %.*s makes no key of the role %s", STR_ARG(call->caller.role), key_role_names[role]);
    call_refuse(call, tenant, why);
    call_problem_fields(call, PROBLEM_DENIED, why, NULL, 0);
    return false;
}

void route_key_create(Call *call)
{
    static const BodyMember known[] = { { "namespace", VALUE_STRING, false }, { "role", VALUE_STRING, true },
                                        { "executors", VALUE_NULL, false },
                                        { "queues", VALUE_NULL, false }, { "expiresAt", VALUE_NULL, false }, { "reason", VALUE_STRING, false } };
    Value body;
    Error err;
    if (!call_read_json(call, &body) || !body_check(call, body, known, sizeof known / sizeof *known)) return;
    Str tenant = api_tenant(call, tenant_meant(value_get_string(body, "namespace", STR("")))), document;
    Making *making = ARENA_NEW(&call->arena, Making);
    SealWish *wish = ARENA_NEW(&call->arena, SealWish);
    KeyFacts *facts = &making->row.facts;
    if (!api_may(call, tenant, PROBLEM_NOT_FOUND) || !read_facts(call, body, facts) || !may_make(call, tenant, facts->role)) return;
    if (key_check_tenant(tenant, &err)) {
        (void)body_refuse(call, "namespace",
                          "is no name of a tenant: as in definitions these have letters, digits, _ and -, the last not at the beginning");
        return;
    }
    making->row.tenant = tenant;
    making->row.created_ms = call->now_ms;
    making->row.created_by = call->caller.actor;
    key_make(&call->arena, tenant, facts, &making->row.id, &making->key, &document);
    *wish = (SealWish){ .tenant = tenant, .name = key_secret_name(&call->arena, making->row.id), .value = document,
                        .reason = value_get_string(body, "reason", STR("")), .done = made, .refused = not_made, .state = making };
    seal_wish_send(call, wish);
}

/* --- revoked ------------------------------------------------------------------------------------------------------------------------------ */

static void revoked(Call *call, const BridgeAnswer *answer)
{
    (void)answer;
    call_empty(call, 204);
}

static bool not_revoked(Call *call, const BridgeAnswer *answer)
{
    if (answer->status != ERR_NOT_FOUND) return false;
    refuse_unknown(call);
    return true;
}

/* One that is not there is asked of the engine all the same: it knows requests that come again. */
static void revoke(Call *call, Call *copy)
{
    Str id = call->segments[0], tenant = tenant_meant(call_query(call, "namespace"));
    const KeyRow *row = call->state;
    Error err;
    take_refusal(call, copy);
    if (row && !api_may(call, row->tenant, PROBLEM_NOT_FOUND)) return;
    SealWish *wish = ARENA_NEW(&call->arena, SealWish);
    *wish = (SealWish){ .tenant = tenant.len ? tenant : row ? row->tenant : call->caller.tenant, .name = key_secret_name(&call->arena, id),
                        .reason = call_query(call, "reason"), .done = revoked, .refused = not_revoked };
    if (id.len != KEY_ID_SIZE || secret_check_name(wish->name, &err)) refuse_unknown(call);
    else seal_wish_remove(call, wish);
}

void route_key_revoke(Call *call)
{
    Str tenant = tenant_meant(call_query(call, "namespace"));
    if (!api_may(call, tenant.len ? tenant : call->caller.tenant, PROBLEM_NOT_FOUND)) return;
    if (tenant.len) revoke(call, NULL);
    else find_or_tell(call, tenant, revoke);
}
