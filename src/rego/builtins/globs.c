/* globs.c - regex.globs_match: whether two globs have a common text.
 *
 * A glob here is a list of tokens, each a character, a dot (any character) or a set in brackets, and each perhaps repeated
 * by * or +. Four questions about the rest of both globs decide, each answered from answers nearer to the ends, so the
 * work is the product of their lengths:
 *
 *   normal   do the rests match token by token, a repeated token deciding how?
 *   star     the first token of the leading glob takes tokens of the other while they match it, until one of them begins
 *            what is left of both
 *
 * each with either glob in the lead, since the leading glob's repetition is tried first. The answers are those that OPA
 * gives: a trailing token that may be absent still has to meet one in the other glob. */
#include "base/utf8.h"
#include "rego/builtins/operand.h"
#include "rego/regex/charset.h"

typedef enum TokenKind { TOKEN_CHAR, TOKEN_DOT, TOKEN_SET } TokenKind;

typedef struct Token {
    uint8_t kind;
    char flag;              /* '*', '+' or 0 */
    uint32_t point;
    Charset set;
} Token;

typedef struct Glob {
    Token *tokens;
    size_t count;
} Glob;

/* --- reading ------------------------------------------------------------------------------------------------------ */

typedef struct Reader {
    BuiltinContext *context;
    Str text;
    size_t at;              /* in bytes */
    size_t index, count;    /* the same in characters, and how many there are */
    Error *err;
} Reader;

static BuiltinResult refuse(Reader *reader, size_t index, const char *reason)
{
    return builtin_error(reader->err, "input:%.*s, pos:%zu, %s: the input provided is invalid", STR_ARG(reader->text),
                         index, reason);
}

/* The next character, a backslash before it taken away. There must be one. */
static BuiltinResult read_char(Reader *reader, uint32_t *out_point, bool *out_escaped)
{
    *out_escaped = reader->text.ptr[reader->at] == '\\';
    if (*out_escaped) {
        if (reader->index + 1 == reader->count)
            return refuse(reader, reader->index, "input ends with a \\ (escape) character");
        reader->at++;
        reader->index++;
    }
    uint32_t point = 0;
    reader->at += utf8_decode(str_slice(reader->text, reader->at, reader->text.len), &point);
    reader->index++;
    *out_point = point;
    return BUILTIN_OK;
}

static BuiltinResult refuse_order(Reader *reader, uint32_t high, uint32_t low)
{
    char texts[2][4];
    Str first = { texts[0], utf8_encode(high, texts[0]) }, second = { texts[1], utf8_encode(low, texts[1]) };
    return builtin_error(reader->err,
                         "input:%.*s, pos:%zu, range is out of order: '%.*s' comes before '%.*s' in Unicode: "
                         "the input provided is invalid",
                         STR_ARG(reader->text), reader->index, STR_ARG(first), STR_ARG(second));
}

/* Behind a hyphen in brackets: the end of a range that began with `low`. */
static BuiltinResult read_range(Reader *reader, Charset *set, const uint32_t *low)
{
    if (!low) return refuse(reader, reader->index, "range character '-' must be preceded by a Unicode character");
    if (reader->index + 1 >= reader->count)
        return refuse(reader, reader->index, "range character '-' must be followed by a Unicode character");
    uint32_t high;
    bool escaped;
    BuiltinResult result = read_char(reader, &high, &escaped);
    if (result != BUILTIN_OK) return result;
    if (!escaped && (high == ']' || high == '-'))
        return refuse(reader, reader->index, "range character '-' cannot be followed by a special symbol");
    if (high < *low) return refuse_order(reader, high, *low);
    charset_add(set, *low, high);
    return BUILTIN_OK;
}

static BuiltinResult read_set(Reader *reader, Token *token)
{
    token->kind = TOKEN_SET;
    token->set = (Charset){ .arena = reader->context->arena };
    uint32_t point, low = 0;
    bool escaped, has_low = false;
    while (reader->at < reader->text.len) {
        BuiltinResult result = read_char(reader, &point, &escaped);
        if (result != BUILTIN_OK) return result;
        if (!escaped && point == ']') {
            charset_normalise(&token->set);
            return BUILTIN_OK;
        }
        if (!escaped && point == '-') {
            result = read_range(reader, &token->set, has_low ? &low : NULL);
            if (result != BUILTIN_OK) return result;
            has_low = false;
            continue;
        }
        charset_add(&token->set, point, point);
        low = point;
        has_low = true;
    }
    return refuse(reader, reader->index, "found [ without matching ]");
}

static BuiltinResult read_token(Reader *reader, Token *token)
{
    uint32_t point;
    bool escaped;
    BuiltinResult result = read_char(reader, &point, &escaped);
    if (result != BUILTIN_OK) return result;
    token->point = point;
    if (escaped) return BUILTIN_OK;
    switch (point) {
    case '.':
        token->kind = TOKEN_DOT;
        return BUILTIN_OK;
    case '[':
        return read_set(reader, token);
    case ']':
        return refuse(reader, reader->index, "set-close ']' with no preceding '['");
    case '*':
        return refuse(reader, reader->index, "flag '*' must be preceded by a non-flag");
    case '+':
        return refuse(reader, reader->index, "flag '+' must be preceded by a non-flag");
    default:
        return BUILTIN_OK;
    }
}

static bool token_equals(const Token *a, const Token *b)
{
    if (a->kind != b->kind) return false;
    if (a->kind == TOKEN_CHAR) return a->point == b->point;
    if (a->kind == TOKEN_DOT) return true;
    if (a->set.count != b->set.count) return false;
    for (size_t i = 0; i < a->set.count; i++)
        if (a->set.ranges[i].low != b->set.ranges[i].low || a->set.ranges[i].high != b->set.ranges[i].high) return false;
    return true;
}

/* a*a+ is a+: a repeated token joins an equal one before it. */
static bool token_join(Token *before, const Token *token)
{
    if (!before->flag || !token->flag || !token_equals(before, token)) return false;
    if (token->flag == '+') before->flag = '+';
    return true;
}

static BuiltinResult glob_read(BuiltinContext *context, Str text, Glob *out_glob, Error *err)
{
    Reader reader = { .context = context, .text = text, .count = utf8_count(text), .err = err };
    Glob glob = { BUILTIN_ARRAY(context, Token, reader.count, err), 0 };
    if (!glob.tokens) return BUILTIN_HALT;
    while (reader.at < text.len) {
        Token token = { .kind = TOKEN_CHAR };
        BuiltinResult result = read_token(&reader, &token);
        if (result != BUILTIN_OK) return result;
        char next = reader.at < text.len ? text.ptr[reader.at] : 0;
        if (next == '*' || next == '+') {
            token.flag = next;
            reader.at++;
            reader.index++;
        }
        if (glob.count == 0 || !token_join(&glob.tokens[glob.count - 1], &token)) glob.tokens[glob.count++] = token;
    }
    *out_glob = glob;
    return BUILTIN_OK;
}

/* --- deciding ----------------------------------------------------------------------------------------------------- */

static bool sets_meet(const Charset *a, const Charset *b)
{
    for (size_t i = 0, j = 0; i < a->count && j < b->count;) {
        if (a->ranges[i].high < b->ranges[j].low) i++;
        else if (b->ranges[j].high < a->ranges[i].low) j++;
        else return true;
    }
    return false;
}

/* Whether two tokens have a common character, repetition aside. */
static bool tokens_meet(const Token *a, const Token *b)
{
    if (a->kind == TOKEN_DOT || b->kind == TOKEN_DOT) return true;
    if (a->kind == TOKEN_CHAR && b->kind == TOKEN_CHAR) return a->point == b->point;
    if (a->kind == TOKEN_CHAR) return charset_has(b->set.ranges, b->set.count, a->point);
    if (b->kind == TOKEN_CHAR) return charset_has(a->set.ranges, a->set.count, b->point);
    return sets_meet(&a->set, &b->set);
}

/* Cuts off what the globs have in common at both ends as far as nothing is repeated, but for one token each; false where
 * they cannot meet there. */
static bool globs_trim(Glob *a, Glob *b)
{
    size_t front = 0;
    while (front < a->count && front < b->count && !a->tokens[front].flag && !b->tokens[front].flag) {
        if (!tokens_meet(&a->tokens[front], &b->tokens[front])) return false;
        front++;
    }
    if (front > 0) front--;
    size_t back = 0;
    while (a->count - back > front && b->count - back > front && !a->tokens[a->count - back - 1].flag
           && !b->tokens[b->count - back - 1].flag) {
        if (!tokens_meet(&a->tokens[a->count - back - 1], &b->tokens[b->count - back - 1])) return false;
        back++;
    }
    if (back > 0) back--;
    *a = (Glob){ a->tokens + front, a->count - front - back };
    *b = (Glob){ b->tokens + front, b->count - front - back };
    return true;
}

enum { NORMAL = 1, STAR = 4 };      /* shifted by who leads: 0 or 1 */

typedef struct Grid {
    Glob globs[2];
    uint8_t *cells;         /* answers for the rests from (i, j) on */
} Grid;

static uint8_t *grid_cell(const Grid *grid, unsigned lead, size_t in_lead, size_t in_other)
{
    size_t i = lead ? in_other : in_lead, j = lead ? in_lead : in_other;
    return &grid->cells[i * (grid->globs[1].count + 1) + j];
}

static bool grid_has(const Grid *grid, unsigned answer, unsigned lead, size_t in_lead, size_t in_other)
{
    return *grid_cell(grid, lead, in_lead, in_other) & (answer << lead);
}

static bool star_holds(const Grid *grid, unsigned lead, size_t in_lead, size_t in_other)
{
    const Glob *leading = &grid->globs[lead], *other = &grid->globs[!lead];
    const Token *next = in_lead + 1 < leading->count ? &leading->tokens[in_lead + 1] : NULL;
    if (in_other == other->count) return next == NULL;
    const Token *token = &other->tokens[in_other];
    if (next && tokens_meet(token, next) && grid_has(grid, NORMAL, lead, in_lead + 1, in_other)) return true;
    return tokens_meet(token, &leading->tokens[in_lead]) && grid_has(grid, STAR, lead, in_lead, in_other + 1);
}

/* The token at the head of the leading glob is repeated by + and so has to meet one of the other. */
static bool plus_holds(const Grid *grid, unsigned lead, size_t in_lead, size_t in_other)
{
    const Token *token = &grid->globs[!lead].tokens[in_other];
    if (!tokens_meet(&grid->globs[lead].tokens[in_lead], token)) return false;
    if (grid_has(grid, STAR, lead, in_lead, in_other + 1)) return true;
    return token->flag && grid_has(grid, NORMAL, lead, in_lead + 1, in_other);
}

static bool normal_holds(const Grid *grid, unsigned lead, size_t in_lead, size_t in_other)
{
    const Glob *leading = &grid->globs[lead], *other = &grid->globs[!lead];
    bool ended = in_lead == leading->count, other_ended = in_other == other->count;
    if (ended || other_ended) return ended && other_ended;
    const Token *a = &leading->tokens[in_lead], *b = &other->tokens[in_other];
    if (!a->flag && !b->flag) return tokens_meet(a, b) && grid_has(grid, NORMAL, lead, in_lead + 1, in_other + 1);
    if (!a->flag) {
        bool is_plus = b->flag == '+';
        return is_plus ? plus_holds(grid, !lead, in_other, in_lead) : star_holds(grid, !lead, in_other, in_lead);
    }
    return a->flag == '+' ? plus_holds(grid, lead, in_lead, in_other) : star_holds(grid, lead, in_lead, in_other);
}

static void grid_fill(Grid *grid)
{
    for (size_t i = grid->globs[0].count + 1; i-- > 0;) {
        for (size_t j = grid->globs[1].count + 1; j-- > 0;) {
            uint8_t *cell = grid_cell(grid, 0, i, j);
            if (i < grid->globs[0].count && star_holds(grid, 0, i, j)) *cell |= STAR;
            if (j < grid->globs[1].count && star_holds(grid, 1, j, i)) *cell |= STAR << 1;
            if (normal_holds(grid, 0, i, j)) *cell |= NORMAL;
            if (normal_holds(grid, 1, j, i)) *cell |= NORMAL << 1;
        }
    }
}

BuiltinResult builtin_regex_globs_match(BuiltinContext *context, const Value *args, Value *out_result, Error *err)
{
    Str texts[2];
    Grid grid = { 0 };
    for (uint32_t i = 0; i < 2; i++)
        if (!operand_string(args, i, &texts[i], err)) return BUILTIN_TYPE_ERROR;
    for (uint32_t i = 0; i < 2; i++) {
        BuiltinResult result = glob_read(context, texts[i], &grid.globs[i], err);
        if (result != BUILTIN_OK) return result;
    }
    *out_result = value_bool(false);
    if (!globs_trim(&grid.globs[0], &grid.globs[1])) return BUILTIN_OK;
    size_t cells = (grid.globs[0].count + 1) * (grid.globs[1].count + 1);
    if (!builtin_spend(context, cells, err)) return BUILTIN_HALT;
    grid.cells = BUILTIN_ARRAY(context, uint8_t, cells, err);
    if (!grid.cells) return BUILTIN_HALT;
    grid_fill(&grid);
    *out_result = value_bool(grid_has(&grid, NORMAL, 0, 0, 0));
    return BUILTIN_OK;
}
