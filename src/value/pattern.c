#include "value/pattern.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "base/limits.h"
#include "value/pattern_read.h"

/* What the rewriting of one expression may grow to: an escape of two characters may write more than a hundred. */
#define REWRITTEN_SIZE_MAX (PATTERN_SIZE_MAX * 64u)

/* Work that one step may hide (see match_step) is counted in units of so many characters. */
#define HIDDEN_PER_STEP 16u

struct Pattern {
    const pcre2_code *code;
    uint32_t repeat_min;
    bool has_reference;
};

/* The library's memory is the arena's: nothing is given back before the arena ends, so nothing needs an owner. */
static void *memory_take(size_t size, void *context)
{
    PatternMemory *memory = context;
    if (size > memory->size_max - memory->size) return NULL;
    memory->size += size;
    return arena_try(memory->arena, size);
}

static void memory_keep(void *block, void *context)
{
    (void)block;
    (void)context;
}

/* --- compile ----------------------------------------------------------------------------------------------------- */

static Status compile_refused(int code, Error *err)
{
    static const int limits[] = { PCRE2_ERROR_HEAP_FAILED, PCRE2_ERROR_PATTERN_TOO_LARGE,
                                  PCRE2_ERROR_PATTERN_TOO_COMPLICATED, PCRE2_ERROR_PARENTHESES_NEST_TOO_DEEP,
                                  PCRE2_ERROR_LOOKBEHIND_TOO_COMPLICATED };
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++)
        if (code == limits[i]) return error_set(err, ERR_LIMIT, "the expression takes too much memory once compiled");
    char reason[128] = "";
    pcre2_get_error_message(code, (PCRE2_UCHAR *)reason, sizeof reason);
    return error_set(err, ERR_INVALID, "%s", reason);
}

static Status code_compile(PatternMemory *memory, Str rewritten, const pcre2_code **out_code, Error *err)
{
    /* Steps are counted by callouts, one before each item of the expression. */
    static const uint32_t options = PCRE2_UTF | PCRE2_NO_UTF_CHECK | PCRE2_MATCH_UNSET_BACKREF | PCRE2_AUTO_CALLOUT
                                  | PCRE2_NEVER_BACKSLASH_C;
    pcre2_general_context *general = pcre2_general_context_create(memory_take, memory_keep, memory);
    pcre2_compile_context *context = general ? pcre2_compile_context_create(general) : NULL;
    if (!context) return compile_refused(PCRE2_ERROR_HEAP_FAILED, err);
    int code = 0;
    PCRE2_SIZE at = 0;
    PCRE2_SPTR text = (PCRE2_SPTR)(rewritten.len ? rewritten.ptr : "");
    *out_code = pcre2_compile(text, rewritten.len, options, &code, &at, context);
    return *out_code ? OK : compile_refused(code, err);
}

Status pattern_compile(PatternMemory *memory, Str text, const Pattern **out_pattern, Error *err)
{
    if (text.len > PATTERN_SIZE_MAX)
        return error_set(err, ERR_LIMIT, "the expression is longer than PATTERN_SIZE_MAX (%u bytes)", PATTERN_SIZE_MAX);
    Pattern *pattern = memory_take(sizeof *pattern, memory);
    if (!pattern) return compile_refused(PCRE2_ERROR_HEAP_FAILED, err);

    Buf buf;
    buf_init(&buf, REWRITTEN_SIZE_MAX);
    PatternText rewritten = { .buf = &buf };
    Status status = pattern_rewrite(text, &rewritten, err);
    if (!status) status = code_compile(memory, buf_peek(&buf), &pattern->code, err);
    buf_deinit(&buf);
    if (status) return status;

    pattern->repeat_min = rewritten.repeat_min;
    pattern->has_reference = rewritten.has_reference;
    *out_pattern = pattern;
    return OK;
}

/* --- match ------------------------------------------------------------------------------------------------------- */

typedef struct Steps {
    uint64_t count, count_max;
    uint64_t hidden;                    /* added for each step */
    size_t position;                    /* of the last one */
} Steps;

/* Called before each item that is tried. The library's own limit counts choices alone and would let an expression read
 * the text from each of its places to its end for nothing; here what was read since the last step counts too. What
 * fails before the next step is reached cannot be seen: a fixed number of repetitions, or the text of a group compared
 * again. Its upper bound is added to every step of an expression that has such an item. */
static int match_step(pcre2_callout_block *block, void *context)
{
    Steps *steps = context;
    size_t read = block->current_position > steps->position ? block->current_position - steps->position : 0;
    steps->position = block->current_position;
    steps->count += 1 + read + steps->hidden;
    return steps->count > steps->count_max ? PCRE2_ERROR_MATCHLIMIT : 0;
}

void pattern_matcher_init(PatternMatcher *matcher, Arena *arena)
{
    *matcher = (PatternMatcher){ .memory = { .arena = arena, .size_max = SIZE_MAX } };
}

static bool matcher_start(PatternMatcher *matcher)
{
    if (matcher->state) return true;
    pcre2_general_context *general = pcre2_general_context_create(memory_take, memory_keep, &matcher->memory);
    if (!general) return false;
    pcre2_match_context *context = pcre2_match_context_create(general);
    if (!context) return false;
    pcre2_set_heap_limit(context, PATTERN_MEMORY_SIZE_MAX / 1024);
    pcre2_set_match_limit(context, UINT32_MAX);
    matcher->context = context;
    matcher->state = pcre2_match_data_create(1, general);
    return matcher->state != NULL;
}

static Status match_refused(int code, Error *err)
{
    switch (code) {
    case PCRE2_ERROR_MATCHLIMIT:
        return error_set(err, ERR_LIMIT,
                         "matching a regular expression takes more than PATTERN_STEP_COUNT_MAX (%u) steps",
                         PATTERN_STEP_COUNT_MAX);
    case PCRE2_ERROR_HEAPLIMIT:
    case PCRE2_ERROR_NOMEMORY:
        return error_set(err, ERR_LIMIT,
                         "matching a regular expression takes more than PATTERN_MEMORY_SIZE_MAX (%u) bytes",
                         PATTERN_MEMORY_SIZE_MAX);
    default: {
        char reason[128] = "";
        pcre2_get_error_message(code, (PCRE2_UCHAR *)reason, sizeof reason);
        return error_set(err, ERR_INVALID, "a text cannot be matched: %s", reason);
    }
    }
}

static uint64_t hidden_cost(const Pattern *pattern, Str text)
{
    size_t hidden = pattern->has_reference ? text.len : pattern->repeat_min;
    return (hidden < text.len ? hidden : text.len) / HIDDEN_PER_STEP;
}

Status pattern_match(PatternMatcher *matcher, const Pattern *pattern, Str text, bool *out_matches, Error *err)
{
    matcher->step_count = 0;
    if (!matcher_start(matcher)) return match_refused(PCRE2_ERROR_NOMEMORY, err);
    Steps steps = { .count_max = PATTERN_STEP_COUNT_MAX + (uint64_t)text.len * PATTERN_STEP_BYTE,
                    .hidden = hidden_cost(pattern, text) };
    pcre2_set_callout(matcher->context, match_step, &steps);
    int code = pcre2_match(pattern->code, (PCRE2_SPTR)(text.len ? text.ptr : ""), text.len, 0, 0, matcher->state,
                           matcher->context);
    matcher->step_count = steps.count;
    if (code < 0 && code != PCRE2_ERROR_NOMATCH) return match_refused(code, err);
    *out_matches = code >= 0;
    return OK;
}
