#include "cli/server_order.h"

#include "cli/errand.h"
#include "cli/workplace.h"

bool server_is_meant(const Args *args) { return store_is_server(store_url(args)); }

ExitCode server_order(const Args *args, const ServerCall *call, Value *out_answer)
{
    ServerCall sent = *call;
    Error err;
    sent.id = str_of(args_value(args, "id"));
    return adapters.server_call(store_url(args), args->arena, &sent, out_answer, &err) ? errand_refused(&err) : EXIT_CODE_OK;
}

/* Empty where the server does not say it: what is asked of it next is refused with the reason. */
static Str tenant_of_key(const Args *args)
{
    ServerCall call = { .method = "GET", .path = STR("/api") };
    Value answer;
    Error err;
    if (adapters.server_call(store_url(args), args->arena, &call, &answer, &err)) return (Str){ 0 };
    Str tenant = value_get_string(answer, "namespace", STR(""));
    return str_is_text(tenant, "*") ? (Str){ 0 } : tenant;
}

Str server_tenant(const Args *args)
{
    static const Args *asked;           /* a process has one command, with one key: it is asked once */
    static Str tenant;
    const char *given = args_value(args, "tenant");
    if (given) return str_of(given);
    if (!server_is_meant(args)) return STR("default");
    if (asked != args) tenant = tenant_of_key(args);
    asked = args;
    return tenant.len ? tenant : STR("default");
}

ExitCode server_refuse(const Args *args, const char *what)
{
    Error err;
    if (!server_is_meant(args)) return EXIT_CODE_OK;
    error_set(&err, ERR_UNAVAILABLE, "%s on the machine that has the store, without --server: maestro %s --store URL", what, args->command->name);
    return fail(&err);
}

Str server_word(Arena *arena, Str text)
{
    Buf word;
    buf_init(&word, SIZE_MAX);
    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];
        if (ascii_is_alnum(c) || c == '-' || c == '_' || c == '.') buf_char(&word, c);
        else buf_format(&word, "%%%02X", (unsigned char)c);
    }
    Str copy = arena_copy(arena, buf_peek(&word));
    buf_deinit(&word);
    return copy;
}

Str server_reason(const Args *args, Str path)
{
    const char *reason = args_value(args, "reason");
    return reason ? arena_format(args->arena, "%.*s&reason=%.*s", STR_ARG(path), STR_ARG(server_word(args->arena, str_of(reason)))) : path;
}

void server_add_reason(const Args *args, MemberList *body)
{
    const char *reason = args_value(args, "reason");
    if (reason) member_list_add(body, STR("reason"), value_string(str_of(reason)));
}
