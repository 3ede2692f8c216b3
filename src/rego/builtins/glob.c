/* glob.c - glob.match and glob.quote_meta.
 *
 * A pattern becomes a small program that is run on all its branches at once (Thompson's simulation), so that time is
 * bounded by pattern times text, whatever the pattern:
 *
 *     ?       one character that is no delimiter          {a,b*}   one of several patterns
 *     *       any number of those                         [abc]    one of these characters, [!abc] none of them
 *     **      any number of any characters                [a-c]    one between, [!a-c] none
 *     \x      x itself
 */
#include <string.h>

#include "base/limits.h"
#include "rego/builtins/operand.h"
#include "rego/builtins/runes.h"

typedef enum OpKind {
    OP_MATCH,
    OP_RUNE,                    /* this character */
    OP_ANY,                     /* any character */
    OP_PART,                    /* any but a delimiter */
    OP_RANGE,                   /* between two */
    OP_LIST,                    /* one of a text's characters */
    OP_JUMP,                    /* go on at `next` */
    OP_SPLIT,                   /* go on at both `next` and `other` */
} OpKind;

typedef struct Op {
    OpKind kind;
    bool is_negated;            /* of OP_RANGE and OP_LIST */
    uint32_t low, high;         /* OP_RUNE: low */
    Str list;
    uint32_t next, other;
} Op;

typedef struct Glob {
    BuiltinContext *context;
    Error *err;
    Str pattern;
    size_t at;
    Op *ops;
    uint32_t count;
    Value delimiters;           /* an array of strings of one character; none where it is empty */
} Glob;

/* --- compiling --------------------------------------------------------------------------------------------------- */

static Op *emit(Glob *glob, OpKind kind)
{
    Op *op = &glob->ops[glob->count++];
    *op = (Op){ .kind = kind, .next = glob->count };
    return op;
}

static BuiltinResult refuse(Glob *glob, const char *why)
{
    return builtin_error(glob->err, "glob: syntax error at %zu: %s", glob->at, why);
}

#define RUNE_NONE UINT32_MAX

/* The next character, or RUNE_NONE at the end. */
static uint32_t take_raw(Glob *glob)
{
    if (glob->at == glob->pattern.len) return RUNE_NONE;
    size_t size;
    uint32_t rune = rune_first(str_slice(glob->pattern, glob->at, glob->pattern.len), &size);
    glob->at += size;
    return rune;
}

/* The same, a backslash before it taken away. */
static uint32_t take(Glob *glob, bool *out_escaped)
{
    uint32_t rune = take_raw(glob);
    *out_escaped = rune == '\\';
    return *out_escaped ? take_raw(glob) : rune;
}

/* Behind "[": a range is exactly three characters, of which a backslash may be one; anything else is a list. */
static BuiltinResult compile_class(Glob *glob)
{
    bool escaped, is_negated = glob->at < glob->pattern.len && glob->pattern.ptr[glob->at] == '!';
    glob->at += is_negated;
    size_t from = glob->at;
    uint32_t low = take_raw(glob);
    if (low == RUNE_NONE) return refuse(glob, "unexpected end of input");
    Op *op = emit(glob, OP_RANGE);
    op->is_negated = is_negated;
    if (glob->at < glob->pattern.len && glob->pattern.ptr[glob->at] == '-') {
        glob->at++;
        uint32_t high = take_raw(glob);
        if (high == RUNE_NONE) return refuse(glob, "unexpected end of input");
        uint32_t close = take_raw(glob);
        if (close == RUNE_NONE) return refuse(glob, "unexpected end of input");
        if (close != ']') return refuse(glob, "expected close range character");
        if (high < low) return refuse(glob, "range hi character is less than lo");
        op->low = low;
        op->high = high;
        return BUILTIN_OK;
    }
    if (low == ']') return refuse(glob, "could not parse range");
    char *list = builtin_alloc(glob->context, glob->pattern.len, glob->err);
    if (!list) return BUILTIN_HALT;
    Buf buf = buf_on(list, glob->pattern.len);
    glob->at = from;
    for (;;) {
        uint32_t rune = take(glob, &escaped);
        if (rune == RUNE_NONE) return refuse(glob, "unexpected end of input");
        if (rune == ']' && !escaped) break;
        rune_print(&buf, rune);
    }
    op->kind = OP_LIST;
    op->list = buf_peek(&buf);
    return BUILTIN_OK;
}

static void compile_star(Glob *glob)
{
    OpKind kind = OP_PART;
    while (glob->at < glob->pattern.len && glob->pattern.ptr[glob->at] == '*') {
        kind = OP_ANY;
        glob->at++;
    }
    uint32_t start = glob->count;
    emit(glob, OP_SPLIT)->other = start + 3;
    emit(glob, kind);
    emit(glob, OP_JUMP)->next = start;
}

static BuiltinResult compile_sequence(Glob *glob, uint32_t depth);

/* Behind "{": each alternative begins with a split to the next one and ends with a jump behind all. */
static BuiltinResult compile_alternatives(Glob *glob, uint32_t depth)
{
    if (depth > GLOB_DEPTH_MAX)
        return builtin_limit(glob->err, "glob: braces nest deeper than GLOB_DEPTH_MAX (%u)", GLOB_DEPTH_MAX);
    uint32_t last_jump = 0;                             /* jumps are chained through `next` until the end is known */
    for (;;) {
        uint32_t split = glob->count;
        emit(glob, OP_SPLIT);
        BuiltinResult result = compile_sequence(glob, depth);
        if (result) return result;
        if (glob->at == glob->pattern.len) return refuse(glob, "unclosed `{`");
        bool is_last = glob->pattern.ptr[glob->at++] == '}';
        uint32_t jump = glob->count;
        emit(glob, OP_JUMP)->next = last_jump;
        last_jump = jump;
        glob->ops[split].other = is_last ? split + 1 : glob->count;
        if (!is_last) continue;
        for (uint32_t i = last_jump; i;) {
            uint32_t previous = glob->ops[i].next;
            glob->ops[i].next = glob->count;
            i = previous;
        }
        return BUILTIN_OK;
    }
}

/* Up to the end, or inside braces up to a comma or the closing brace. */
static BuiltinResult compile_sequence(Glob *glob, uint32_t depth)
{
    while (glob->at < glob->pattern.len) {
        char c = glob->pattern.ptr[glob->at];
        if (depth && (c == ',' || c == '}')) return BUILTIN_OK;
        BuiltinResult result = BUILTIN_OK;
        bool escaped;
        uint32_t rune = take(glob, &escaped);
        if (rune == RUNE_NONE) return refuse(glob, "trailing backslash");
        if (escaped) emit(glob, OP_RUNE)->low = rune;
        else if (rune == '*') compile_star(glob);
        else if (rune == '?') emit(glob, OP_PART);
        else if (rune == '[') result = compile_class(glob);
        else if (rune == '{') result = compile_alternatives(glob, depth + 1);
        else emit(glob, OP_RUNE)->low = rune;
        if (result) return result;
    }
    return BUILTIN_OK;
}

/* --- running ----------------------------------------------------------------------------------------------------- */

typedef struct States {
    uint32_t *list;
    uint32_t count;
} States;

typedef struct Run {
    const Glob *glob;
    States now, next;
    uint32_t *marks;                    /* the step in which an op was last added */
    uint32_t *stack;
} Run;

/* Adds an op and all that is reached from it without reading a character. */
static void add_state(Run *run, States *states, uint32_t op, uint32_t step)
{
    uint32_t depth = 0;
    run->stack[depth++] = op;
    while (depth) {
        uint32_t at = run->stack[--depth];
        if (run->marks[at] == step) continue;
        run->marks[at] = step;
        const Op *found = &run->glob->ops[at];
        if (found->kind == OP_SPLIT) run->stack[depth++] = found->other;
        if (found->kind == OP_SPLIT || found->kind == OP_JUMP) run->stack[depth++] = found->next;
        else states->list[states->count++] = at;
    }
}

static bool is_delimiter(const Glob *glob, uint32_t rune)
{
    for (uint32_t i = 0; i < glob->delimiters.count; i++) {
        size_t size;
        if (rune_first(value_text(glob->delimiters.items[i]), &size) == rune) return true;
    }
    return false;
}

static bool list_has(Str list, uint32_t rune)
{
    for (size_t at = 0, size; at < list.len; at += size)
        if (rune_first(str_slice(list, at, list.len), &size) == rune) return true;
    return false;
}

static bool op_accepts(const Glob *glob, const Op *op, uint32_t rune)
{
    switch (op->kind) {
    case OP_RUNE:
        return rune == op->low;
    case OP_ANY:
        return true;
    case OP_PART:
        return !is_delimiter(glob, rune);
    case OP_RANGE:
        return (rune >= op->low && rune <= op->high) != op->is_negated;
    case OP_LIST:
        return list_has(op->list, rune) != op->is_negated;
    case OP_MATCH:
    case OP_JUMP:
    case OP_SPLIT:
        break;
    }
    return false;
}

static BuiltinResult run_glob(const Glob *glob, Str text, bool *out_matched)
{
    size_t size = glob->count * sizeof(uint32_t);
    uint32_t *memory = builtin_alloc(glob->context, 5 * size, glob->err);
    if (!memory) return BUILTIN_HALT;
    Run run = { glob, { memory, 0 }, { memory + glob->count, 0 }, memory + 2 * glob->count, memory + 3 * glob->count };
    uint32_t step = 1;
    add_state(&run, &run.now, 0, step);
    for (size_t at = 0, width; at < text.len && run.now.count; at += width) {
        if (!builtin_spend(glob->context, 1 + run.now.count / 4, glob->err)) return BUILTIN_HALT;
        uint32_t rune = rune_first(str_slice(text, at, text.len), &width);
        step++;
        run.next.count = 0;
        for (uint32_t i = 0; i < run.now.count; i++) {
            const Op *op = &glob->ops[run.now.list[i]];
            if (op_accepts(glob, op, rune)) add_state(&run, &run.next, op->next, step);
        }
        States swapped = run.now;
        run.now = run.next;
        run.next = swapped;
    }
    *out_matched = false;
    for (uint32_t i = 0; i < run.now.count; i++)
        *out_matched = *out_matched || glob->ops[run.now.list[i]].kind == OP_MATCH;
    return BUILTIN_OK;
}

/* --- builtins ---------------------------------------------------------------------------------------------------- */

/* null means no delimiters, an empty array the dot. */
static BuiltinResult read_delimiters(const Value *args, Value *out, Error *err)
{
    static const Value dot = { .kind = VALUE_STRING, .count = 1, .text = "." };
    static const OperandType array_or_null = { KIND(VALUE_ARRAY) | KIND(VALUE_NULL), "one of {array, null}" };
    if (!operand_is(args, 1, &array_or_null, err)) return BUILTIN_TYPE_ERROR;
    *out = value_array(NULL, 0);
    if (args[1].kind == VALUE_NULL) return BUILTIN_OK;
    if (!operand_of_strings(args, 1, err)) return BUILTIN_TYPE_ERROR;
    for (uint32_t i = 0; i < args[1].count; i++)
        if (runes_count(value_text(args[1].items[i])) != 1)
            return operand_error(err, 1, "must be array of runes but got array containing string");
    *out = args[1].count ? args[1] : value_array(&dot, 1);
    return BUILTIN_OK;
}

BuiltinResult builtin_glob_match(BuiltinContext *context, const Value *args, Value *out_result, Error *err)
{
    Glob glob = { .context = context, .err = err };
    Str text;
    if (!operand_string(args, 0, &glob.pattern, err)) return BUILTIN_TYPE_ERROR;
    BuiltinResult result = read_delimiters(args, &glob.delimiters, err);
    if (result) return result;
    if (!operand_string(args, 2, &text, err)) return BUILTIN_TYPE_ERROR;
    if (!builtin_spend(context, 1 + glob.pattern.len / 8, err)) return BUILTIN_HALT;
    /* No character of a pattern makes more than three ops. */
    glob.ops = BUILTIN_ARRAY(context, Op, 3 * glob.pattern.len + 1, err);
    if (!glob.ops) return BUILTIN_HALT;
    result = compile_sequence(&glob, 0);
    if (result) return result;
    emit(&glob, OP_MATCH);
    bool is_matched;
    result = run_glob(&glob, text, &is_matched);
    if (!result) *out_result = value_bool(is_matched);
    return result;
}

BuiltinResult builtin_glob_quote_meta(BuiltinContext *context, const Value *args, Value *out_result, Error *err)
{
    Str text;
    if (!operand_string(args, 0, &text, err)) return BUILTIN_TYPE_ERROR;
    Buf buf;
    builtin_text_begin(context, &buf);
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] != '\0' && strchr("*?\\[]{}", text.ptr[i])) buf_char(&buf, '\\');
        buf_char(&buf, text.ptr[i]);
    }
    return builtin_text_end(context, &buf, out_result, err);
}
