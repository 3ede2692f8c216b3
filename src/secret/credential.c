#include "secret/credential.h"

#include <inttypes.h>

#include <sodium.h>

#include "base/base64.h"
#include "base/buf.h"
#include "base/limits.h"
#include "value/json.h"

static Str said_by(Arena *arena, const Credential *facts)
{
    Buf text, coded;
    buf_init(&text, CREDENTIAL_SIZE_MAX);
    buf_init(&coded, CREDENTIAL_SIZE_MAX);
    buf_format(&text, "{\"attempt\":%" PRIu32 ",\"expires\":%" PRId64 ",\"holder\":%" PRIu64 ",\"number\":%" PRIu64 ",\"run\":", facts->attempt,
               facts->expires_ms, facts->holder, facts->run_no);
    json_print_string(&text, facts->run_id);
    buf_text(&text, ",\"step\":");
    json_print_string(&text, facts->step);
    buf_text(&text, ",\"tenant\":");
    json_print_string(&text, facts->tenant);
    buf_char(&text, '}');
    base64_encode(&coded, buf_peek(&text), BASE64_URL_BARE);
    Str said = buf_overflowed(&text) || buf_overflowed(&coded) ? (Str){ 0 } : arena_copy(arena, buf_peek(&coded));
    buf_deinit(&text);
    buf_deinit(&coded);
    return said;
}

Status credential_make(Vault *vault, Arena *arena, const Credential *facts, Str *out_text, Error *err)
{
    TriggerToken seal;
    Str said = said_by(arena, facts);
    if (!said.len) return error_set(err, ERR_LIMIT, "its credential would exceed CREDENTIAL_SIZE_MAX (%u bytes)", CREDENTIAL_SIZE_MAX);
    Status status = vault_sign(vault, facts->tenant, said, &seal, err);
    if (status) return status;
    *out_text = arena_format(arena, CREDENTIAL_PREFIX "%.*s.%s", STR_ARG(said), seal.text);
    sodium_memzero(&seal, sizeof seal);
    return OK;
}

static bool number_of(Value value, const char *name, int64_t *out)
{
    const Value *member = value_get_text(value, name);
    if (!member || member->kind != VALUE_INT || member->integer < 0) return false;
    *out = member->integer;
    return true;
}

static bool facts_read(Arena *arena, Str said, Credential *out)
{
    size_t size = 0, wrong_at;
    char *bytes = arena_bytes(arena, base64_decoded_size_max(said.len) + 1);
    Value value;
    Error ignored;
    int64_t attempt, holder, number;
    if (!base64_decode(said, BASE64_URL_BARE, bytes, &size, &wrong_at)) return false;
    if (json_parse(arena, (Str){ bytes, size }, &value, &ignored) || value.kind != VALUE_OBJECT) return false;
    if (!number_of(value, "attempt", &attempt) || !number_of(value, "holder", &holder) || !number_of(value, "number", &number)
        || !number_of(value, "expires", &out->expires_ms) || attempt > UINT32_MAX) return false;
    out->attempt = (uint32_t)attempt;
    out->holder = (uint64_t)holder;
    out->run_no = (uint64_t)number;
    out->run_id = value_get_string(value, "run", STR(""));
    out->step = value_get_string(value, "step", STR(""));
    out->tenant = value_get_string(value, "tenant", STR(""));
    return out->run_id.len && out->step.len && out->tenant.len && out->tenant.len <= NAME_SIZE_MAX;
}

/* What it says has to be read before it is known whether it is genuine: the key depends on the tenant. Nothing follows from it before. */
Status credential_read(Vault *vault, Arena *arena, Str text, int64_t now_ms, Credential *out, Error *err)
{
    Str prefix = STR(CREDENTIAL_PREFIX);
    TriggerToken seal;
    Credential facts;
    size_t point = text.len;
    while (point && text.ptr[point - 1] != '.') point--;
    if (text.len > CREDENTIAL_SIZE_MAX || !str_starts(text, prefix) || point <= prefix.len + 1 || text.len - point != TRIGGER_TOKEN_SIZE)
        return error_set(err, ERR_DENIED, "no credential of an attempt looks like this");
    Str said = str_slice(text, prefix.len, point - 1);
    if (!facts_read(arena, said, &facts)) return error_set(err, ERR_DENIED, "no credential of an attempt looks like this");
    Status status = vault_sign(vault, facts.tenant, said, &seal, err);
    if (status) return status;
    bool is_right = sodium_memcmp(seal.text, text.ptr + point, TRIGGER_TOKEN_SIZE) == 0;
    sodium_memzero(&seal, sizeof seal);
    if (!is_right) return error_set(err, ERR_DENIED, "the seal of the credential is not of this server");
    if (facts.expires_ms <= now_ms)
        return error_set(err, ERR_DENIED, "the credential of run %.*s has expired", STR_ARG(facts.run_id));
    *out = facts;
    return OK;
}
