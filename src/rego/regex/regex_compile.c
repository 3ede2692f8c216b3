/* Nodes to program, from the end to the beginning: each node is given the instruction that follows it and returns the one
 * that it begins with, so nothing is patched afterwards but the loops. */
#include <string.h>

#include "base/buf.h"
#include "base/limits.h"
#include "rego/regex/regex_machine.h"
#include "rego/regex/regex_program.h"

typedef struct Compiler {
    Arena *arena;
    Str text;
    Error *err;
    Inst *program;
    size_t count, capacity;
    Status status;          /* sticky */
} Compiler;

static uint32_t compile_node(Compiler *compiler, const Node *node, uint32_t next);
static Status   classes_make(Arena *arena, const Pattern *pattern, Regex *regex);
static Status   first_bytes_find(Arena *arena, Regex *regex);

static Status refuse_memory(Str pattern, Error *err)
{
    return error_set(err, ERR_LIMIT, "no memory is left for a regular expression of %zu bytes", pattern.len);
}

static uint32_t emit(Compiler *compiler, InstKind kind, uint32_t out, uint32_t arg)
{
    if (compiler->status) return 0;
    if (compiler->count == REGEX_PROGRAM_COUNT_MAX) {
        compiler->status = error_set(compiler->err, ERR_LIMIT,
                                     "a regular expression has more than REGEX_PROGRAM_COUNT_MAX (%u) instructions",
                                     REGEX_PROGRAM_COUNT_MAX);
        return 0;
    }
    if (compiler->count == compiler->capacity) {
        size_t capacity = compiler->capacity ? 2 * compiler->capacity : 64;
        Inst *program = arena_try(compiler->arena, capacity * sizeof *program);
        if (!program) {
            compiler->status = refuse_memory(compiler->text, compiler->err);
            return 0;
        }
        if (compiler->count) memcpy(program, compiler->program, compiler->count * sizeof *program);
        compiler->program = program;
        compiler->capacity = capacity;
    }
    compiler->program[compiler->count] = (Inst){ kind, out, arg };
    return (uint32_t)compiler->count++;
}

Status regex_compile(Arena *arena, Str text, const Regex **out_regex, Error *err)
{
    Pattern pattern;
    Status status = regex_parse(arena, text, &pattern, err);
    if (status) return status;

    Compiler compiler = { .arena = arena, .text = text, .err = err };
    uint32_t accept = emit(&compiler, INST_MATCH, 0, 0);
    uint32_t start = compile_node(&compiler, pattern.root, accept);
    if (compiler.status) return compiler.status;
    if (compiler.count * (2 * pattern.group_count + 2) > REGEX_SLOT_COUNT_MAX)
        return error_set(err, ERR_LIMIT, "instructions times group ends of a regular expression exceed "
                                         "REGEX_SLOT_COUNT_MAX (%u)", REGEX_SLOT_COUNT_MAX);

    Regex *regex = arena_try(arena, sizeof *regex);
    if (!regex) return refuse_memory(text, err);
    *regex = (Regex){
        .program = compiler.program, .count = (uint32_t)compiler.count, .start = start,
        .group_names = pattern.group_names, .group_count = (uint32_t)pattern.group_count,
        .cost = 1 + compiler.count / 32,
    };
    if (classes_make(arena, &pattern, regex) || first_bytes_find(arena, regex))
        return refuse_memory(text, err);
    *out_regex = regex;
    return OK;
}

Status regex_check(Arena *scratch, Str pattern, Error *err)
{
    Pattern parsed;
    return regex_parse(scratch, pattern, &parsed, err);
}

uint32_t regex_group_count(const Regex *regex) { return regex->group_count; }

Str regex_group_name(const Regex *regex, uint32_t index)
{
    return index == 0 ? (Str){ 0 } : regex->group_names[index - 1];
}

void regex_quote(Buf *buf, Str literal)
{
    for (size_t i = 0; i < literal.len; i++) {
        if (memchr("\\.+*?()|[]{}^$", literal.ptr[i], 14)) buf_char(buf, '\\');
        buf_char(buf, literal.ptr[i]);
    }
}

/* --- nodes -------------------------------------------------------------------------------------------------------- */

/* A split that prefers `body`, or the way out where the repetition is lazy. */
static uint32_t emit_choice(Compiler *compiler, const Node *repeat, uint32_t body, uint32_t next)
{
    return repeat->lazy ? emit(compiler, INST_SPLIT, next, body) : emit(compiler, INST_SPLIT, body, next);
}

/* The body and behind it the choice to go round again; returns the choice. */
static uint32_t compile_loop(Compiler *compiler, const Node *repeat, uint32_t next, uint32_t *out_body)
{
    uint32_t split = emit(compiler, INST_SPLIT, 0, 0);
    uint32_t body = *out_body = compile_node(compiler, repeat->children[0], split);
    if (compiler->status) return 0;
    compiler->program[split].out = repeat->lazy ? next : body;
    compiler->program[split].arg = repeat->lazy ? body : next;
    return split;
}

/* Once or more: entered through the body. */
static uint32_t compile_plus(Compiler *compiler, const Node *repeat, uint32_t next)
{
    uint32_t body;
    compile_loop(compiler, repeat, next, &body);
    return compiler->status ? 0 : body;
}

static uint32_t compile_star(Compiler *compiler, const Node *repeat, uint32_t next)
{
    if (repeat->children[0]->nullable) {
        /* The loop of a body that may be empty is entered through the body, so that an empty first round is a match with
         * its own preference and not a way around the loop. */
        uint32_t body = compile_plus(compiler, repeat, next);
        return emit_choice(compiler, repeat, body, next);
    }
    uint32_t body;
    return compile_loop(compiler, repeat, next, &body);
}

static uint32_t compile_repeat(Compiler *compiler, const Node *node, uint32_t next)
{
    const Node *child = node->children[0];
    if (child->kind == NODE_EMPTY) return next;         /* repeating nothing is nothing, however often */
    uint32_t at = next;
    int32_t copies = node->min;
    if (node->max == REPEAT_FOREVER) {
        at = node->min == 0 ? compile_star(compiler, node, next) : compile_plus(compiler, node, next);
        if (copies > 0) copies--;
    } else {
        for (int32_t i = node->min; i < node->max && !compiler->status; i++) {      /* x{0,3} is (x(x(x)?)?)? */
            uint32_t body = compile_node(compiler, child, at);
            at = emit_choice(compiler, node, body, next);
        }
    }
    for (int32_t i = 0; i < copies && !compiler->status; i++) at = compile_node(compiler, child, at);
    return at;
}

static uint32_t compile_alternate(Compiler *compiler, const Node *node, uint32_t next)
{
    uint32_t at = compile_node(compiler, node->children[node->child_count - 1], next);
    for (uint32_t i = node->child_count - 1; i-- > 0;) {
        uint32_t branch = compile_node(compiler, node->children[i], next);
        at = emit(compiler, INST_SPLIT, branch, at);
    }
    return at;
}

static uint32_t compile_node(Compiler *compiler, const Node *node, uint32_t next)
{
    if (compiler->status) return 0;
    switch ((NodeKind)node->kind) {
    case NODE_EMPTY:
        return next;
    case NODE_CHAR:
        return emit(compiler, INST_CHAR, next, node->point);
    case NODE_CLASS:
        return emit(compiler, INST_CLASS, next, node->index);
    case NODE_ASSERT:
        return emit(compiler, INST_ASSERT, next, node->assertion);
    case NODE_GROUP:
        next = emit(compiler, INST_SAVE, next, 2 * node->index + 1);
        next = compile_node(compiler, node->children[0], next);
        return emit(compiler, INST_SAVE, next, 2 * node->index);
    case NODE_CONCAT:
        for (uint32_t i = node->child_count; i-- > 0;) next = compile_node(compiler, node->children[i], next);
        return next;
    case NODE_ALTERNATE:
        return compile_alternate(compiler, node, next);
    case NODE_REPEAT:
        return compile_repeat(compiler, node, next);
    }
    return next;
}

/* --- what matching can know beforehand ---------------------------------------------------------------------------- */

static Status classes_make(Arena *arena, const Pattern *pattern, Regex *regex)
{
    CharClass *classes = arena_try(arena, (pattern->class_count + 1) * sizeof *classes);
    if (!classes) return ERR_LIMIT;
    for (size_t i = 0; i < pattern->class_count; i++) {
        const Charset *set = &pattern->classes[i];
        classes[i] = (CharClass){ .ranges = set->ranges, .range_count = set->count };
        for (uint32_t c = 0; c < 128; c++)
            if (charset_has(set->ranges, set->count, c)) classes[i].ascii[c / 64] |= UINT64_C(1) << (c % 64);
    }
    regex->classes = classes;
    regex->class_count = (uint32_t)pattern->class_count;
    return OK;
}

/* The first byte of a character in UTF-8. */
static uint32_t lead_byte(uint32_t point)
{
    if (point < 0x80) return point;
    if (point < 0x800) return 0xc0 | point >> 6;
    if (point < 0x10000) return 0xe0 | point >> 12;
    return 0xf0 | point >> 18;
}

static void first_add(Regex *regex, uint32_t low, uint32_t high)
{
    bool has_broken = low <= REGEX_BROKEN && REGEX_BROKEN <= high;         /* which any byte may be that is no ASCII */
    for (uint32_t byte = lead_byte(low); byte <= lead_byte(high); byte++) {
        bool continues = byte >= 0x80 && byte < 0xc0;       /* lies between the two, but begins no character */
        if (!continues) regex->first[byte / 64] |= UINT64_C(1) << (byte % 64);
    }
    for (uint32_t byte = 0x80; has_broken && byte <= 0xff; byte++) regex->first[byte / 64] |= UINT64_C(1) << (byte % 64);
}

/* Walks all that is reachable without reading: with which bytes a match can begin, whether it may be empty, and whether every
 * way begins at the beginning of the text. */
static Status first_bytes_find(Arena *arena, Regex *regex)
{
    uint32_t *stack = arena_try(arena, (2 * (size_t)regex->count + 1) * sizeof *stack);
    uint8_t *seen = arena_try(arena, regex->count);     /* 1: passed behind an anchor; 2: without one */
    if (!stack || !seen) return ERR_LIMIT;
    size_t depth = 0;
    regex->anchored = regex->has_first = true;
    for (uint32_t i = 0; i < regex->count; i++)
        if (regex->program[i].kind == INST_ASSERT) regex->has_assertions = true;
    stack[depth++] = regex->start;
    seen[regex->start] = 2;
    while (depth > 0) {
        uint32_t at = stack[--depth];
        const Inst *inst = &regex->program[at];
        uint8_t mark = seen[at];
        uint32_t nexts[2];
        unsigned next_count = 0;
        switch ((InstKind)inst->kind) {
        case INST_CHAR:
            first_add(regex, inst->arg, inst->arg);
            if (mark == 2) regex->anchored = false;
            break;
        case INST_CLASS:
            for (size_t i = 0; i < regex->classes[inst->arg].range_count; i++)
                first_add(regex, regex->classes[inst->arg].ranges[i].low, regex->classes[inst->arg].ranges[i].high);
            if (mark == 2) regex->anchored = false;
            break;
        case INST_MATCH:
            regex->has_first = false;
            if (mark == 2) regex->anchored = false;
            break;
        case INST_ASSERT:
            if (inst->arg == ASSERT_TEXT_BEGIN) mark = 1;
            nexts[next_count++] = inst->out;
            break;
        case INST_SPLIT:
            nexts[next_count++] = inst->arg;
            nexts[next_count++] = inst->out;
            break;
        case INST_SAVE:
            nexts[next_count++] = inst->out;
            break;
        }
        for (unsigned i = 0; i < next_count; i++) {
            if (seen[nexts[i]] >= mark) continue;       /* seen again only where it was behind an anchor so far */
            seen[nexts[i]] = mark;
            stack[depth++] = nexts[i];
        }
    }
    return OK;
}

uint32_t regex_assertions_at(uint32_t before, uint32_t after)
{
    uint32_t holds = 0;
    if (before == REGEX_EDGE) holds |= ASSERT_TEXT_BEGIN;
    if (after == REGEX_EDGE) holds |= ASSERT_TEXT_END;
    if (before == REGEX_EDGE || before == '\n') holds |= ASSERT_LINE_BEGIN;
    if (after == REGEX_EDGE || after == '\n') holds |= ASSERT_LINE_END;
    bool word_before = before < 128 && (ascii_is_alnum((char)before) || before == '_');
    bool word_after = after < 128 && (ascii_is_alnum((char)after) || after == '_');
    holds |= word_before != word_after ? ASSERT_WORD_EDGE : ASSERT_NO_WORD_EDGE;
    return holds;
}
