/* JSON texts: cutting them changes nothing; what was read can be printed, read again, compared, copied. */
#include <string.h>

#include "base/utf8.h"
#include "fuzz/fuzz.h"
#include "value/canonical.h"
#include "value/json.h"

#define TEXT_SIZE_MAX_BY_BYTE 4096u     /* longer ones are read in larger pieces only */
#define COMPARED_COUNT_MAX 12u          /* items of an array that are compared with one another */

typedef struct Outcome {
    Status status;
    Error err;
    Value value;
} Outcome;

/* Reads the text in pieces of up to `size_max` bytes. */
static Outcome read_text(Arena *arena, Str text, size_t size_max, Random *random)
{
    Outcome outcome = { 0 };
    JsonBuilder builder;
    JsonReader reader;
    json_builder_init(&builder, arena);
    json_reader_init(&reader, json_builder_sink(&builder), NULL);
    for (size_t at = 0; at < text.len && !outcome.status;) {
        size_t size = 1 + random_below(random, (uint32_t)size_max);
        Str piece = str_slice(text, at, at + size);
        outcome.status = json_reader_feed(&reader, piece, &outcome.err);
        at += piece.len;
    }
    if (!outcome.status) outcome.status = json_reader_end(&reader, &outcome.err);
    if (!outcome.status) outcome.value = json_builder_take(&builder);
    json_reader_deinit(&reader);
    json_builder_deinit(&builder);
    return outcome;
}

static void check_same(const Outcome *a, const Outcome *b)
{
    FUZZ_HOLDS(a->status == b->status);
    FUZZ_HOLDS(a->err.line == b->err.line);
    FUZZ_HOLDS(a->err.column == b->err.column);
    FUZZ_HOLDS(strcmp(a->err.text, b->err.text) == 0);
    FUZZ_HOLDS(value_equals(a->value, b->value));
}

static void check_refusal(const Outcome *outcome)
{
    Str reason = str_of(outcome->err.text);
    FUZZ_HOLDS(outcome->status == ERR_INVALID || outcome->status == ERR_LIMIT);
    FUZZ_HOLDS(outcome->err.status == outcome->status);
    FUZZ_HOLDS(outcome->err.line >= 1);
    FUZZ_HOLDS(outcome->err.column >= 1);
    FUZZ_HOLDS(reason.len > 0);
    FUZZ_HOLDS(utf8_valid_size(reason) == reason.len);
}

/* A third way of printing beside the two styles. */
enum { CANONICAL = JSON_PRETTY + 1 };

static Str print(Arena *arena, Value value, unsigned style)
{
    Buf text;
    buf_init(&text, JSON_SIZE_MAX);
    Status status = style == CANONICAL ? canonical_print(&text, value, NULL)
                                       : json_print(&text, value, (JsonStyle)style, NULL);
    FUZZ_HOLDS(status == OK);
    Str copy = arena_copy(arena, buf_peek(&text));
    buf_deinit(&text);
    FUZZ_HOLDS(utf8_valid_size(copy) == copy.len);
    return copy;
}

/* Each way of printing is read again as the same value, and printed again as the same text. */
static void check_printing(Arena *arena, Value value)
{
    for (unsigned style = JSON_COMPACT; style <= CANONICAL; style++) {
        Str text = print(arena, value, style);
        Value again;
        FUZZ_HOLDS(json_parse(arena, text, &again, NULL) == OK);
        FUZZ_HOLDS(value_equals(value, again));
        FUZZ_HOLDS(str_is(print(arena, again, style), text));
    }
}

static int sign(int order)
{
    return (order > 0) - (order < 0);
}

/* A total order, in which the canonical texts of two values are equal where the values are. */
static void check_order(Arena *arena, Value array)
{
    uint32_t count = array.count < COMPARED_COUNT_MAX ? array.count : COMPARED_COUNT_MAX;
    Str texts[COMPARED_COUNT_MAX];
    int order[COMPARED_COUNT_MAX][COMPARED_COUNT_MAX];
    for (uint32_t i = 0; i < count; i++) {
        texts[i] = print(arena, array.items[i], CANONICAL);
        for (uint32_t j = 0; j < count; j++) order[i][j] = sign(value_compare(array.items[i], array.items[j]));
    }
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t j = 0; j < count; j++) {
            FUZZ_HOLDS(order[i][j] == -order[j][i]);
            FUZZ_HOLDS((order[i][j] == 0) == str_is(texts[i], texts[j]));
            for (uint32_t k = 0; k < count; k++)
                FUZZ_HOLDS(!(order[i][j] < 0 && order[j][k] <= 0) || order[i][k] < 0);
        }
    }
    Value *items = arena_copy_items(arena, array.items, array.count * sizeof *items);
    Value set = value_set(arena, items, array.count);
    for (uint32_t i = 0; i < count; i++) FUZZ_HOLDS(value_set_has(set, array.items[i]));
}

/* In a limited arena the value either fits and is the same, or is refused. */
static void check_limited(Str text, Value value, size_t size_max)
{
    Arena arena;
    arena_init(&arena, size_max);
    Value limited;
    Error err = { 0 };
    Status status = json_parse(&arena, text, &limited, &err);
    FUZZ_HOLDS(status == OK || status == ERR_LIMIT);
    if (status == OK) FUZZ_HOLDS(value_equals(limited, value));
    arena_deinit(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Random random = fuzz_random(data, size);
    Str text = { (const char *)data, size };
    Arena arena, copies;
    arena_init(&arena, SIZE_MAX);
    arena_init(&copies, SIZE_MAX);

    Outcome whole = { 0 };
    whole.status = json_parse(&arena, text, &whole.value, &whole.err);
    Outcome pieces = read_text(&arena, text, 1 + size / 3, &random);
    check_same(&whole, &pieces);
    if (size <= TEXT_SIZE_MAX_BY_BYTE) {
        Outcome by_byte = read_text(&arena, text, 1, &random);
        check_same(&whole, &by_byte);
    }

    if (whole.status) {
        check_refusal(&whole);
    } else {
        check_printing(&arena, whole.value);
        if (whole.value.kind == VALUE_ARRAY) check_order(&arena, whole.value);
        check_limited(text, whole.value, random_below(&random, (uint32_t)(size > 4096 ? 65536 : 16 * size + 64)));
        Value copy = value_copy(&copies, whole.value);
        FUZZ_HOLDS(value_equals(copy, whole.value));
        arena_reset(&arena);                    /* the copy stands on its own */
        print(&arena, copy, CANONICAL);
    }
    arena_deinit(&arena);
    arena_deinit(&copies);
    return 0;
}
