#include "api/reviews.h"

#include "view/run_rows.h"

static void add(MemberList *members, const char *name, Value value) { member_list_add(members, str_of(name), value); }

Value review_value(Arena *arena, const Cell *row)
{
    MemberList members = { .arena = arena };
    add(&members, "namespace", cell_value(&row[REVIEWS_tenant]));
    add(&members, "policy", cell_value(&row[REVIEWS_policy]));
    add(&members, "digest", cell_value(&row[REVIEWS_digest]));
    add(&members, "reviewer", cell_value(&row[REVIEWS_reviewer]));
    add(&members, "verdict", cell_value(&row[REVIEWS_verdict]));
    add(&members, "comment", cell_value(&row[REVIEWS_comment]));
    add(&members, "createdAt", cell_time(arena, &row[REVIEWS_created_ms]));
    add(&members, "createdBy", cell_value(&row[REVIEWS_created_by]));
    return member_list_object(&members);
}

/* --- of one version ----------------------------------------------------------------------------------------------------------------------- */

typedef struct Scan { Arena *arena; ValueList list; Cell key[4]; uint32_t seen; bool is_over; } Scan;

static bool take_review(void *context, const Cell *cells, uint32_t count)
{
    Scan *scan = context;
    const Cell *row = row_copy(scan->arena, cells, count);
    for (uint32_t i = 0; i < 3; i++) scan->is_over |= !str_is(row[i].text, scan->key[i].text);
    if (scan->is_over) return false;
    scan->key[3] = row[REVIEWS_reviewer];
    scan->seen++;
    value_list_add(&scan->list, review_value(scan->arena, row));
    return true;
}

static Status find_of(Scan *scan, Store *store, Error *err)
{
    Status status;
    do {
        QueryAsk ask = { .query = QUERY_REVIEWS, .param_count = 4, .params = { scan->key[0], scan->key[1], scan->key[2], scan->key[3] } };
        scan->seen = 0;
        status = store_select(store, &ask, take_review, scan, err);
    } while (!status && scan->seen && !scan->is_over);
    return status;
}

Status reviews_find(Arena *arena, Store *store, Str tenant, Str policy, Str digest, Value *out_reviews, Error *err)
{
    Scan scan = { .arena = arena, .list.arena = arena };
    const Str tenants[] = { STR(REVIEW_TENANT_ALL), tenant };
    Status status = OK;
    for (uint32_t i = 0; !status && i < 2; i++) {
        if (i && str_is(tenant, tenants[0])) break;
        scan.is_over = false;
        scan.key[0] = cell_text(tenants[i]), scan.key[1] = cell_text(policy), scan.key[2] = cell_text(digest), scan.key[3] = cell_text(STR(""));
        status = find_of(&scan, store, err);
    }
    *out_reviews = value_list_array(&scan.list);
    return status;
}

Status reviews_add(Arena *arena, Store *store, Str tenant, Value policies, Value *out_policies, Error *err)
{
    ValueList list = { .arena = arena };
    for (uint32_t i = 0; i < policies.count; i++) {
        Value policy = policies.items[i], reviews;
        MemberList members = { .arena = arena };
        Status status = reviews_find(arena, store, tenant, value_get_string(policy, "name", STR("")), value_get_string(policy, "digest", STR("")),
                                     &reviews, err);
        if (status) return status;
        for (uint32_t k = 0; k < policy.count; k++) member_list_add(&members, value_text(policy.members[k].key), policy.members[k].value);
        add(&members, "reviews", reviews);
        value_list_add(&list, member_list_object(&members));
    }
    *out_policies = value_list_array(&list);
    return OK;
}

bool reviews_stand(Arena *arena, Value reviews, Str *out_text)
{
    Buf approved, rejected;
    buf_init(&approved, SIZE_MAX);
    buf_init(&rejected, SIZE_MAX);
    for (uint32_t i = 0; i < reviews.count; i++) {
        bool is_approval = str_is_text(value_get_string(reviews.items[i], "verdict", STR("")), "approved");
        Buf *names = is_approval ? &approved : &rejected;
        buf_format(names, "%s%.*s", names->len ? ", " : "", STR_ARG(value_get_string(reviews.items[i], "reviewer", STR(""))));
    }
    bool is_standing = approved.len && !rejected.len;
    if (rejected.len) *out_text = arena_format(arena, "rejected by %.*s", STR_ARG(buf_peek(&rejected)));
    else *out_text = approved.len ? arena_format(arena, "approved by %.*s", STR_ARG(buf_peek(&approved))) : STR("not reviewed");
    buf_deinit(&approved);
    buf_deinit(&rejected);
    return is_standing;
}
