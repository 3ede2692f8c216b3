#include "rego/crypto/chain.h"

#include <openssl/err.h>
#include <openssl/x509.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>

#include "base/buf.h"
#include "base/limits.h"
#include "rego/crypto/openssl.h"

#define USAGE_ANY 0
#define USAGE_SERVER 1

/* --- hosts -------------------------------------------------------------------------------------------------------- */

/* The next label up to a dot; false when there is none. */
static bool label_next(Str *name, Str *out_label)
{
    if (!name->ptr) return false;
    size_t dot = str_find(*name, '.', 0);
    *out_label = str_slice(*name, 0, dot);
    *name = dot < name->len ? str_slice(*name, dot + 1, name->len) : (Str){ 0 };
    return true;
}

static bool host_is_valid(Str host, bool is_pattern)
{
    if (!is_pattern && str_ends(host, STR("."))) host.len--;
    if (host.len == 0 || str_is(host, STR("*"))) return false;
    Str label;
    for (bool first = true; label_next(&host, &label); first = false) {
        if (label.len == 0) return false;
        if (is_pattern && first && str_is(label, STR("*"))) continue;
        for (size_t i = 0; i < label.len; i++) {
            char c = label.ptr[i];
            if (!ascii_is_alnum(c) && c != '_' && (c != '-' || i == 0)) return false;
        }
    }
    return true;
}

static bool same_text(Str a, Str b)
{
    if (a.len != b.len) return false;
    for (size_t i = 0; i < a.len; i++)
        if (ascii_to_lower(a.ptr[i]) != ascii_to_lower(b.ptr[i])) return false;
    return true;
}

/* A star stands for one whole label, the first. */
static bool host_matches(Str pattern, Str host)
{
    Str pattern_label, host_label;
    if (pattern.len == 0 || host.len == 0) return false;
    for (bool first = true;; first = false) {
        bool more = label_next(&pattern, &pattern_label), host_more = label_next(&host, &host_label);
        if (!more || !host_more) return more == host_more;
        if (first && str_is(pattern_label, STR("*"))) continue;
        if (!same_text(pattern_label, host_label)) return false;
    }
}

static bool host_is_covered(const Certificate *certificate, X509 *handle, Str host)
{
    Str bare = host.len >= 3 && host.ptr[0] == '[' && host.ptr[host.len - 1] == ']' ? str_slice(host, 1, host.len - 1) : host;
    char text[64];
    Buf buf = buf_on(text, sizeof text - 1);
    buf_str(&buf, bare);
    if (!buf_overflowed(&buf)) {
        text[buf.len] = '\0';
        ASN1_OCTET_STRING *address = a2i_IPADDRESS(text);
        ASN1_OCTET_STRING_free(address);
        if (address) return X509_check_ip_asc(handle, text, 0) == 1;
    }
    const Value *names = value_get_text(certificate->value, "DNSNames");
    bool valid = host_is_valid(host, false);
    if (valid && str_ends(host, STR("."))) host.len--;
    for (uint32_t i = 0; names && names->kind == VALUE_ARRAY && i < names->count; i++) {
        Str pattern = value_text(names->items[i]);
        if (valid && host_is_valid(pattern, true) ? host_matches(pattern, host) : pattern.len && same_text(pattern, host))
            return true;
    }
    return false;
}

/* --- rules over a whole chain ------------------------------------------------------------------------------------- */

static bool has_members(const Certificate *certificate, const char *name)
{
    const Value *list = value_get_text(certificate->value, name);
    return list && list->kind == VALUE_ARRAY && list->count > 0;
}

static bool allows(const Certificate *certificate, int64_t usage)
{
    const Value *usages = value_get_text(certificate->value, "ExtKeyUsage");
    for (uint32_t i = 0; usages && usages->kind == VALUE_ARRAY && i < usages->count; i++)
        if (usages->items[i].integer == usage || usages->items[i].integer == USAGE_ANY) return true;
    return false;
}

/* One of the usages asked for is allowed by every certificate that limits its use. */
static bool usages_are_allowed(const Certificate *certificates, const size_t *order, size_t count,
                               const ChainOptions *options)
{
    static const int64_t server = USAGE_SERVER;
    const int64_t *usages = options->usage_count ? options->usages : &server;
    size_t usage_count = options->usage_count ? options->usage_count : 1;
    for (size_t i = 0; i < usage_count; i++) {
        if (usages[i] == USAGE_ANY) return true;
        bool allowed = true;
        for (size_t j = 0; j < count && allowed; j++) {
            const Certificate *certificate = &certificates[order[j]];
            bool limited = has_members(certificate, "ExtKeyUsage") || has_members(certificate, "UnknownExtKeyUsage");
            allowed = !limited || allows(certificate, usages[i]);
        }
        if (allowed) return true;
    }
    return false;
}

/* Go's numbers of the algorithms whose hash is broken. */
static bool is_weak(int64_t algorithm)
{
    return algorithm == 2 || algorithm == 3 || algorithm == 7 || algorithm == 9;
}

static bool signers_are_right(const Certificate *certificates, const size_t *order, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        Value certificate = certificates[order[i]].value;
        if (has_members(&certificates[order[i]], "UnhandledCriticalExtensions")) return false;
        bool constrained = value_get_bool(certificate, "BasicConstraintsValid", false);
        bool may_sign = constrained ? value_get_bool(certificate, "IsCA", false)
                                    : value_get_int(certificate, "Version", 0) != 3;
        if (i > 0 && !may_sign) return false;
        if (i + 1 < count && is_weak(value_get_int(certificate, "SignatureAlgorithm", 0))) return false;
    }
    return true;
}

/* --- the library -------------------------------------------------------------------------------------------------- */

typedef struct Handles {
    X509 *certificates[CRYPTO_CERTIFICATE_COUNT_MAX];
    size_t count;
    STACK_OF(X509) *roots, *between;
    X509_STORE *store;
    X509_STORE_CTX *context;
} Handles;

static bool handles_open(Handles *handles, const Certificate *certificates, size_t count)
{
    *handles = (Handles){ .roots = sk_X509_new_null(), .between = sk_X509_new_null(), .store = X509_STORE_new(),
                          .context = X509_STORE_CTX_new() };
    if (!handles->roots || !handles->between || !handles->store || !handles->context) return false;
    for (size_t i = 0; i < count; i++) {
        const unsigned char *der = (const unsigned char *)certificates[i].raw.ptr;
        X509 *handle = d2i_X509(NULL, &der, (long)certificates[i].raw.len);
        if (!handle) return false;
        handles->certificates[handles->count++] = handle;
        if (i == 0 && !sk_X509_push(handles->roots, handle)) return false;
        if (i > 0 && i + 1 < count && !sk_X509_push(handles->between, handle)) return false;
    }
    return true;
}

static void handles_close(Handles *handles)
{
    X509_STORE_CTX_free(handles->context);
    X509_STORE_free(handles->store);
    sk_X509_free(handles->roots);
    sk_X509_free(handles->between);
    for (size_t i = 0; i < handles->count; i++) X509_free(handles->certificates[i]);
    ERR_clear_error();
}

/* Builds the chain and checks signatures, times, constraints on names and lengths. */
static bool chain_build(Handles *handles, const ChainOptions *options, size_t *out_order, size_t *out_count)
{
    X509 *leaf = handles->certificates[handles->count - 1];
    X509_STORE_CTX *context = handles->context;
    if (X509_STORE_CTX_init(context, handles->store, leaf, handles->between) != 1) return false;
    X509_STORE_CTX_set0_trusted_stack(context, handles->roots);
    X509_VERIFY_PARAM *param = X509_STORE_CTX_get0_param(context);
    X509_VERIFY_PARAM_set_flags(param, X509_V_FLAG_PARTIAL_CHAIN | X509_V_FLAG_POLICY_CHECK);
    X509_VERIFY_PARAM_set_time(param, (time_t)options->now_s);
    X509_VERIFY_PARAM_set_auth_level(param, 0);
    if (X509_verify_cert(context) != 1) return false;
    STACK_OF(X509) *chain = X509_STORE_CTX_get0_chain(context);
    *out_count = 0;
    for (int i = 0; i < sk_X509_num(chain); i++) {
        size_t place = handles->count;
        while (place > 0 && X509_cmp(handles->certificates[place - 1], sk_X509_value(chain, i)) != 0) place--;
        if (place == 0 || *out_count == handles->count) return false;
        out_order[(*out_count)++] = place - 1;
    }
    return true;
}

bool chain_is_trusted(const Certificate *certificates, size_t count, const ChainOptions *options, size_t *out_order,
                      size_t *out_count)
{
    if (count < 2 || count > CRYPTO_CERTIFICATE_COUNT_MAX) return false;
    openssl_begin();
    Handles handles;
    bool trusted = handles_open(&handles, certificates, count) && chain_build(&handles, options, out_order, out_count)
                && signers_are_right(certificates, out_order, *out_count)
                && usages_are_allowed(certificates, out_order, *out_count, options)
                && (options->host.len == 0
                    || host_is_covered(&certificates[count - 1], handles.certificates[count - 1], options->host));
    handles_close(&handles);
    return trusted;
}
