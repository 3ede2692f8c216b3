#include "cli/offers.h"

#include "base/check.h"
#include "value/canonical.h"

/* One runner: who has it, and the settings of both. */
static Value offer_of(Arena *arena, Str runner, const Catalog *catalog)
{
    const CatalogEntry *entry = catalog ? catalog_find(catalog, CATALOG_RUNNER, runner) : NULL;
    MemberList members = { .arena = arena };
    if (!entry) return value_null();
    const Value *executor = value_get(catalog->executors, entry->origin);
    member_list_add(&members, STR("executor"), value_string(entry->origin));
    member_list_add(&members, STR("settings"), entry->settings);
    if (executor) member_list_add(&members, STR("kind"), value_string(value_get_string(*executor, "kind", STR(""))));
    for (uint32_t i = 0; executor && i < catalog->executors.count; i++) {
        Str name = value_text(catalog->executors.members[i].key);
        const Value *runners = value_get_text(catalog->executors.members[i].value, "runners");
        const Value *settings = runners && !str_is(name, entry->origin) ? value_get(*runners, runner) : NULL;
        if (settings) member_list_add(&members, arena_format(arena, "also %.*s", STR_ARG(name)), *settings);
    }
    return member_list_object(&members);
}

Str offers_digest(Arena *arena, Value document, const OfferScope *scope)
{
    MemberList offers = { .arena = arena };
    const Value *steps = value_get_text(document, "steps");
    for (uint32_t i = 0; steps && i < steps->count; i++) {
        Str runner = value_get_string(steps->items[i], "run", STR(""));
        bool is_next = i && str_is(runner, value_get_string(steps->items[i - 1], "run", STR("")));
        if (runner.len && !is_next) member_list_add(&offers, runner, offer_of(arena, runner, scope->catalog));
        const Value *undo = value_get_text(steps->items[i], "compensation");
        Str undoes = undo ? value_get_string(*undo, "run", STR("")) : STR("");
        if (undoes.len) member_list_add(&offers, undoes, offer_of(arena, undoes, scope->catalog));
    }
    Digest digest = scope->guard ? guard_digest(scope->guard, document) : (Digest){ { 0 } };
    Error err;
    char storage[DIGEST_TEXT_SIZE];
    Buf text = buf_on(storage, sizeof storage);
    digest_print(&text, &digest);
    member_list_add(&offers, STR("(policies)"), value_string(arena_copy(arena, buf_peek(&text))));     /* no name of a runner */
    buf_clear(&text);
    CHECK(canonical_digest(member_list_object(&offers), &digest, &err) == OK);      /* plain values, equal keys made one */
    digest_print(&text, &digest);
    return arena_copy(arena, buf_peek(&text));
}
