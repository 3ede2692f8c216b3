/* Pattern text to nodes: one pass from left to right, no recursion. */
#include <string.h>

#include "base/limits.h"
#include "base/utf8.h"
#include "rego/regex/regex_parser.h"
#include "rego/regex/unicode.h"

static bool parse_pattern(Parser *parser);

Status regex_parse(Arena *arena, Str text, Pattern *out_pattern, Error *err)
{
    Parser parser = { .arena = arena, .text = text, .err = err };
    if (text.len > REGEX_PATTERN_SIZE_MAX)
        return error_set(err, ERR_LIMIT, "a regular expression exceeds REGEX_PATTERN_SIZE_MAX (%u bytes)",
                         REGEX_PATTERN_SIZE_MAX);
    if (utf8_valid_size(text) < text.len) parser_fail(&parser, "invalid UTF-8", text);
    else if (parse_pattern(&parser)) *out_pattern = parser.pattern;
    return parser.status;
}

bool parser_fail(Parser *parser, const char *reason, Str expression)
{
    if (!parser->status)
        parser->status = error_set(parser->err, ERR_INVALID, "error parsing regexp: %s: `%.*s`", reason,
                                   STR_ARG(expression));
    return false;
}

static bool refuse_memory(Parser *parser)
{
    if (!parser->status)
        parser->status = error_set(parser->err, ERR_LIMIT, "no memory is left for a regular expression of %zu bytes",
                                   parser->text.len);
    return false;
}

uint32_t parser_take(Parser *parser)
{
    uint32_t point = 0;
    parser->at += utf8_decode(parser_rest(parser), &point);     /* the text was found valid at the beginning */
    return point;
}

/* --- nodes -------------------------------------------------------------------------------------------------------- */

/* Room for one more item of an array in the parser's arena; false where it is full. */
static bool array_reserve(Parser *parser, void *array, size_t item_size, size_t count, size_t *capacity)
{
    if (count < *capacity) return true;
    size_t wanted = *capacity ? 2 * *capacity : 16;
    void *items = arena_try(parser->arena, wanted * item_size);
    if (!items) return refuse_memory(parser);
    void **slot = array;
    if (count) memcpy(items, *slot, count * item_size);
    *slot = items;
    *capacity = wanted;
    return true;
}

static bool node_push(Parser *parser, Node node)
{
    if (node.height > REGEX_NODE_HEIGHT_MAX) return parser_fail(parser, "expression nests too deeply", parser->text);
    if (!array_reserve(parser, &parser->stack, sizeof *parser->stack, parser->stack_count, &parser->stack_capacity))
        return false;
    Node *made = arena_try(parser->arena, sizeof *made);
    if (!made) return refuse_memory(parser);
    *made = node;
    parser->stack[parser->stack_count++] = made;
    return true;
}

static bool class_push(Parser *parser, const Charset *set)
{
    if (set->failed) return refuse_memory(parser);
    Pattern *pattern = &parser->pattern;
    Node node = { .kind = NODE_CLASS, .height = 1, .times = 1, .index = (uint32_t)pattern->class_count };
    size_t near = pattern->class_count > 32 ? pattern->class_count - 32 : 0;
    for (size_t i = near; i < pattern->class_count; i++) {      /* the same class is often written more than once */
        const Charset *other = &pattern->classes[i];
        if (other->count != set->count) continue;
        if (set->count && memcmp(other->ranges, set->ranges, set->count * sizeof *set->ranges) != 0) continue;
        node.index = (uint32_t)i;
        return node_push(parser, node);
    }
    if (!array_reserve(parser, &pattern->classes, sizeof *pattern->classes, pattern->class_count,
                       &parser->class_capacity))
        return false;
    pattern->classes[pattern->class_count++] = *set;
    return node_push(parser, node);
}

static bool char_push(Parser *parser, uint32_t point)
{
    if ((parser->flags & FLAG_FOLD) && unicode_fold_next(point) != point) {
        Charset ring = { .arena = parser->arena };
        charset_add(&ring, point, point);
        charset_fold(&ring);
        return class_push(parser, &ring);
    }
    return node_push(parser, (Node){ .kind = NODE_CHAR, .point = point, .height = 1, .times = 1 });
}

static bool dot_push(Parser *parser)
{
    Charset any = { .arena = parser->arena };
    if (parser->flags & FLAG_DOT_ALL) {
        charset_add(&any, 0, UNICODE_POINT_MAX);
    } else {
        charset_add(&any, 0, '\n' - 1);
        charset_add(&any, '\n' + 1, UNICODE_POINT_MAX);
    }
    return class_push(parser, &any);
}

static bool assertion_push(Parser *parser, Assertion assertion)
{
    return node_push(parser, (Node){ .kind = NODE_ASSERT, .assertion = (uint8_t)assertion, .height = 1, .times = 1,
                                     .nullable = true });
}

/* Replaces the nodes from `base` on by one that holds them. */
static bool stack_fold(Parser *parser, size_t base, NodeKind kind)
{
    size_t count = parser->stack_count - base;
    if (count == 1) return true;
    Node node = { .kind = (uint8_t)kind, .times = 1, .child_count = (uint32_t)count };
    if (count == 0) {
        node.kind = NODE_EMPTY;
        node.height = 1;
        node.nullable = true;
        return node_push(parser, node);
    }
    node.children = arena_try(parser->arena, count * sizeof *node.children);
    if (!node.children) return refuse_memory(parser);
    memcpy(node.children, parser->stack + base, count * sizeof *node.children);
    node.nullable = kind == NODE_CONCAT;
    bool only_chars = kind == NODE_CONCAT;      /* a word counts as high as its letters */
    for (size_t i = 0; i < count; i++) {
        const Node *child = node.children[i];
        if (child->height > node.height) node.height = child->height;
        if (child->times > node.times) node.times = child->times;
        if (child->kind != NODE_CHAR) only_chars = false;
        node.nullable = kind == NODE_CONCAT ? node.nullable && child->nullable : node.nullable || child->nullable;
    }
    if (!only_chars) node.height++;
    parser->stack_count = base;
    return node_push(parser, node);
}

/* --- groups ------------------------------------------------------------------------------------------------------- */

static bool frame_push(Parser *parser, uint32_t group)
{
    if (!array_reserve(parser, &parser->frames, sizeof *parser->frames, parser->frame_count, &parser->frame_capacity))
        return false;
    parser->frames[parser->frame_count++] = (Frame){ parser->stack_count, parser->stack_count, group, parser->flags };
    return true;
}

static Frame *frame_top(Parser *parser) { return &parser->frames[parser->frame_count - 1]; }

static bool group_open(Parser *parser, Str name)
{
    Pattern *pattern = &parser->pattern;
    if (pattern->group_count == REGEX_GROUP_COUNT_MAX) {
        if (!parser->status)
            parser->status = error_set(parser->err, ERR_LIMIT,
                                       "a regular expression has more than REGEX_GROUP_COUNT_MAX (%u) groups",
                                       REGEX_GROUP_COUNT_MAX);
        return false;
    }
    if (!array_reserve(parser, &pattern->group_names, sizeof *pattern->group_names, pattern->group_count,
                       &parser->group_capacity))
        return false;
    pattern->group_names[pattern->group_count++] = name;
    return frame_push(parser, (uint32_t)pattern->group_count);
}

/* At a bar, a closing parenthesis or the end: the alternative being read is complete. */
static bool branch_end(Parser *parser)
{
    Frame *frame = frame_top(parser);
    if (!stack_fold(parser, frame->branch, NODE_CONCAT)) return false;
    frame->branch = parser->stack_count;
    return true;
}

static bool group_close(Parser *parser)
{
    if (parser->frame_count == 1) return parser_fail(parser, "unexpected )", parser->text);
    parser->at++;
    Frame frame = *frame_top(parser);
    if (!branch_end(parser) || !stack_fold(parser, frame.base, NODE_ALTERNATE)) return false;
    parser->frame_count--;
    parser->flags = frame.flags;
    if (frame.group == 0) return true;
    Node *child = parser->stack[--parser->stack_count];
    Node node = { .kind = NODE_GROUP, .index = frame.group, .height = (uint16_t)(child->height + 1), .child_count = 1,
                  .times = child->times, .nullable = child->nullable };
    node.children = arena_try(parser->arena, sizeof *node.children);
    if (!node.children) return refuse_memory(parser);
    node.children[0] = child;
    return node_push(parser, node);
}

static bool name_is_valid(Str name)
{
    for (size_t i = 0; i < name.len; i++)
        if (!ascii_is_alnum(name.ptr[i]) && name.ptr[i] != '_') return false;
    return name.len > 0;
}

/* At "(?P<" or "(?<", of which `prefix` is the size. */
static bool named_group_open(Parser *parser, size_t prefix)
{
    Str rest = parser_rest(parser);
    size_t close = str_find(rest, '>', 0);
    if (close == rest.len) return parser_fail(parser, "invalid named capture", rest);
    Str name = str_slice(rest, prefix, close);
    if (!name_is_valid(name)) return parser_fail(parser, "invalid named capture", str_slice(rest, 0, close + 1));
    parser->at += close + 1;
    char *copy = arena_try(parser->arena, name.len);        /* the pattern need not outlive what is made of it */
    if (!copy) return refuse_memory(parser);
    memcpy(copy, name.ptr, name.len);
    return group_open(parser, (Str){ copy, name.len });
}

/* At "(?": flags, and a group where they end in a colon. */
static bool flags_open(Parser *parser)
{
    static const struct { char letter; uint8_t flag; } letters[] = {
        { 'i', FLAG_FOLD }, { 'm', FLAG_LINES }, { 's', FLAG_DOT_ALL }, { 'U', FLAG_LAZY },
    };
    size_t from = parser->at;
    uint8_t flags = parser->flags;
    bool clearing = false, seen = false;
    parser->at += 2;
    while (!parser_done(parser)) {
        uint32_t c = parser_take(parser);
        uint8_t flag = 0;
        for (size_t i = 0; i < sizeof letters / sizeof letters[0]; i++)
            if ((uint32_t)letters[i].letter == c) flag = letters[i].flag;
        if (flag) {
            flags = (uint8_t)(clearing ? flags & ~flag : flags | flag);
            seen = true;
        } else if (c == '-' && !clearing) {
            clearing = true;
            seen = false;
        } else if ((c == ':' || c == ')') && (!clearing || seen)) {
            if (c == ':' && !frame_push(parser, 0)) return false;
            parser->flags = flags;
            return true;
        } else {
            break;
        }
    }
    return parser_fail(parser, "invalid or unsupported Perl syntax", str_slice(parser->text, from, parser->at));
}

static bool parse_open(Parser *parser)
{
    Str rest = parser_rest(parser);
    if (rest.len > 4 && str_starts(rest, STR("(?P<"))) return named_group_open(parser, 4);
    if (rest.len > 3 && str_starts(rest, STR("(?<"))) return named_group_open(parser, 3);
    if (str_starts(rest, STR("(?"))) return flags_open(parser);
    parser->at++;
    return group_open(parser, (Str){ 0 });
}

/* --- repetition --------------------------------------------------------------------------------------------------- */

typedef struct Repeat {
    size_t from;            /* where the operator begins */
    int32_t min, max;
} Repeat;

/* Digits without a leading zero; what is too big for a count is -1, which no count may be. */
static bool parse_count(Str text, size_t *at, int32_t *out_count)
{
    size_t from = *at;
    int32_t count = 0;
    while (*at < text.len && ascii_is_digit(text.ptr[*at])) {
        if (count >= 0) count = count * 10 + (text.ptr[*at] - '0');
        if (count > REGEX_REPEAT_COUNT_MAX) count = -1;
        ++*at;
    }
    *out_count = count;
    return *at > from && !(*at - from > 1 && text.ptr[from] == '0');
}

/* {n}, {n,} or {n,m}; false where it is none of these, and so means itself. */
static bool parse_braces(Parser *parser, Repeat *repeat)
{
    Str text = parser->text;
    size_t at = parser->at + 1;
    if (!parse_count(text, &at, &repeat->min)) return false;
    if (at == text.len) return false;
    bool beyond = repeat->min < 0;
    if (text.ptr[at] == ',') {
        at++;
        if (at == text.len) return false;
        if (text.ptr[at] == '}') {
            repeat->max = REPEAT_FOREVER;
        } else {
            if (!parse_count(text, &at, &repeat->max)) return false;
            if (repeat->max < 0 || repeat->max < repeat->min) beyond = true;
        }
    } else {
        repeat->max = repeat->min;
    }
    if (at == text.len || text.ptr[at] != '}') return false;
    parser->at = at + 1;
    if (beyond) parser_fail(parser, "invalid repeat count", str_slice(text, repeat->from, parser->at));
    return true;
}

/* Puts the node on top under a repetition. `last` is where the operator just before this one began, if there was one. */
static bool repeat_push(Parser *parser, const Repeat *repeat, size_t last)
{
    bool swapped = !parser_done(parser) && parser->text.ptr[parser->at] == '?';
    if (swapped) parser->at++;
    if (last != SIZE_MAX)
        return parser_fail(parser, "invalid nested repetition operator", str_slice(parser->text, last, parser->at));
    Str operator = str_slice(parser->text, repeat->from, parser->at);
    if (parser->stack_count == frame_top(parser)->branch)
        return parser_fail(parser, "missing argument to repetition operator", operator);

    Node *child = parser->stack[parser->stack_count - 1];
    uint32_t factor = (uint32_t)(repeat->max == REPEAT_FOREVER ? repeat->min : repeat->max);
    uint32_t times = child->times * (factor ? factor : 1);
    if ((repeat->min > 1 || repeat->max > 1) && times > REGEX_REPEAT_COUNT_MAX)
        return parser_fail(parser, "invalid repeat count", operator);
    Node node = { .kind = NODE_REPEAT, .min = repeat->min, .max = repeat->max, .child_count = 1,
                  .lazy = swapped != ((parser->flags & FLAG_LAZY) != 0), .nullable = child->nullable || repeat->min == 0,
                  .height = (uint16_t)(child->height + 1), .times = (uint16_t)(repeat->max == 0 ? 1 : times) };
    node.children = arena_try(parser->arena, sizeof *node.children);
    if (!node.children) return refuse_memory(parser);
    node.children[0] = child;
    parser->stack_count--;
    return node_push(parser, node);
}

/* --- the loop ----------------------------------------------------------------------------------------------------- */

static bool parse_quoted(Parser *parser)
{
    parser->at += 2;
    while (!parser_done(parser)) {
        if (str_starts(parser_rest(parser), STR("\\E"))) {
            parser->at += 2;
            return true;
        }
        if (!char_push(parser, parser_take(parser))) return false;
    }
    return true;
}

static bool parse_backslash(Parser *parser)
{
    static const struct { char letter; Assertion assertion; } places[] = {
        { 'A', ASSERT_TEXT_BEGIN }, { 'b', ASSERT_WORD_EDGE }, { 'B', ASSERT_NO_WORD_EDGE }, { 'z', ASSERT_TEXT_END },
    };
    Str rest = parser_rest(parser);
    if (rest.len >= 2) {
        if (rest.ptr[1] == 'Q') return parse_quoted(parser);
        for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
            if (rest.ptr[1] != places[i].letter) continue;
            parser->at += 2;
            return assertion_push(parser, places[i].assertion);
        }
    }
    Charset set;
    if (class_parse_escape(parser, &set)) return class_push(parser, &set);
    if (parser->status) return false;
    uint32_t point;
    return class_parse_char_escape(parser, &point) && char_push(parser, point);
}

/* Anything but a repetition. */
static bool parse_one(Parser *parser)
{
    bool lines = parser->flags & FLAG_LINES;
    Charset set;
    switch (parser->text.ptr[parser->at]) {
    case '(':
        return parse_open(parser);
    case ')':
        return group_close(parser);
    case '|':
        parser->at++;
        return branch_end(parser);
    case '^':
        parser->at++;
        return assertion_push(parser, lines ? ASSERT_LINE_BEGIN : ASSERT_TEXT_BEGIN);
    case '$':
        parser->at++;
        return assertion_push(parser, lines ? ASSERT_LINE_END : ASSERT_TEXT_END);
    case '.':
        parser->at++;
        return dot_push(parser);
    case '[':
        return class_parse_brackets(parser, &set) && class_push(parser, &set);
    case '\\':
        return parse_backslash(parser);
    default:
        return char_push(parser, parser_take(parser));
    }
}

/* Whether a repetition stands here, and which; "{" may turn out to be a plain character. */
static bool parse_repeat(Parser *parser, Repeat *repeat)
{
    *repeat = (Repeat){ parser->at, 0, REPEAT_FOREVER };
    switch (parser->text.ptr[parser->at]) {
    case '*':
        break;
    case '+':
        repeat->min = 1;
        break;
    case '?':
        repeat->max = 1;
        break;
    case '{':
        return parse_braces(parser, repeat);
    default:
        return false;
    }
    parser->at++;
    return true;
}

static bool parse_pattern(Parser *parser)
{
    if (!frame_push(parser, 0)) return false;
    size_t last = SIZE_MAX;             /* where the repetition just read began, if the last thing was one */
    while (!parser_done(parser)) {
        Repeat repeat;
        if (parse_repeat(parser, &repeat)) {
            if (parser->status || !repeat_push(parser, &repeat, last)) return false;
            last = repeat.from;
        } else {
            if (!parse_one(parser)) return false;
            last = SIZE_MAX;
        }
    }
    if (parser->frame_count > 1) return parser_fail(parser, "missing closing )", parser->text);
    if (!branch_end(parser) || !stack_fold(parser, 0, NODE_ALTERNATE)) return false;
    parser->pattern.root = parser->stack[0];
    return true;
}
