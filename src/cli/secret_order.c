#include "cli/secret_order.h"

#include "base/limits.h"
#include "cli/deed.h"
#include "cli/server_order.h"
#include "secret/vault.h"

static bool send(Engine *engine, const void *secret) { return engine_secret(engine, secret); }

/* Asked both ways: as an errand, and of an engine of this process. */
static ExitCode carry(const Args *args, EngineSecret *secret, Deed *out_deed)
{
    const char *reason = args_value(args, "reason");
    Deed deed = { .args = args, .errand = errand_begin(args, secret->is_removal ? "remove-secret" : "set-secret"), .send = send,
                  .what = secret };
    errand_add(&deed.errand, "tenant", value_string(secret->tenant));
    errand_add(&deed.errand, "name", value_string(secret->name));
    if (reason) errand_add(&deed.errand, "reason", value_string(str_of(reason)));
    if (!secret->is_removal) {
        errand_add(&deed.errand, "sealed", value_string(sealed_text(args->arena, secret->sealed)));
        errand_add(&deed.errand, "tenantKey", value_string(sealed_text(args->arena, secret->tenant_key)));
    }
    secret->command = (Command){ .id = deed.errand.id, .actor = deed.errand.actor, .rationale = str_of(reason),
                                 .value = value_null(), .report.output = value_null() };
    secret->reply = deed_reply;
    secret->context = &deed;
    ExitCode code = deed_do(&deed);
    *out_deed = deed;
    return code;
}

/* The store is closed again before anybody is asked: this process may become its owner. */
static ExitCode seal(const Args *args, EngineSecret *secret, Str value)
{
    Store *store;
    Sealed sealed;
    Error err;
    ExitCode code = store_open_or_make(args, &store);
    if (code) return code;
    Vault *vault = store_vault(args, store);
    Status status = vault_seal(vault, args->arena, secret->tenant, secret->name, value, &sealed, &err);
    vault_free(vault);
    store_close(store);
    if (status) return fail(&err);
    secret->sealed = sealed.bytes;
    secret->tenant_key = sealed.tenant_key;
    return EXIT_CODE_OK;
}

/* Where the secret is at a server. */
static Str path_of(const Args *args, Str tenant, Str name)
{
    return arena_format(args->arena, "/api/secrets/%.*s?namespace=%.*s", STR_ARG(server_word(args->arena, name)),
                        STR_ARG(server_word(args->arena, tenant)));
}

/* A server has the key file, and seals it there. */
static ExitCode set_at_server(const Args *args, Str tenant, Str name, Str value)
{
    MemberList body = { .arena = args->arena };
    Value answer;
    member_list_add(&body, STR("value"), value_string(value));
    server_add_reason(args, &body);
    return server_order(args, &(ServerCall){ .method = "PUT", .path = path_of(args, tenant, name), .body = member_list_object(&body) }, &answer);
}

ExitCode secret_store(const Args *args, Str tenant, Str name, Str value)
{
    if (server_is_meant(args)) return set_at_server(args, tenant, name, value);
    for (unsigned tries = SEAL_TRY_COUNT_MAX;; tries--) {
        EngineSecret secret = { .tenant = tenant, .name = name };
        Deed deed;
        ExitCode code = seal(args, &secret, value);
        if (!code) code = carry(args, &secret, &deed);
        if (code || !deed.status) return code;
        if (deed.status != ERR_CONFLICT || tries == 1) return problem_report(deed.problem, &deed.error);
    }
}

ExitCode secret_remove(const Args *args, Str tenant, Str name)
{
    Value answer;
    if (server_is_meant(args))
        return server_order(args, &(ServerCall){ .method = "DELETE", .path = server_reason(args, path_of(args, tenant, name)) }, &answer);
    EngineSecret secret = { .tenant = tenant, .name = name, .is_removal = true };
    Deed deed;
    ExitCode code = carry(args, &secret, &deed);
    return code || !deed.status ? code : problem_report(deed.problem, &deed.error);
}
