/* regex.c - regular expressions in policies: match, find, split, replace. */
#include "rego/regex/regex.h"

#include "base/limits.h"
#include "base/utf8.h"
#include "rego/builtins/cache.h"
#include "rego/builtins/operand.h"
#include "rego/regex/unicode.h"

#define PATTERN_BYTES_PER_STEP 8u       /* reading a pattern costs more than reading text; charged for a hit as well */

static RegexBudget budget_of(const BuiltinContext *context)
{
    return (RegexBudget){ context->steps_left, context->stop };
}

/* The words for REGEX_HALT. */
static BuiltinResult halt(BuiltinContext *context, Error *err)
{
    if (builtin_spend(context, 1, err))
        error_set(err, ERR_LIMIT, "no memory is left for a regular expression (of %zu bytes)", context->arena_size_max);
    return BUILTIN_HALT;
}

/* A machine for the pattern, out of the cache where it has been seen before. */
static BuiltinResult machine_get(BuiltinContext *context, Str pattern, RegexMachine **out_machine, Error *err)
{
    if (!builtin_spend(context, pattern.len / PATTERN_BYTES_PER_STEP, err)) return BUILTIN_HALT;
    BuiltinCache *cache = context->cache;
    RegexMachine *machine = cache ? builtin_cache_find(cache, CACHE_REGEX, pattern) : NULL;
    if (!machine) {
        Arena *arena = cache ? builtin_cache_arena(cache) : context->arena;
        const Regex *regex;
        Status status = regex_compile(arena, pattern, &regex, err);
        if (status) return builtin_result(status);
        machine = regex_machine_new(arena, regex);
        if (!machine) return halt(context, err);
        if (cache) builtin_cache_add(cache, CACHE_REGEX, pattern, machine);
    }
    *out_machine = machine;
    return BUILTIN_OK;
}

static BuiltinResult matches(BuiltinContext *context, RegexMachine *machine, Str text, Value *out, Error *err)
{
    RegexBudget budget = budget_of(context);
    RegexResult found = regex_matches(machine, text, &budget);
    if (found == REGEX_HALT) return halt(context, err);
    *out = value_bool(found == REGEX_FOUND);
    return BUILTIN_OK;
}

BuiltinResult builtin_regex_match(BuiltinContext *context, const Value *args, Value *out_result, Error *err)
{
    Str pattern, text;
    if (!operand_string(args, 0, &pattern, err) || !operand_string(args, 1, &text, err)) return BUILTIN_TYPE_ERROR;
    RegexMachine *machine;
    BuiltinResult result = machine_get(context, pattern, &machine, err);
    if (result != BUILTIN_OK) return result;
    return matches(context, machine, text, out_result, err);
}

BuiltinResult builtin_regex_is_valid(BuiltinContext *context, const Value *args, Value *out_result, Error *err)
{
    *out_result = value_bool(false);
    if (args[0].kind != VALUE_STRING) return BUILTIN_OK;
    RegexMachine *machine;
    BuiltinResult result = machine_get(context, value_text(args[0]), &machine, err);
    if (result == BUILTIN_HALT) return result;
    *out_result = value_bool(result == BUILTIN_OK);
    return BUILTIN_OK;
}

/* --- all matches -------------------------------------------------------------------------------------------------- */

/* A walk over the matches of a text that do not overlap. An empty match right behind the one before is none. */
typedef struct Walk {
    BuiltinContext *context;
    RegexMachine *machine;
    Str text;
    size_t at;              /* where to look next; beyond the text when the walk is over */
    size_t end_before;      /* where the last match ended, SIZE_MAX before the first */
    const RegexSpan *spans;
} Walk;

static size_t char_size(Str text, size_t at)
{
    uint32_t point;
    size_t size = utf8_decode(str_slice(text, at, text.len), &point);
    return size ? size : 1;
}

static RegexResult walk_next(Walk *walk)
{
    RegexBudget budget = budget_of(walk->context);
    while (walk->at <= walk->text.len) {
        RegexResult found = regex_find(walk->machine, walk->text, walk->at, &budget, &walk->spans);
        if (found != REGEX_FOUND) {
            walk->at = walk->text.len + 1;
            return found;
        }
        RegexSpan match = walk->spans[0];
        bool repeated = match.begin == match.end && match.begin == walk->end_before;
        walk->at = match.end > walk->at ? match.end : walk->at + char_size(walk->text, walk->at);
        walk->end_before = match.end;
        if (!repeated) return REGEX_FOUND;
    }
    return REGEX_NONE;
}

static Value span_text(Str text, RegexSpan span)
{
    return value_string(span.begin == REGEX_UNSET ? (Str){ 0 } : str_slice(text, span.begin, span.end));
}

static BuiltinResult walk_begin(BuiltinContext *context, Str pattern, Str text, Walk *out_walk, Error *err)
{
    *out_walk = (Walk){ .context = context, .text = text, .end_before = SIZE_MAX };
    return machine_get(context, pattern, &out_walk->machine, err);
}

/* Up to `limit` matches, each as its text or as an array of the texts of all groups; all where it is negative. */
static BuiltinResult find_all(BuiltinContext *context, const Value *args, bool with_groups, Value *out, Error *err)
{
    Str pattern, text;
    int64_t limit;
    if (!operand_string(args, 0, &pattern, err) || !operand_string(args, 1, &text, err)
        || !operand_int(args, 2, "number", &limit, err))
        return BUILTIN_TYPE_ERROR;
    Walk walk;
    BuiltinResult result = walk_begin(context, pattern, text, &walk, err);
    if (result != BUILTIN_OK) return result;
    uint32_t groups = regex_group_count(regex_machine_regex(walk.machine));
    ValueList found = { .arena = context->arena };
    while (limit < 0 || (int64_t)found.count < limit) {
        RegexResult next = walk_next(&walk);
        if (next == REGEX_HALT) return halt(context, err);
        if (next == REGEX_NONE) break;
        if (!builtin_spend(context, 1 + (with_groups ? groups : 0), err)) return BUILTIN_HALT;
        if (!with_groups) {
            value_list_add(&found, span_text(text, walk.spans[0]));
            continue;
        }
        Value *parts = BUILTIN_ARRAY(context, Value, groups + 1, err);
        if (!parts) return BUILTIN_HALT;
        for (uint32_t i = 0; i <= groups; i++) parts[i] = span_text(text, walk.spans[i]);
        value_list_add(&found, value_array(parts, groups + 1));
    }
    *out = value_list_array(&found);
    return BUILTIN_OK;
}

BuiltinResult builtin_regex_find_n(BuiltinContext *context, const Value *args, Value *out_result, Error *err)
{
    return find_all(context, args, /* with_groups= */ false, out_result, err);
}

BuiltinResult builtin_regex_find_all_string_submatch_n(BuiltinContext *context, const Value *args, Value *out_result,
                                                       Error *err)
{
    return find_all(context, args, /* with_groups= */ true, out_result, err);
}

BuiltinResult builtin_regex_split(BuiltinContext *context, const Value *args, Value *out_result, Error *err)
{
    Str pattern, text;
    if (!operand_string(args, 0, &pattern, err) || !operand_string(args, 1, &text, err)) return BUILTIN_TYPE_ERROR;
    Walk walk;
    BuiltinResult result = walk_begin(context, pattern, text, &walk, err);
    if (result != BUILTIN_OK) return result;
    ValueList parts = { .arena = context->arena };
    if (pattern.len > 0 && text.len == 0) {
        value_list_add(&parts, value_string(text));
        *out_result = value_list_array(&parts);
        return BUILTIN_OK;
    }
    size_t begin = 0, end = 0;
    for (;;) {
        RegexResult next = walk_next(&walk);
        if (next == REGEX_HALT) return halt(context, err);
        if (next == REGEX_NONE) break;
        if (!builtin_spend(context, 1, err)) return BUILTIN_HALT;
        end = walk.spans[0].begin;
        /* An empty match at the beginning separates nothing. */
        if (walk.spans[0].end != 0) value_list_add(&parts, value_string(str_slice(text, begin, end)));
        begin = walk.spans[0].end;
    }
    if (end != text.len) value_list_add(&parts, value_string(str_slice(text, begin, text.len)));
    *out_result = value_list_array(&parts);
    return BUILTIN_OK;
}

/* --- replace ------------------------------------------------------------------------------------------------------ */

/* How many bytes of a name stand at the beginning of the text: letters and digits of any script, and underscores. */
static size_t name_size(Str text)
{
    size_t at = 0, size;
    uint32_t point;
    while ((size = utf8_decode(str_slice(text, at, text.len), &point)) > 0) {
        if (point != '_' && !unicode_is(STR("L"), point) && !unicode_is(STR("Nd"), point)) break;
        at += size;
    }
    return at;
}

/* The name behind a dollar sign, perhaps in braces; its size with them, or 0. */
static size_t reference_read(Str rest, Str *out_name)
{
    size_t braced = rest.len > 0 && rest.ptr[0] == '{';
    size_t size = name_size(str_slice(rest, braced, rest.len));
    *out_name = str_slice(rest, braced, braced + size);
    if (size == 0 || !braced) return size;
    return braced + size < rest.len && rest.ptr[braced + size] == '}' ? size + 2 : 0;
}

/* What $name stands for: a group by number, or the first one of that name that took part. Unknown ones stand for nothing. */
static Str reference_text(const Walk *walk, Str name)
{
    const Regex *regex = regex_machine_regex(walk->machine);
    uint64_t number;
    if (str_to_u64(name, &number)) {
        bool plain = name.len == 1 || name.ptr[0] != '0';
        if (plain)
            return number <= regex_group_count(regex) ? value_text(span_text(walk->text, walk->spans[number])) : (Str){ 0 };
    }
    for (uint32_t i = 1; i <= regex_group_count(regex); i++)
        if (str_is(regex_group_name(regex, i), name) && walk->spans[i].begin != REGEX_UNSET)
            return value_text(span_text(walk->text, walk->spans[i]));
    return (Str){ 0 };
}

static void expand(Buf *buf, const Walk *walk, Str template)
{
    for (size_t at = 0; at < template.len;) {
        size_t dollar = str_find(template, '$', at);
        buf_str(buf, str_slice(template, at, dollar));
        if (dollar == template.len) return;
        Str rest = str_slice(template, dollar + 1, template.len), name;
        size_t size = reference_read(rest, &name);
        if (rest.len > 0 && rest.ptr[0] == '$') {
            buf_char(buf, '$');
            at = dollar + 2;
        } else if (size == 0) {
            buf_char(buf, '$');         /* no reference: it means itself */
            at = dollar + 1;
        } else {
            buf_str(buf, reference_text(walk, name));
            at = dollar + 1 + size;
        }
    }
}

BuiltinResult builtin_regex_replace(BuiltinContext *context, const Value *args, Value *out_result, Error *err)
{
    Str text, pattern, template;
    if (!operand_string(args, 0, &text, err) || !operand_string(args, 1, &pattern, err)
        || !operand_string(args, 2, &template, err))
        return BUILTIN_TYPE_ERROR;
    Walk walk;
    BuiltinResult result = walk_begin(context, pattern, text, &walk, err);
    if (result != BUILTIN_OK) return result;
    Buf buf;
    builtin_text_begin(context, &buf);
    size_t done = 0;
    for (;;) {
        RegexResult next = walk_next(&walk);
        if (next == REGEX_NONE) break;
        if (next == REGEX_HALT || buf_overflowed(&buf)
            || !builtin_spend(context, 1 + template.len / REGO_BYTES_PER_STEP, err)) {
            builtin_text_drop(&buf);
            return halt(context, err);
        }
        buf_str(&buf, str_slice(text, done, walk.spans[0].begin));
        expand(&buf, &walk, template);
        done = walk.spans[0].end;
    }
    buf_str(&buf, str_slice(text, done, text.len));
    return builtin_text_end(context, &buf, out_result, err);
}

/* --- templates ---------------------------------------------------------------------------------------------------- */

typedef struct Delimiters {
    char open, close;
} Delimiters;

/* Whether every delimiter has its partner; they may nest. */
static bool template_is_balanced(Str template, Delimiters delimiters)
{
    int64_t level = 0;
    for (size_t at = 0; at < template.len && level >= 0; at++) {
        if (template.ptr[at] == delimiters.open) level++;
        else if (template.ptr[at] == delimiters.close) level--;
    }
    return level == 0;
}

/* The end of the part that begins at `from`, behind its closing delimiter. */
static size_t part_end(Str template, size_t from, Delimiters delimiters)
{
    size_t level = 0, at = from;
    for (; at < template.len; at++) {
        if (template.ptr[at] == delimiters.open) level++;
        else if (template.ptr[at] == delimiters.close && --level == 0) break;
    }
    return at + 1;
}

/* Each part must be a pattern by itself, so that an open parenthesis cannot reach into the next one. */
static BuiltinResult part_check(BuiltinContext *context, Str part, Error *err)
{
    Buf buf;
    builtin_text_begin(context, &buf);
    buf_char(&buf, '^');
    buf_str(&buf, part);
    buf_char(&buf, '$');
    Value anchored;
    BuiltinResult result = builtin_text_end(context, &buf, &anchored, err);
    if (result != BUILTIN_OK) return result;
    RegexMachine *machine;
    return machine_get(context, value_text(anchored), &machine, err);
}

/* Writes the pattern that the template stands for. */
static BuiltinResult template_write(BuiltinContext *context, Buf *buf, Str template, Delimiters delimiters, Error *err)
{
    if (!template_is_balanced(template, delimiters))
        return builtin_error(err, "unbalanced braces in \"%.*s\"", STR_ARG(template));
    buf_char(buf, '^');
    for (size_t at = 0; at < template.len;) {
        size_t open = str_find(template, delimiters.open, at);
        regex_quote(buf, str_slice(template, at, open));
        if (open == template.len) break;
        at = part_end(template, open, delimiters);
        Str part = str_slice(template, open + 1, at - 1);
        BuiltinResult result = part_check(context, part, err);
        if (result != BUILTIN_OK) return result;
        buf_char(buf, '(');
        buf_str(buf, part);
        buf_char(buf, ')');
    }
    buf_char(buf, '$');
    return BUILTIN_OK;
}

BuiltinResult builtin_regex_template_match(BuiltinContext *context, const Value *args, Value *out_result, Error *err)
{
    Str template, text, open, close;
    if (!operand_string(args, 0, &template, err) || !operand_string(args, 1, &text, err)
        || !operand_string(args, 2, &open, err) || !operand_string(args, 3, &close, err))
        return BUILTIN_TYPE_ERROR;
    if (open.len != 1)
        return builtin_error(err, "start delimiter has to be exactly one character long but is %zu long", open.len);
    if (close.len != 1)
        return builtin_error(err, "end delimiter has to be exactly one character long but is %zu long", close.len);
    Buf buf;
    builtin_text_begin(context, &buf);
    BuiltinResult result = template_write(context, &buf, template, (Delimiters){ open.ptr[0], close.ptr[0] }, err);
    if (result != BUILTIN_OK) {
        builtin_text_drop(&buf);
        return result;
    }
    Value pattern;
    result = builtin_text_end(context, &buf, &pattern, err);
    if (result != BUILTIN_OK) return result;
    RegexMachine *machine;
    result = machine_get(context, value_text(pattern), &machine, err);
    if (result != BUILTIN_OK) return result;
    return matches(context, machine, text, out_result, err);
}
