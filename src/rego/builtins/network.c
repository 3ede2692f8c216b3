/* network.c - builtins that would need the network. A policy that is replayed must answer as it did, so none of them goes
 * out: what can be answered without the network is, and the rest is refused. */
#include "rego/builtins/ip.h"
#include "rego/builtins/operand.h"
#include "rego/builtins/request.h"

BuiltinResult builtin_http_send(BuiltinContext *context, const Value *args, Value *out_result, Error *err)
{
    if (!request_check(args, 0, err)) return BUILTIN_TYPE_ERROR;
    return builtin_error(err, "policies have no access to the network");
}

/* An address stands for itself, and localhost for the loopback address (RFC 6761). */
BuiltinResult builtin_net_lookup_ip_addr(BuiltinContext *context, const Value *args, Value *out_result, Error *err)
{
    Str name;
    if (!operand_string(args, 0, &name, err)) return BUILTIN_TYPE_ERROR;
    Ip ip = { { 127, 0, 0, 1 }, 4 };
    if (!str_is(name, STR("localhost")) && !ip_read(name, &ip))
        return builtin_error(err, "policies have no access to the network to look up %.*s", STR_ARG(name));
    Buf buf;
    builtin_text_begin(context, &buf);
    ip_print(&buf, &ip);
    Value *item = BUILTIN_ARRAY(context, Value, 1, err);
    if (!item) {
        builtin_text_drop(&buf);
        return BUILTIN_HALT;
    }
    BuiltinResult result = builtin_text_end(context, &buf, item, err);
    *out_result = value_set(context->arena, item, 1);
    return result;
}
