#include "base/buf.h"

#include <string.h>

#include "harness/test.h"

static void write_bytes(Buf *buf) { buf_bytes(buf, "a\0b", 3); }
static void write_str(Buf *buf) { buf_str(buf, STR("slice")); }
static void write_text(Buf *buf) { buf_text(buf, "text"); }
static void write_char(Buf *buf) { buf_char(buf, 'c'); }
static void write_repeat(Buf *buf) { buf_repeat(buf, '=', 6); }
static void write_u64(Buf *buf) { buf_u64(buf, UINT64_MAX); }
static void write_zero(Buf *buf) { buf_u64(buf, 0); }
static void write_i64(Buf *buf) { buf_i64(buf, INT64_MIN); }
static void write_i64_max(Buf *buf) { buf_i64(buf, INT64_MAX); }
static void write_hex(Buf *buf) { buf_hex(buf, (const uint8_t[]){ 0x00, 0x0f, 0xf0, 0xff }, 4); }
static void write_format(Buf *buf) { buf_format(buf, "%s %d%%", "is", 42); }
static void write_long_format(Buf *buf) { buf_format(buf, "%0300d", 7); }

/* Three hundred digits, the last a seven: beyond the space that short formats use. */
#define DIGITS_50 "00000000000000000000000000000000000000000000000000"
#define DIGITS_299 DIGITS_50 DIGITS_50 DIGITS_50 DIGITS_50 DIGITS_50 "0000000000000000000000000000000000000000000000000"

static const struct { const char *name; void (*write)(Buf *buf); Str want; } writers[] = {
    { "bytes", write_bytes, STR_INIT("a\0b") },
    { "a slice", write_str, STR_INIT("slice") },
    { "a text", write_text, STR_INIT("text") },
    { "a character", write_char, STR_INIT("c") },
    { "a repetition", write_repeat, STR_INIT("======") },
    { "the largest unsigned", write_u64, STR_INIT("18446744073709551615") },
    { "zero", write_zero, STR_INIT("0") },
    { "the smallest signed", write_i64, STR_INIT("-9223372036854775808") },
    { "the largest signed", write_i64_max, STR_INIT("9223372036854775807") },
    { "hexadecimal", write_hex, STR_INIT("000ff0ff") },
    { "a format", write_format, STR_INIT("is 42%") },
    { "a long format", write_long_format, STR_INIT(DIGITS_299 "7") },
};

#define WRITER_COUNT (sizeof writers / sizeof *writers)

TEST(buf_writers_write_what_they_say, "")
{
    for (size_t i = 0; i < WRITER_COUNT; i++) {
        ROW(writers[i].name);
        char storage[512];
        Buf fixed = buf_on(storage, sizeof storage), heap;
        buf_init(&heap, 512);
        writers[i].write(&fixed);
        writers[i].write(&heap);
        EXPECT_STR(buf_peek(&fixed), writers[i].want);
        EXPECT_STR(buf_peek(&heap), writers[i].want);
        EXPECT(!buf_overflowed(&fixed));
        EXPECT(!buf_overflowed(&heap));
        buf_deinit(&fixed);
        buf_deinit(&heap);
    }
}

/* With exactly enough room nothing overflows, with one byte less it does, and no byte beyond is touched. */
TEST(buf_overflow_begins_one_byte_beyond_the_end, "")
{
    for (size_t i = 0; i < WRITER_COUNT; i++) {
        for (unsigned missing = 0; missing < 2; missing++) {
            ROW(writers[i].name);
            char storage[512];
            memset(storage, '#', sizeof storage);
            size_t size = writers[i].want.len - missing;
            Buf fixed = buf_on(storage, size), heap;
            buf_init(&heap, size);
            writers[i].write(&fixed);
            writers[i].write(&heap);
            EXPECT_INT(buf_overflowed(&fixed), missing);
            EXPECT_INT(buf_overflowed(&heap), missing);
            EXPECT(fixed.len <= size && heap.len <= size && heap.capacity <= size);
            EXPECT_INT(storage[size], '#');
            buf_deinit(&heap);
        }
    }
}

TEST(buf_overflow_is_sticky_until_cleared, "")
{
    char storage[8];
    Buf fixed = buf_on(storage, sizeof storage), heap;
    buf_init(&heap, sizeof storage);
    Buf *const bufs[] = { &fixed, &heap };
    for (size_t i = 0; i < 2; i++) {
        ROW(i ? "heap" : "fixed");
        Buf *buf = bufs[i];
        buf_text(buf, "12345");
        buf_text(buf, "6789");                          /* does not fit: nothing of it is written */
        EXPECT(buf_overflowed(buf));
        buf_char(buf, 'x');                             /* would fit, but the sequence is broken already */
        buf_text(buf, "y");
        buf_repeat(buf, 'z', 1);
        buf_format(buf, "%d", 1);
        buf_u64(buf, 1);
        EXPECT_STR(buf_peek(buf), STR("12345"));
        EXPECT(buf_overflowed(buf));
        buf_clear(buf);
        EXPECT(!buf_overflowed(buf));
        EXPECT_INT(buf->len, 0);
        buf_text(buf, "12345678");
        EXPECT_STR(buf_peek(buf), STR("12345678"));
        EXPECT(!buf_overflowed(buf));
    }
    buf_deinit(&heap);
}

TEST(buf_writing_nothing_never_overflows, "")
{
    Buf fixed = buf_on(NULL, 0), heap;
    buf_init(&heap, 0);
    Buf *const bufs[] = { &fixed, &heap };
    for (size_t i = 0; i < 2; i++) {
        ROW(i ? "heap" : "fixed");
        buf_bytes(bufs[i], NULL, 0);
        buf_str(bufs[i], (Str){ NULL, 0 });
        buf_text(bufs[i], "");
        buf_repeat(bufs[i], ' ', 0);
        buf_hex(bufs[i], NULL, 0);
        buf_format(bufs[i], "%s", "");
        EXPECT(!buf_overflowed(bufs[i]));
        buf_char(bufs[i], 'x');
        EXPECT(buf_overflowed(bufs[i]));
    }
    buf_deinit(&heap);
}

TEST(buf_on_the_heap_grows_to_its_maximum_and_no_further, "")
{
    Buf buf;
    buf_init(&buf, 100000);
    for (unsigned i = 0; i < 100000; i++) buf_char(&buf, (char)('a' + i % 26));
    EXPECT(!buf_overflowed(&buf));
    EXPECT_INT(buf.len, 100000);
    EXPECT(buf.capacity <= 100000);
    for (unsigned i = 0; i < 100000; i++)
        if (!EXPECT_INT(buf.ptr[i], 'a' + i % 26)) break;
    buf_char(&buf, '!');
    EXPECT(buf_overflowed(&buf));
    EXPECT_INT(buf.len, 100000);
    buf_deinit(&buf);
    EXPECT(buf.ptr == NULL && buf.len == 0 && !buf.overflowed);
    buf_text(&buf, "again");                            /* a heap buffer may be used after its end */
    EXPECT_STR(buf_peek(&buf), STR("again"));
    buf_deinit(&buf);
}
