/* Measures the JSON reader, the printer and the canonical digest on generated documents: bench-json [--json] [SECONDS]
 *
 * Megabytes a second depend on the machine, so each is also given as a ratio to two baselines measured in the same run
 * on the same text: copying it (memcpy) and checking that it is UTF-8. The ratios are what may be compared over time.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/arena.h"
#include "base/check.h"
#include "base/utf8.h"
#include "value/canonical.h"
#include "value/json.h"
#include "value/number.h"

#define DOCUMENT_SIZE (4u << 20)

/* --- documents --------------------------------------------------------------------------------------------------- */

static uint64_t seed = 1;

static uint64_t next_random(uint64_t below)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed % below;
}

static void write_words(Buf *text, unsigned count, const char *const *words, unsigned word_count)
{
    for (unsigned i = 0; i < count; i++) {
        if (i) buf_char(text, ' ');
        buf_text(text, words[next_random(word_count)]);
    }
}

static void write_sentence(Buf *text, unsigned count)
{
    static const char *const words[] = { "order", "validate", "region", "eu-west", "payment", "step", "retry", "ok" };
    write_words(text, count, words, sizeof words / sizeof *words);
}

/* One run as the API shows it: the usual mixture, member names not in order. */
static void write_record(Buf *text)
{
    buf_format(text, "{\"executionId\":\"%016llx%05llx\",\"status\":\"COMPLETED\",\"attempt\":%u,",
               (unsigned long long)next_random(UINT64_MAX), (unsigned long long)next_random(1u << 20),
               (unsigned)next_random(5));
    buf_format(text, "\"startedAt\":%llu,\"cost\":%u.%02u,\"labels\":{\"team\":\"payments\",\"region\":\"eu-west\"},",
               1700000000000ull + next_random(1u << 30), (unsigned)next_random(1000), (unsigned)next_random(100));
    buf_text(text, "\"steps\":[");
    for (unsigned i = 0; i < 4; i++)
        buf_format(text, "%s{\"name\":\"step-%u\",\"ok\":%s,\"ms\":%u,\"output\":null}", i ? "," : "", i,
                   next_random(2) ? "true" : "false", (unsigned)next_random(100000));
    buf_text(text, "],\"description\":\"");
    write_sentence(text, 12);
    buf_text(text, "\"}");
}

static void write_ascii(Buf *text)
{
    buf_char(text, '"');
    write_sentence(text, 40);
    buf_char(text, '"');
}

static void write_unicode(Buf *text)
{
    static const char *const words[] = { "größe", "naïve", "日本語", "\\u00e9\\n", "москва", "😀", "plain", "\\\"q\\\"" };
    buf_char(text, '"');
    write_words(text, 30, words, sizeof words / sizeof *words);
    buf_char(text, '"');
}

static void write_numbers(Buf *text)
{
    buf_format(text, "%lld,%llu.%06u,%u,-%u.5e-%u", (long long)next_random(INT64_MAX) - INT64_MAX / 2,
               (unsigned long long)next_random(1u << 30), (unsigned)next_random(1000000), (unsigned)next_random(100),
               (unsigned)next_random(1000), (unsigned)next_random(300));
}

static void write_nested(Buf *text)
{
    unsigned depth = 1 + (unsigned)next_random(30);
    buf_repeat(text, '[', depth);
    buf_repeat(text, ']', depth);
}

static const struct {
    const char *name;
    void (*write)(Buf *text);
    size_t size;                        /* the document repeats its part until it has that many bytes */
    bool is_pretty;
} documents[] = {
    { "records", write_record, DOCUMENT_SIZE, false },
    { "records, pretty", write_record, DOCUMENT_SIZE, true },
    { "one record", write_record, 1, false },
    { "ascii strings", write_ascii, DOCUMENT_SIZE, false },
    { "unicode, escapes", write_unicode, DOCUMENT_SIZE, false },
    { "numbers", write_numbers, DOCUMENT_SIZE, false },
    { "nested arrays", write_nested, DOCUMENT_SIZE, false },
};

#define DOCUMENT_COUNT (sizeof documents / sizeof *documents)

static Value parse(Arena *arena, Str text)
{
    Value value;
    Error err;
    Status status = json_parse(arena, text, &value, &err);
    if (status) fprintf(stderr, "bench-json: %u:%u: %s\n", err.line, err.column, err.text);
    CHECK(status == OK);
    return value;
}

static void make_document(unsigned index, Buf *text)
{
    seed = 88172645463325252u;
    buf_char(text, '[');
    while (text->len < documents[index].size + 1) {
        if (text->len > 1) buf_char(text, ',');
        documents[index].write(text);
    }
    buf_char(text, ']');
    if (!documents[index].is_pretty) return;
    Arena arena;
    arena_init(&arena, SIZE_MAX);
    Value value = parse(&arena, buf_peek(text));
    buf_clear(text);
    CHECK(json_print(text, value, JSON_PRETTY, NULL) == OK);
    arena_deinit(&arena);
}

/* --- what is measured -------------------------------------------------------------------------------------------- */

typedef struct Work {
    Str text;
    Value value;
    JsonStyle style;                    /* the text's own, so that printing writes as much as was read */
    Buf *out;
    Arena *arena;
} Work;

static void run_memcpy(Work *work)
{
    buf_clear(work->out);
    buf_str(work->out, work->text);
    __asm__ volatile("" : : "r"(work->out->ptr) : "memory");         /* the copy must not be optimised away */
}

static void run_utf8(Work *work)
{
    CHECK(utf8_valid_size(work->text) == work->text.len);
}

static void run_parse(Work *work)
{
    parse(work->arena, work->text);
    arena_reset(work->arena);
}

static void run_print(Work *work)
{
    buf_clear(work->out);
    CHECK(json_print(work->out, work->value, work->style, NULL) == OK);
}

static void run_canonical(Work *work)
{
    buf_clear(work->out);
    CHECK(canonical_print(work->out, work->value, NULL) == OK);
}

static void run_digest(Work *work)
{
    Digest digest;
    CHECK(canonical_digest(work->value, &digest, NULL) == OK);
}

static const struct { const char *name; void (*run)(Work *work); } tasks[] = {
    { "memcpy", run_memcpy }, { "utf8", run_utf8 },           { "parse", run_parse },
    { "print", run_print },   { "canonical", run_canonical }, { "digest", run_digest },
};

enum { TASK_MEMCPY, TASK_UTF8, TASK_FIRST, TASK_COUNT = sizeof tasks / sizeof *tasks };

static double now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* The best of several rounds: what disturbs a measurement only ever makes it slower. */
static double measure(void (*run)(Work *work), Work *work, double seconds)
{
    double best = 0, until = now_s() + seconds;
    unsigned repeat = work->text.len < 65536 ? (unsigned)(65536 / work->text.len) : 1;
    do {
        double begin = now_s();
        for (unsigned i = 0; i < repeat; i++) run(work);
        double rate = (double)work->text.len * repeat / (now_s() - begin) / 1e6;
        if (rate > best) best = rate;
    } while (now_s() < until);
    return best;
}

/* --- what is shown ----------------------------------------------------------------------------------------------- */

static void show_row(const char *name, size_t size, const double rates[TASK_COUNT])
{
    printf("%-17s %8.1f kB %10.0f %8.0f", name, (double)size / 1000, rates[TASK_MEMCPY], rates[TASK_UTF8]);
    for (unsigned i = TASK_FIRST; i < TASK_COUNT; i++)
        printf(" %8.1f %4.1f%%", rates[i], 100 * rates[i] / rates[TASK_MEMCPY]);
    printf("\n");
}

static void add_number(MemberList *list, Arena *arena, const char *key, double number)
{
    member_list_add(list, str_of(key), number_make(arena, arena_format(arena, "%.4f", number)));
}

static Value row_value(Arena *arena, const char *name, size_t size, const double rates[TASK_COUNT])
{
    MemberList speeds = { .arena = arena }, to_memcpy = { .arena = arena }, to_utf8 = { .arena = arena };
    MemberList row = { .arena = arena };
    for (unsigned i = 0; i < TASK_COUNT; i++) {
        add_number(&speeds, arena, tasks[i].name, rates[i]);
        if (i < TASK_FIRST) continue;
        add_number(&to_memcpy, arena, tasks[i].name, rates[i] / rates[TASK_MEMCPY]);
        add_number(&to_utf8, arena, tasks[i].name, rates[i] / rates[TASK_UTF8]);
    }
    member_list_add(&row, STR("document"), value_string(str_of(name)));
    member_list_add(&row, STR("size"), value_int((int64_t)size));
    member_list_add(&row, STR("mb_per_s"), member_list_object(&speeds));
    member_list_add(&row, STR("ratio_to_memcpy"), member_list_object(&to_memcpy));
    member_list_add(&row, STR("ratio_to_utf8"), member_list_object(&to_utf8));
    return member_list_object(&row);
}

static void show_json(const ValueList *rows)
{
    Buf text;
    buf_init(&text, 1u << 20);
    CHECK(json_print(&text, value_list_array(rows), JSON_PRETTY, NULL) == OK);
    printf("%.*s\n", STR_ARG(buf_peek(&text)));
    buf_deinit(&text);
}

int main(int argc, char **argv)
{
    bool as_json = argc > 1 && strcmp(argv[1], "--json") == 0;
    double seconds = argc > 1 + as_json ? strtod(argv[1 + as_json], NULL) : 0.5;
    Arena arena, row_arena;
    arena_init(&row_arena, SIZE_MAX);
    ValueList rows = { .arena = &row_arena };

    if (!as_json)
        printf("MB/s, best of %.1f s each, and as a share of memcpy\n"
               "%-17s %11s %10s %8s %14s %14s %14s %14s\n",
               seconds, "document", "size", "memcpy", "utf8", "parse", "print", "canonical", "digest");
    for (unsigned i = 0; i < DOCUMENT_COUNT; i++) {
        Buf text, out;
        arena_init(&arena, SIZE_MAX);
        Arena value_arena;
        arena_init(&value_arena, SIZE_MAX);
        buf_init(&text, 4 * DOCUMENT_SIZE);
        buf_init(&out, 4 * DOCUMENT_SIZE);
        make_document(i, &text);
        Work work = { buf_peek(&text), parse(&value_arena, buf_peek(&text)),
                      documents[i].is_pretty ? JSON_PRETTY : JSON_COMPACT, &out, &arena };
        double rates[TASK_COUNT];
        for (unsigned task = 0; task < TASK_COUNT; task++) rates[task] = measure(tasks[task].run, &work, seconds);
        if (as_json) value_list_add(&rows, row_value(&row_arena, documents[i].name, text.len, rates));
        else show_row(documents[i].name, text.len, rates);
        fflush(stdout);
        buf_deinit(&out);
        buf_deinit(&text);
        arena_deinit(&value_arena);
        arena_deinit(&arena);
    }
    if (as_json) show_json(&rows);
    arena_deinit(&row_arena);
    return 0;
}
