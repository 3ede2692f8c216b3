#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/limits.h"
#include "rego/builtins/format.h"
#include "rego/builtins/json_text.h"
#include "rego/builtins/operand.h"
#include "rego/builtins/runes.h"
#include "rego/builtins/template.h"
#include "rego/builtins/text.h"
#include "rego/builtins/url_escape.h"
#include "value/number.h"

/* A value while a template runs. Numbers of the data are texts to Go (json.Number), those of the template numbers. */
typedef enum ResultKind {
    RESULT_NONE,                    /* a key that is missing */
    RESULT_DATA,
    RESULT_INTEGER,
    RESULT_REAL,                    /* `data` holds the number */
} ResultKind;

typedef struct Result {
    ResultKind kind;
    Value data;
    int64_t integer;
} Result;

typedef struct Variable {
    Str name;
    Result value;
    struct Variable *outer;
} Variable;

typedef struct Runner {
    BuiltinContext *context;
    Error *err;
    const Template *template;
    Buf *buf;
    Variable *variables;
    uint32_t depth;
    Str source;                     /* of the command under way */
    const char *place;              /* where in the text a failure is */
} Runner;

/* What a list of nodes did to the loop around it. */
typedef enum Flow { FLOW_ON, FLOW_BREAK, FLOW_CONTINUE } Flow;

static BuiltinResult run_list(Runner *runner, const Node *list, Result dot, Flow *out_flow);
static BuiltinResult eval_pipeline(Runner *runner, const Pipeline *pipeline, Result dot, Result *out);

static BuiltinResult fail(Runner *runner, const char *format, ...) PRINTF_LIKE(2, 3);

static BuiltinResult fail(Runner *runner, const char *format, ...)
{
    char text[ERROR_TEXT_SIZE / 2];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    uint32_t line = 1;
    const char *line_begin = runner->template->text.ptr;
    for (const char *at = line_begin; at < runner->place; at++) {
        if (*at != '\n') continue;
        line++;
        line_begin = at + 1;
    }
    return builtin_error(runner->err, "template: template:%u:%td: executing \"template\" at <%.*s>: %s", line,
                         runner->place - line_begin, STR_ARG(runner->source), text);
}

/* --- values ------------------------------------------------------------------------------------------------------ */

static Result data_of(Value value)
{
    return (Result){ .kind = RESULT_DATA, .data = value };
}

static Result truth_of(bool truth)
{
    return data_of(value_bool(truth));
}

static bool is_nil(Result value)
{
    return value.kind == RESULT_NONE || (value.kind == RESULT_DATA && value.data.kind == VALUE_NULL);
}

/* Go sees a string: a text, or a number of the data. */
static bool is_text(Result value)
{
    return value.kind == RESULT_DATA && (value.data.kind == VALUE_STRING || value_is_number(value.data));
}

static bool is_true(Result value)
{
    if (is_nil(value)) return false;
    if (value.kind == RESULT_INTEGER) return value.integer != 0;
    if (value.kind == RESULT_REAL) return number_compare(value.data, value_int(0)) != 0;
    return value_is_number(value.data) || value.data.count != 0;       /* booleans count 0 or 1 */
}

/* Values as Go prints them: [1 x map[k:v]]. */
static void print_data(Buf *buf, Value value)
{
    switch ((ValueKind)value.kind) {
    case VALUE_NULL:
        buf_text(buf, "<nil>");
        return;
    case VALUE_STRING:
        buf_str(buf, value_text(value));
        return;
    case VALUE_ARRAY:
    case VALUE_SET:
        buf_char(buf, '[');
        for (uint32_t i = 0; i < value.count; i++) {
            if (i) buf_char(buf, ' ');
            print_data(buf, value.items[i]);
        }
        buf_char(buf, ']');
        return;
    case VALUE_OBJECT:
        buf_text(buf, "map[");
        for (uint32_t i = 0; i < value.count; i++) {
            if (i) buf_char(buf, ' ');
            print_data(buf, value.members[i].key);
            buf_char(buf, ':');
            print_data(buf, value.members[i].value);
        }
        buf_char(buf, ']');
        return;
    case VALUE_BOOL:
    case VALUE_INT:
    case VALUE_DECIMAL:
        if (value.kind == VALUE_BOOL) buf_text(buf, value.count ? "true" : "false");
        else if (value.kind == VALUE_INT) buf_i64(buf, value.integer);
        else buf_str(buf, value_text(value));
        return;
    }
}

static void print_result(Buf *buf, Result value)
{
    if (value.kind == RESULT_INTEGER) buf_i64(buf, value.integer);
    else if (value.kind == RESULT_REAL) format_value(buf, value.data);
    else print_data(buf, is_nil(value) ? value_null() : value.data);
}

/* --- fields and variables ---------------------------------------------------------------------------------------- */

static BuiltinResult follow(Runner *runner, Result value, const FieldName *fields, Result *out)
{
    if (fields && fields->next) runner->place = fields->next->name.ptr - 1;
    for (; fields; fields = fields->next) {
        if (value.kind == RESULT_NONE) break;
        if (is_nil(value)) return fail(runner, "nil pointer evaluating interface {}.%.*s", STR_ARG(fields->name));
        if (value.kind != RESULT_DATA || value.data.kind != VALUE_OBJECT)
            return fail(runner, "can't evaluate field %.*s in type interface {}", STR_ARG(fields->name));
        const Value *found = value_get(value.data, fields->name);
        value = found ? data_of(*found) : (Result){ .kind = RESULT_NONE };
    }
    *out = value;
    return BUILTIN_OK;
}

static Variable *variable_find(Runner *runner, Str name)
{
    Variable *variable = runner->variables;
    while (variable && !str_is(variable->name, name)) variable = variable->outer;
    return variable;
}

static void variable_push(Runner *runner, Str name, Result value)
{
    Variable *variable = ARENA_NEW(runner->context->arena, Variable);
    *variable = (Variable){ name, value, runner->variables };
    runner->variables = variable;
}

/* --- functions --------------------------------------------------------------------------------------------------- */

typedef BuiltinResult (*TemplateFunction)(Runner *runner, const Result *args, uint32_t count, Result *out);

static BuiltinResult text_result(Runner *runner, Buf *buf, Result *out)
{
    out->kind = RESULT_DATA;
    return builtin_text_end(runner->context, buf, &out->data, runner->err);
}

static BuiltinResult call_not(Runner *runner, const Result *args, uint32_t count, Result *out)
{
    *out = truth_of(!is_true(args[0]));
    return BUILTIN_OK;
}

/* Of a text: its bytes. */
static BuiltinResult call_len(Runner *runner, const Result *args, uint32_t count, Result *out)
{
    Value value = args[0].data;
    bool is_countable = args[0].kind == RESULT_DATA && value.kind != VALUE_NULL && value.kind != VALUE_BOOL;
    if (!is_countable) return fail(runner, "error calling len: len of type %s", is_nil(args[0]) ? "nil" : "int");
    Buf digits;
    buf_init(&digits, 64);
    if (value.kind == VALUE_INT) print_data(&digits, value);
    *out = (Result){ .kind = RESULT_INTEGER, .integer = value.kind == VALUE_INT ? (int64_t)digits.len : value.count };
    buf_deinit(&digits);
    return BUILTIN_OK;
}

/* Numbers are texts to a template, and can be taken apart as such. */
static Value number_as_text(Runner *runner, Value value)
{
    if (value.kind == VALUE_INT) return value_string(arena_format(runner->context->arena, "%" PRId64, value.integer));
    if (value.kind == VALUE_DECIMAL) value.kind = VALUE_STRING;
    return value;
}

static BuiltinResult call_index(Runner *runner, const Result *args, uint32_t count, Result *out)
{
    Result value = args[0];
    for (uint32_t i = 1; i < count; i++) {
        if (value.kind != RESULT_DATA || value.data.kind == VALUE_NULL)
            return fail(runner, "error calling index: index of untyped nil");
        if (value.data.kind == VALUE_OBJECT) {
            if (!is_text(args[i]) || args[i].data.kind != VALUE_STRING)
                return fail(runner, "error calling index: value has type int; should be string");
            const Value *found = value_get(value.data, value_text(args[i].data));
            value = found ? data_of(*found) : data_of(value_null());
        } else if (value.data.kind != VALUE_BOOL) {
            value.data = number_as_text(runner, value.data);
            if (args[i].kind != RESULT_INTEGER)
                return fail(runner, "error calling index: cannot index slice/array with type %s",
                            is_text(args[i]) && args[i].data.kind != VALUE_STRING ? "json.Number" : "string");
            if (args[i].integer < 0 || args[i].integer >= value.data.count)
                return fail(runner, "error calling index: index out of range: %lld", (long long)args[i].integer);
            if (value.data.kind == VALUE_ARRAY) value = data_of(value.data.items[args[i].integer]);
            else value = (Result){ .kind = RESULT_INTEGER, .integer = (uint8_t)value.data.text[args[i].integer] };
        } else {
            return fail(runner, "error calling index: can't index item of type %s", value_kind_name(value.data));
        }
    }
    *out = value;
    return BUILTIN_OK;
}

static BuiltinResult call_slice(Runner *runner, const Result *args, uint32_t count, Result *out)
{
    Value value = args[0].kind == RESULT_DATA ? number_as_text(runner, args[0].data) : args[0].data;
    bool is_sliceable = args[0].kind == RESULT_DATA && (value.kind == VALUE_STRING || value.kind == VALUE_ARRAY);
    if (!is_sliceable)
        return fail(runner, "error calling slice: can't slice item of type %s", value_kind_name(value));
    int64_t bounds[2] = { 0, value.count };
    if (count > 3) return fail(runner, "error calling slice: too many slice indexes: %u", count - 1);
    for (uint32_t i = 1; i < count; i++) {
        if (args[i].kind != RESULT_INTEGER)
            return fail(runner, "error calling slice: cannot index slice/array with type string");
        bounds[i - 1] = args[i].integer;
        if (bounds[i - 1] < 0 || bounds[i - 1] > value.count)
            return fail(runner, "error calling slice: index out of range: %lld", (long long)bounds[i - 1]);
    }
    if (bounds[0] > bounds[1])
        return fail(runner, "error calling slice: invalid slice index: %lld > %lld", (long long)bounds[0],
                    (long long)bounds[1]);
    value.count = (uint32_t)(bounds[1] - bounds[0]);
    if (value.kind == VALUE_STRING) value.text += bounds[0];
    else value.items += bounds[0];
    *out = data_of(value);
    return BUILTIN_OK;
}

/* Between two values that are no texts there is a space. */
static void print_all(Buf *buf, const Result *args, uint32_t count, bool always_spaced)
{
    for (uint32_t i = 0; i < count; i++) {
        if (i && (always_spaced || (!is_text(args[i]) && !is_text(args[i - 1])))) buf_char(buf, ' ');
        print_result(buf, args[i]);
    }
}

static BuiltinResult call_print(Runner *runner, const Result *args, uint32_t count, Result *out)
{
    Buf buf;
    builtin_text_begin(runner->context, &buf);
    print_all(&buf, args, count, false);
    return text_result(runner, &buf, out);
}

static BuiltinResult call_println(Runner *runner, const Result *args, uint32_t count, Result *out)
{
    Buf buf;
    builtin_text_begin(runner->context, &buf);
    print_all(&buf, args, count, true);
    buf_char(&buf, '\n');
    return text_result(runner, &buf, out);
}

static BuiltinResult call_printf(Runner *runner, const Result *args, uint32_t count, Result *out)
{
    if (!is_text(args[0]) || args[0].data.kind != VALUE_STRING)
        return fail(runner, "wrong type for value; expected string");
    Value *values = BUILTIN_ARRAY(runner->context, Value, count, runner->err);
    bool *literals = values ? BUILTIN_ARRAY(runner->context, bool, count, runner->err) : NULL;
    if (!literals) return BUILTIN_HALT;
    for (uint32_t i = 1; i < count; i++) {
        literals[i - 1] = args[i].kind == RESULT_INTEGER || args[i].kind == RESULT_REAL;
        values[i - 1] = args[i].kind == RESULT_INTEGER ? value_int(args[i].integer)
                      : is_nil(args[i]) ? value_null() : args[i].data;
    }
    if (!format_spend(runner->context, value_text(args[0].data), values, count - 1, runner->err)) return BUILTIN_HALT;
    Buf buf;
    builtin_text_begin(runner->context, &buf);
    format_print_data(&buf, value_text(args[0].data), values, literals, count - 1);
    return text_result(runner, &buf, out);
}

/* The arguments as one text, for the functions that escape it. */
static BuiltinResult escape_with(Runner *runner, const Result *args, uint32_t count, void (*escape)(Buf *, Str),
                                 Result *out)
{
    Buf plain, escaped;
    buf_init(&plain, REGO_VALUE_SIZE_MAX);
    print_all(&plain, args, count, false);
    builtin_text_begin(runner->context, &escaped);
    escape(&escaped, buf_peek(&plain));
    buf_deinit(&plain);
    return text_result(runner, &escaped, out);
}

static void escape_html(Buf *buf, Str text)
{
    for (size_t i = 0; i < text.len; i++) {
        switch (text.ptr[i]) {
        case '\0': rune_print(buf, RUNE_INVALID); break;
        case '"': buf_text(buf, "&#34;"); break;
        case '\'': buf_text(buf, "&#39;"); break;
        case '&': buf_text(buf, "&amp;"); break;
        case '<': buf_text(buf, "&lt;"); break;
        case '>': buf_text(buf, "&gt;"); break;
        default: buf_char(buf, text.ptr[i]);
        }
    }
}

static void escape_js(Buf *buf, Str text)
{
    for (size_t at = 0, size; at < text.len; at += size) {
        uint32_t rune = rune_first(str_slice(text, at, text.len), &size);
        if (rune == '\\' || rune == '\'' || rune == '"') {
            buf_char(buf, '\\');
            buf_char(buf, (char)rune);
        } else if (rune < ' ' || rune == '<' || rune == '>' || rune == '&' || rune == '=' || !rune_is_printable(rune)) {
            buf_format(buf, "\\u%04X", rune);
        } else {
            rune_print(buf, rune);
        }
    }
}

static void escape_query(Buf *buf, Str text)
{
    url_escape(buf, text, URL_QUERY);
}

static BuiltinResult call_html(Runner *runner, const Result *args, uint32_t count, Result *out)
{
    return escape_with(runner, args, count, escape_html, out);
}

static BuiltinResult call_js(Runner *runner, const Result *args, uint32_t count, Result *out)
{
    return escape_with(runner, args, count, escape_js, out);
}

static BuiltinResult call_urlquery(Runner *runner, const Result *args, uint32_t count, Result *out)
{
    return escape_with(runner, args, count, escape_query, out);
}

static BuiltinResult call_call(Runner *runner, const Result *args, uint32_t count, Result *out)
{
    return fail(runner, "error calling call: non-function %.*s", STR_ARG(runner->source));
}

/* --- comparisons ------------------------------------------------------------------------------------------------- */

typedef enum Basic { BASIC_NONE, BASIC_BOOL, BASIC_INTEGER, BASIC_REAL, BASIC_TEXT } Basic;

static Basic basic_of(Result value)
{
    if (value.kind == RESULT_INTEGER) return BASIC_INTEGER;
    if (value.kind == RESULT_REAL) return BASIC_REAL;
    if (is_text(value)) return BASIC_TEXT;
    return value.kind == RESULT_DATA && value.data.kind == VALUE_BOOL ? BASIC_BOOL : BASIC_NONE;
}

static Value text_of(Runner *runner, Result value)
{
    if (value.data.kind != VALUE_INT) return value_string(value_text(value.data));
    return value_string(arena_format(runner->context->arena, "%lld", (long long)value.data.integer));
}

/* The order of two values of one basic type. */
static BuiltinResult compare(Runner *runner, const char *name, Result a, Result b, int *out)
{
    static const char *const types[] = { "interface {}", "bool", "int", "float64", "string" };
    Basic left = basic_of(a), right = basic_of(b);
    if (left == BASIC_NONE || right == BASIC_NONE)
        return fail(runner, "error calling %s: non-comparable type or invalid type for comparison", name);
    if (left != right)
        return fail(runner, "error calling %s: incompatible types for comparison: %s and %s", name,
                    left == BASIC_TEXT && a.data.kind != VALUE_STRING ? "json.Number" : types[left],
                    right == BASIC_TEXT && b.data.kind != VALUE_STRING ? "json.Number" : types[right]);
    if (left == BASIC_INTEGER) *out = (a.integer > b.integer) - (a.integer < b.integer);
    else if (left == BASIC_TEXT) *out = value_compare(text_of(runner, a), text_of(runner, b));
    else *out = value_compare(a.data, b.data);
    return BUILTIN_OK;
}

/* True where the first equals any of the others. */
static BuiltinResult call_eq(Runner *runner, const Result *args, uint32_t count, Result *out)
{
    if (count < 2) return fail(runner, "error calling eq: missing argument for comparison");
    bool is_equal = false;
    for (uint32_t i = 1; i < count && !is_equal; i++) {
        int order = 1;
        if (is_nil(args[0]) || is_nil(args[i])) order = is_nil(args[0]) != is_nil(args[i]);
        else {
            BuiltinResult result = compare(runner, "eq", args[0], args[i], &order);
            if (result) return result;
        }
        is_equal = order == 0;
    }
    *out = truth_of(is_equal);
    return BUILTIN_OK;
}

static BuiltinResult call_ne(Runner *runner, const Result *args, uint32_t count, Result *out)
{
    BuiltinResult result = call_eq(runner, args, count, out);
    if (!result) *out = truth_of(!is_true(*out));
    return result;
}

static BuiltinResult order(Runner *runner, const char *name, const Result *args, int *out)
{
    if (basic_of(args[0]) == BASIC_BOOL) return fail(runner, "error calling %s: invalid type for comparison", name);
    return compare(runner, name, args[0], args[1], out);
}

#define ORDER(function, name, condition) \
    static BuiltinResult function(Runner *runner, const Result *args, uint32_t count, Result *out) \
    { \
        int sign; \
        BuiltinResult result = order(runner, name, args, &sign); \
        if (!result) *out = truth_of(condition); \
        return result; \
    }

ORDER(call_lt, "lt", sign < 0)
ORDER(call_le, "le", sign <= 0)
ORDER(call_gt, "gt", sign > 0)
ORDER(call_ge, "ge", sign >= 0)

#define ANY_COUNT UINT32_MAX

static const struct { const char *name; uint32_t least, most; TemplateFunction call; } functions[] = {
    { "call", 1, ANY_COUNT, call_call },     { "eq", 1, ANY_COUNT, call_eq },         { "ge", 2, 2, call_ge },
    { "gt", 2, 2, call_gt },                 { "html", 0, ANY_COUNT, call_html },     { "index", 1, ANY_COUNT, call_index },
    { "js", 0, ANY_COUNT, call_js },         { "le", 2, 2, call_le },                 { "len", 1, 1, call_len },
    { "lt", 2, 2, call_lt },                 { "ne", 1, ANY_COUNT, call_ne },         { "not", 1, 1, call_not },
    { "print", 0, ANY_COUNT, call_print },   { "printf", 1, ANY_COUNT, call_printf }, { "println", 0, ANY_COUNT, call_println },
    { "slice", 1, ANY_COUNT, call_slice },   { "urlquery", 0, ANY_COUNT, call_urlquery },
};

/* --- pipelines --------------------------------------------------------------------------------------------------- */

static BuiltinResult eval_operand(Runner *runner, const Term *operand, Result dot, Result *out)
{
    if (!builtin_spend(runner->context, 1, runner->err)) return BUILTIN_HALT;
    switch (operand->kind) {
    case TERM_DOT:
        return follow(runner, dot, operand->fields, out);
    case TERM_VARIABLE:
        return follow(runner, variable_find(runner, operand->text)->value, operand->fields, out);
    case TERM_PIPELINE: {
        BuiltinResult result = eval_pipeline(runner, operand->pipeline, dot, out);
        return result ? result : follow(runner, *out, operand->fields, out);
    }
    case TERM_TEXT:
        *out = data_of(value_string(operand->text));
        return BUILTIN_OK;
    case TERM_INTEGER:
        *out = (Result){ .kind = RESULT_INTEGER, .integer = operand->integer };
        return BUILTIN_OK;
    case TERM_REAL:
        *out = (Result){ .kind = RESULT_REAL, .data = number_make(runner->context->arena, operand->text) };
        return BUILTIN_OK;
    case TERM_TRUTH:
        *out = truth_of(operand->integer != 0);
        return BUILTIN_OK;
    case TERM_NIL:
        *out = data_of(value_null());
        return BUILTIN_OK;
    case TERM_FUNCTION:
        break;
    }
    return fail(runner, "can't evaluate function %.*s here", STR_ARG(operand->text));
}

/* `and` and `or` stop at the first argument that decides. */
static BuiltinResult eval_logic(Runner *runner, const Term *first, Result dot, const Result *piped, Result *out)
{
    bool stops_at = str_is(first->text, STR("or"));
    if (!first->next && !piped)
        return fail(runner, "wrong number of args for %.*s: want at least 1 got 0", STR_ARG(first->text));
    for (const Term *operand = first->next; operand; operand = operand->next) {
        Term alone = *operand;
        alone.next = NULL;
        BuiltinResult result = eval_operand(runner, &alone, dot, out);
        if (result || is_true(*out) == stops_at) return result;
    }
    if (piped) *out = *piped;
    return BUILTIN_OK;
}

static BuiltinResult eval_call(Runner *runner, const Command *command, Result dot, const Result *piped, Result *out)
{
    const Term *first = command->operands;
    if (str_is(first->text, STR("and")) || str_is(first->text, STR("or")))
        return eval_logic(runner, first, dot, piped, out);
    uint32_t count = piped != NULL;
    for (const Term *operand = first->next; operand; operand = operand->next) count++;
    Result *args = BUILTIN_ARRAY(runner->context, Result, count + 1, runner->err);
    if (!args) return BUILTIN_HALT;
    uint32_t filled = 0;
    for (const Term *operand = first->next; operand; operand = operand->next) {
        BuiltinResult result;
        if (operand->kind == TERM_FUNCTION) {
            Command inner = { .operands = &(Term){ .kind = TERM_FUNCTION, .text = operand->text } };
            result = eval_call(runner, &inner, dot, NULL, &args[filled++]);
        } else {
            result = eval_operand(runner, operand, dot, &args[filled++]);
        }
        if (result) return result;
    }
    if (piped) args[filled++] = *piped;
    for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++) {
        if (!str_is_text(first->text, functions[i].name)) continue;
        if (count < functions[i].least || count > functions[i].most)
            return fail(runner, "wrong number of args for %s: want %s%u got %u", functions[i].name,
                        functions[i].most == ANY_COUNT ? "at least " : "", functions[i].least, count);
        return functions[i].call(runner, args, count, out);
    }
    return fail(runner, "function \"%.*s\" not defined", STR_ARG(first->text));
}

static BuiltinResult eval_command(Runner *runner, const Command *command, Result dot, const Result *piped, Result *out)
{
    const Term *first = command->operands;
    runner->source = command->source;
    runner->place = command->source.ptr;
    if (first->kind == TERM_FUNCTION) return eval_call(runner, command, dot, piped, out);
    if (first->kind == TERM_NIL) return fail(runner, "nil is not a command");
    if (first->next || piped) {
        if (first->fields) {
            const FieldName *last = first->fields;
            while (last->next) last = last->next;
            return fail(runner, "%.*s is not a method but has arguments", STR_ARG(last->name));
        }
        return fail(runner, "can't give argument to non-function %.*s", STR_ARG(first->source));
    }
    return eval_operand(runner, first, dot, out);
}

static BuiltinResult eval_pipeline(Runner *runner, const Pipeline *pipeline, Result dot, Result *out)
{
    Result value = { 0 };
    const Command *first = pipeline->commands;
    for (const Command *command = first; command; command = command->next) {
        Result piped = value;
        BuiltinResult result = eval_command(runner, command, dot, command == first ? NULL : &piped, &value);
        if (result) return result;
    }
    for (uint32_t i = 0; i < pipeline->variable_count; i++) {
        if (pipeline->is_assignment) variable_find(runner, pipeline->variables[i])->value = value;
        else variable_push(runner, pipeline->variables[i], value);
    }
    *out = value;
    return BUILTIN_OK;
}

/* --- nodes ------------------------------------------------------------------------------------------------------- */

static BuiltinResult run_choice(Runner *runner, const Node *node, Result dot, Flow *out_flow)
{
    Variable *outer = runner->variables;
    Result value;
    BuiltinResult result = eval_pipeline(runner, node->pipeline, dot, &value);
    if (!result && is_true(value))
        result = run_list(runner, node->body, node->kind == NODE_WITH ? value : dot, out_flow);
    else if (!result) result = run_list(runner, node->otherwise, dot, out_flow);
    runner->variables = outer;
    return result;
}

/* One turn of a loop: the last variable is the item, the one before it the index or key. */
static BuiltinResult run_turn(Runner *runner, const Node *node, Result key, Result item, Flow *out_flow)
{
    Variable *outer = runner->variables;
    const Pipeline *pipeline = node->pipeline;
    for (uint32_t i = 0; i < pipeline->variable_count; i++) {
        Result value = i + 1 == pipeline->variable_count ? item : key;
        if (pipeline->is_assignment) variable_find(runner, pipeline->variables[i])->value = value;
        else variable_push(runner, pipeline->variables[i], value);
    }
    BuiltinResult result = run_list(runner, node->body, item, out_flow);
    runner->variables = outer;
    return result;
}

static BuiltinResult run_range(Runner *runner, const Node *node, Result dot, Flow *out_flow)
{
    Pipeline plain = *node->pipeline;
    plain.variable_count = 0;
    Result value;
    BuiltinResult result = eval_pipeline(runner, &plain, dot, &value);
    if (result) return result;
    bool is_list = value.kind == RESULT_DATA && (value.data.kind == VALUE_ARRAY || value.data.kind == VALUE_OBJECT);
    if (!is_list && value.kind != RESULT_INTEGER && !is_nil(value)) {
        Buf shown;
        buf_init(&shown, ERROR_TEXT_SIZE / 4);
        print_result(&shown, value);
        result = fail(runner, "range can't iterate over %.*s", STR_ARG(buf_peek(&shown)));
        buf_deinit(&shown);
        return result;
    }
    int64_t count = is_nil(value) ? 0 : value.kind == RESULT_INTEGER ? value.integer : value.data.count;
    if (count <= 0) return run_list(runner, node->otherwise, dot, out_flow);
    for (int64_t i = 0; i < count; i++) {
        Result index = { .kind = RESULT_INTEGER, .integer = i };
        Flow flow = FLOW_ON;
        if (!builtin_spend(runner->context, 1, runner->err)) return BUILTIN_HALT;
        if (value.kind == RESULT_INTEGER) result = run_turn(runner, node, index, index, &flow);
        else if (value.data.kind == VALUE_ARRAY)
            result = run_turn(runner, node, index, data_of(value.data.items[i]), &flow);
        else
            result = run_turn(runner, node, data_of(value.data.members[i].key), data_of(value.data.members[i].value),
                              &flow);
        if (result) return result;
        if (flow == FLOW_BREAK) break;
    }
    return BUILTIN_OK;
}

static BuiltinResult run_call(Runner *runner, const Node *node, Result dot)
{
    const NamedTemplate *named = runner->template->named;
    while (named && !str_is(named->name, node->text)) named = named->next;
    runner->source = node->source;
    runner->place = node->source.ptr;
    if (!named) return fail(runner, "template \"%.*s\" not defined", STR_ARG(node->text));
    if (runner->depth >= TEMPLATE_DEPTH_MAX)
        return builtin_limit(runner->err, "templates call one another deeper than TEMPLATE_DEPTH_MAX (%u)",
                             TEMPLATE_DEPTH_MAX);
    Result value = { .kind = RESULT_NONE };
    BuiltinResult result = node->pipeline ? eval_pipeline(runner, node->pipeline, dot, &value) : BUILTIN_OK;
    if (result) return result;
    Variable *outer = runner->variables;
    runner->variables = NULL;
    variable_push(runner, STR("$"), value);
    runner->depth++;
    Flow ignored = FLOW_ON;
    result = run_list(runner, named->body, value, &ignored);
    runner->depth--;
    runner->variables = outer;
    return result;
}

static BuiltinResult run_action(Runner *runner, const Node *node, Result dot)
{
    Result value;
    BuiltinResult result = eval_pipeline(runner, node->pipeline, dot, &value);
    if (result || node->pipeline->variable_count) return result;
    if (is_nil(value)) buf_text(runner->buf, "<undefined>");
    else print_result(runner->buf, value);
    return BUILTIN_OK;
}

static BuiltinResult run_list(Runner *runner, const Node *list, Result dot, Flow *out_flow)
{
    Variable *outer = runner->variables;
    BuiltinResult result = BUILTIN_OK;
    for (const Node *node = list; node && !result && *out_flow == FLOW_ON; node = node->next) {
        if (!builtin_spend(runner->context, 1, runner->err)) return BUILTIN_HALT;
        switch (node->kind) {
        case NODE_TEXT: buf_str(runner->buf, node->text); break;
        case NODE_ACTION: result = run_action(runner, node, dot); break;
        case NODE_IF:
        case NODE_WITH: result = run_choice(runner, node, dot, out_flow); break;
        case NODE_RANGE: result = run_range(runner, node, dot, out_flow); break;
        case NODE_TEMPLATE: result = run_call(runner, node, dot); break;
        case NODE_BREAK: *out_flow = FLOW_BREAK; break;
        case NODE_CONTINUE: *out_flow = FLOW_CONTINUE; break;
        }
        if (buf_overflowed(runner->buf)) break;
    }
    runner->variables = outer;
    return result;
}

BuiltinResult template_render(BuiltinContext *context, const Template *template, Value data, Buf *buf, Error *err)
{
    Runner runner = { .context = context, .err = err, .template = template, .buf = buf };
    Flow ignored = FLOW_ON;
    variable_push(&runner, STR("$"), data_of(data));
    return run_list(&runner, template->body, data_of(data), &ignored);
}

/* Variables come in as the JSON that their text is. Sets, other keys than strings, and some control characters have none. */
static BuiltinResult read_variables(BuiltinContext *context, Value object, Value *out_variables, Error *err)
{
    Buf buf;
    Value text;
    builtin_text_begin(context, &buf);
    value_print(&buf, object);
    BuiltinResult result = builtin_text_end(context, &buf, &text, err);
    return result ? result : json_text_parse(context, value_text(text), out_variables, err);
}

BuiltinResult builtin_strings_render_template(BuiltinContext *context, const Value *args, Value *out_result, Error *err)
{
    Str text;
    Template template;
    uint64_t weight;
    if (!operand_string(args, 0, &text, err) || !operand_is(args, 1, &OPERAND_OBJECT, err)) return BUILTIN_TYPE_ERROR;
    if (!builtin_weigh(context, args[1], &weight, err)) return BUILTIN_HALT;
    Value variables;
    BuiltinResult result = read_variables(context, args[1], &variables, err);
    if (!result) result = template_read(context, text, &template, err);
    if (result) return result;
    Buf buf;
    builtin_text_begin(context, &buf);
    result = template_render(context, &template, variables, &buf, err);
    if (!result) return builtin_text_end(context, &buf, out_result, err);
    builtin_text_drop(&buf);
    return result;
}
