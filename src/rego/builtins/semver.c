/* semver.c - versions by Semantic Versioning 2.0.0. */
#include "base/limits.h"
#include "rego/builtins/operand.h"

typedef struct Version {
    Str numbers[3];
    Str prerelease;                 /* empty: a release */
} Version;

static bool is_number(Str text)
{
    for (size_t i = 0; i < text.len; i++)
        if (!ascii_is_digit(text.ptr[i])) return false;
    return text.len > 0;
}

static bool has_zero_in_front(Str number)
{
    return number.len > 1 && number.ptr[0] == '0';
}

/* Words of letters, digits and hyphens between dots; in a prerelease numbers have no zeros in front. */
static bool are_identifiers(Str text, bool is_prerelease)
{
    for (size_t at = 0, end; at <= text.len; at = end + 1) {
        end = str_find(text, '.', at);
        Str word = str_slice(text, at, end);
        for (size_t i = 0; i < word.len; i++)
            if (!ascii_is_alnum(word.ptr[i]) && word.ptr[i] != '-') return false;
        if (word.len == 0 || (is_prerelease && is_number(word) && has_zero_in_front(word))) return false;
    }
    return true;
}

static bool version_read(Str text, Version *out)
{
    if (str_starts(text, STR("v"))) text = str_slice(text, 1, text.len);
    size_t plus = str_find(text, '+', 0);
    if (plus < text.len && !are_identifiers(str_slice(text, plus + 1, text.len), false)) return false;
    text = str_slice(text, 0, plus);
    size_t hyphen = str_find(text, '-', 0);
    out->prerelease = str_slice(text, hyphen + 1, text.len);
    if (hyphen < text.len && !are_identifiers(out->prerelease, true)) return false;
    text = str_slice(text, 0, hyphen);
    for (uint32_t i = 0; i < 3; i++) {
        size_t end = str_find(text, '.', 0);
        if ((i < 2) == (end == text.len)) return false;
        out->numbers[i] = str_slice(text, 0, end);
        text = str_slice(text, end + 1, text.len);
        uint64_t number;
        bool is_small = str_to_u64(out->numbers[i], &number) && number <= INT64_MAX;
        if (!is_small || has_zero_in_front(out->numbers[i])) return false;
    }
    return true;
}

/* Without zeros in front the longer one is the larger. */
static int compare_numbers(Str a, Str b)
{
    return a.len != b.len ? (a.len < b.len ? -1 : 1) : str_compare(a, b);
}

static int compare_identifiers(Str a, Str b)
{
    bool a_is_number = is_number(a), b_is_number = is_number(b);
    if (a_is_number && b_is_number) return compare_numbers(a, b);
    if (a_is_number != b_is_number) return a_is_number ? -1 : 1;
    return str_compare(a, b);
}

static int compare_prereleases(Str a, Str b)
{
    if (a.len == 0 || b.len == 0) return (a.len == 0) - (b.len == 0);       /* a release comes after its prereleases */
    for (size_t i = 0, j = 0, end_a, end_b; i <= a.len && j <= b.len; i = end_a + 1, j = end_b + 1) {
        end_a = str_find(a, '.', i);
        end_b = str_find(b, '.', j);
        int order = compare_identifiers(str_slice(a, i, end_a), str_slice(b, j, end_b));
        if (order) return order;
        bool a_ends = end_a == a.len, b_ends = end_b == b.len;
        if (a_ends || b_ends) return b_ends - a_ends;
    }
    return 0;
}

BuiltinResult builtin_semver_compare(BuiltinContext *context, const Value *args, Value *out_result, Error *err)
{
    Str texts[2];
    Version versions[2];
    for (uint32_t i = 0; i < 2; i++)
        if (!operand_string(args, i, &texts[i], err)) return BUILTIN_TYPE_ERROR;
    if (!builtin_spend(context, (texts[0].len + texts[1].len) / REGO_BYTES_PER_STEP, err)) return BUILTIN_HALT;
    for (uint32_t i = 0; i < 2; i++)
        if (!version_read(texts[i], &versions[i]))
            return builtin_error(err, "operand %u: string \"%.*s\" is not a valid SemVer", i + 1, STR_ARG(texts[i]));
    int order = 0;
    for (uint32_t i = 0; i < 3 && !order; i++) order = compare_numbers(versions[0].numbers[i], versions[1].numbers[i]);
    if (!order) order = compare_prereleases(versions[0].prerelease, versions[1].prerelease);
    *out_result = value_int((order > 0) - (order < 0));
    return BUILTIN_OK;
}

BuiltinResult builtin_semver_is_valid(BuiltinContext *context, const Value *args, Value *out_result, Error *err)
{
    Version ignored;
    bool is_text = args[0].kind == VALUE_STRING;
    if (is_text && !builtin_spend(context, args[0].count / REGO_BYTES_PER_STEP, err)) return BUILTIN_HALT;
    *out_result = value_bool(is_text && version_read(value_text(args[0]), &ignored));
    return BUILTIN_OK;
}
