#include "rego/builtins/request.h"

#include "rego/builtins/operand.h"
#include "value/json.h"

static const char *const allowed[] = {
    "body", "cache", "cache_ignored_headers", "caching_mode", "enable_redirect", "force_cache",
    "force_cache_duration_seconds", "force_json_decode", "force_yaml_decode", "headers", "max_retry_attempts", "method",
    "raise_error", "raw_body", "timeout", "tls_ca_cert", "tls_ca_cert_env_variable", "tls_ca_cert_file", "tls_client_cert",
    "tls_client_cert_env_variable", "tls_client_cert_file", "tls_client_key", "tls_client_key_env_variable",
    "tls_client_key_file", "tls_insecure_skip_verify", "tls_server_name", "tls_use_system_certs", "url",
};
static const char *const required[] = { "method", "url" };

BuiltinResult request_refuse(Error *err, uint32_t index, const char *prefix, const Value *names, size_t count)
{
    char text[256];
    Buf buf = buf_on(text, sizeof text);
    for (size_t i = 0; i < count; i++) {
        if (i) buf_text(&buf, ", ");
        if (names[i].kind == VALUE_STRING) json_print_string(&buf, value_text(names[i]));
        else buf_text(&buf, value_kind_name(names[i]));
    }
    return operand_error(err, index, "%s: {%.*s}", prefix, STR_ARG(buf_peek(&buf)));
}

static bool is_allowed(Value name)
{
    for (size_t i = 0; name.kind == VALUE_STRING && i < sizeof allowed / sizeof allowed[0]; i++)
        if (str_is_text(value_text(name), allowed[i])) return true;
    return false;
}

bool request_check(const Value *args, uint32_t index, Error *err)
{
    enum { SHOWN_MAX = 8 };             /* more names would not fit the text of an error */
    Value names[SHOWN_MAX];
    size_t count = 0;
    Value request = args[index];
    if (!operand_is(args, index, &OPERAND_OBJECT, err)) return false;
    for (uint32_t i = 0; i < request.count && count < SHOWN_MAX; i++)
        if (!is_allowed(request.members[i].key)) names[count++] = request.members[i].key;
    if (count) {
        request_refuse(err, index, "invalid request parameters(s)", names, count);
        return false;
    }
    for (size_t i = 0; i < sizeof required / sizeof required[0]; i++)
        if (!value_get_text(request, required[i])) names[count++] = value_string(str_of(required[i]));
    if (count) request_refuse(err, index, "missing required request parameters(s)", names, count);
    return count == 0;
}
