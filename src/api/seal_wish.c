#include "api/seal_wish.h"

#include <sodium.h>

#include "base/limits.h"

static SealWish *wish_of(Call *call) { return call->state; }

/* The request had it as JSON, and the value was made of that. */
static void wipe(Call *call)
{
    const SealWish *wish = wish_of(call);
    if (wish->value.len) sodium_memzero((char *)wish->value.ptr, wish->value.len);
    if (call->body.len) sodium_memzero(call->body.ptr, call->body.len);
}

static void take_done(Call *call, const BridgeAnswer *answer)
{
    wipe(call);
    wish_of(call)->done(call, answer);
}

static void send(Call *call);

static bool take_refusal(Call *call, const BridgeAnswer *answer)
{
    SealWish *wish = wish_of(call);
    /* The tenant has got another key meanwhile. */
    bool is_late = answer->status == ERR_CONFLICT && !answer->is_other_request && !answer->is_stale;
    if (is_late && wish->try_count < SEAL_TRY_COUNT_MAX) {
        send(call);
        return true;
    }
    bool is_answered = wish->refused && wish->refused(call, answer);
    wipe(call);
    return is_answered;
}

static void add_names(const SealWish *wish, MemberList *members)
{
    add_member(members, "tenant", value_string(wish->tenant));
    add_member(members, "name", value_string(wish->name));
    if (wish->reason.len) add_member(members, "reason", value_string(wish->reason));
}

static void send(Call *call)
{
    SealWish *wish = wish_of(call);
    MemberList members = { .arena = &call->arena };
    Sealed sealed;
    Error err;
    wish->try_count++;
    if (vault_seal(call->api->triggers.vault, &call->arena, wish->tenant, wish->name, wish->value, &sealed, &err)) {
        wipe(call);
        call_error(call, &err);
        return;
    }
    add_names(wish, &members);
    if (wish->is_new) add_member(&members, "new", value_bool(true));
    add_member(&members, "sealed", value_string(sealed_text(&call->arena, sealed.bytes)));
    add_member(&members, "tenantKey", value_string(sealed_text(&call->arena, sealed.tenant_key)));
    api_petition_or(call, &members, "set-secret", take_done, take_refusal);
}

void seal_wish_send(Call *call, SealWish *wish)
{
    call->state = wish;
    send(call);
}

void seal_wish_remove(Call *call, SealWish *wish)
{
    MemberList members = { .arena = &call->arena };
    call->state = wish;
    add_names(wish, &members);
    api_petition_or(call, &members, "remove-secret", wish->done, wish->refused);
}
