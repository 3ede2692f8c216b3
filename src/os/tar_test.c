#include "os/tar.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define ZLIB_CONST
#include <zlib.h>

#include "base/buf.h"
#include "base/limits.h"
#include "harness/test.h"

#define ARCHIVE_SIZE (64u * 1024)

/* --- writing archives, for the tests ------------------------------------------------------------------------------------ */

static void set_sum(char *block)
{
    unsigned sum = 0;
    memset(block + 148, ' ', 8);
    for (size_t i = 0; i < 512; i++) sum += (unsigned char)block[i];
    snprintf(block + 148, 8, "%06o", sum);
}

static void add_entry(Buf *archive, char kind, const char *name, Str bytes)
{
    char block[512] = "";
    memcpy(block, name, strlen(name) < 100 ? strlen(name) : 100);
    memcpy(block + 100, "0000644", 7);
    snprintf(block + 124, 12, "%011zo", bytes.len);
    block[156] = kind;
    memcpy(block + 257, "ustar", 6);
    set_sum(block);
    buf_bytes(archive, block, sizeof block);
    buf_str(archive, bytes);
    buf_repeat(archive, '\0', (512 - bytes.len % 512) % 512);
}

static Str gzip(Arena *arena, Str bytes)
{
    size_t size = bytes.len + 1024;
    char *out = arena_alloc(arena, size);
    z_stream stream = { .next_in = (const Bytef *)bytes.ptr, .avail_in = (uInt)bytes.len, .next_out = (Bytef *)out, .avail_out = (uInt)size };
    EXPECT(deflateInit2(&stream, 9, Z_DEFLATED, 16 + MAX_WBITS, 9, Z_DEFAULT_STRATEGY) == Z_OK);
    EXPECT(deflate(&stream, Z_FINISH) == Z_STREAM_END);
    deflateEnd(&stream);
    return (Str){ out, size - stream.avail_out };
}

typedef struct Archive {
    Arena arena;
    Buf buf;
    TarFile *files;
    uint32_t count;
    Error err;
} Archive;

static void archive_init(Archive *archive)
{
    *archive = (Archive){ 0 };
    arena_init(&archive->arena, SIZE_MAX);
    buf_init(&archive->buf, ARCHIVE_SIZE);
}

static void archive_deinit(Archive *archive)
{
    buf_deinit(&archive->buf);
    arena_deinit(&archive->arena);
}

static Status archive_read(Archive *archive, Str bytes)
{
    return tar_read(&archive->arena, bytes, &archive->files, &archive->count, &archive->err);
}

/* --- cases --------------------------------------------------------------------------------------------------------------- */

TEST(files_of_an_archive_are_read_plain_and_compressed, "")
{
    Archive archive;
    archive_init(&archive);
    add_entry(&archive.buf, '5', "roles/", STR(""));
    add_entry(&archive.buf, '0', "./roles//data.json", STR("{}"));
    add_entry(&archive.buf, '0', "/a.rego", STR("package a"));
    add_entry(&archive.buf, '2', "link", STR(""));
    buf_repeat(&archive.buf, '\0', 1024);
    for (int compressed = 0; compressed < 2; compressed++) {
        ROW(compressed ? "compressed" : "plain");
        Str bytes = buf_peek(&archive.buf);
        REQUIRE_OK(archive_read(&archive, compressed ? gzip(&archive.arena, bytes) : bytes), &archive.err);
        REQUIRE(archive.count == 2);
        EXPECT_STR(archive.files[0].name, STR("roles/data.json"));
        EXPECT_STR(archive.files[0].bytes, STR("{}"));
        EXPECT_STR(archive.files[1].name, STR("a.rego"));
        EXPECT_STR(archive.files[1].bytes, STR("package a"));
    }
    archive_deinit(&archive);
}

TEST(long_names_come_from_the_headers_before_a_file, "")
{
    Archive archive;
    archive_init(&archive);
    add_entry(&archive.buf, 'L', "././@LongLink", STR("gnu/long/name.json\0"));
    add_entry(&archive.buf, '0', "gnu/long", STR("1"));
    add_entry(&archive.buf, 'x', "PaxHeader", STR("22 path=pax/name.json\n10 size=1\n"));
    add_entry(&archive.buf, '0', "pax", STR("2"));
    add_entry(&archive.buf, '0', "short", STR("3"));
    REQUIRE_OK(archive_read(&archive, buf_peek(&archive.buf)), &archive.err);
    REQUIRE(archive.count == 3);
    EXPECT_STR(archive.files[0].name, STR("gnu/long/name.json"));
    EXPECT_STR(archive.files[1].name, STR("pax/name.json"));
    EXPECT_STR(archive.files[1].bytes, STR("2"));
    EXPECT_STR(archive.files[2].name, STR("short"));
    archive_deinit(&archive);
}

TEST(names_are_normalised_and_none_leads_out, "")
{
    static const struct { const char *name, *want; } rows[] = {
        { "a/./b", "a/b" }, { "a/../b", "b" }, { "a/b/../../c", "c" }, { "..", NULL }, { "a/../../b", NULL }, { "./", NULL }, { "/", NULL },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        Archive archive;
        archive_init(&archive);
        ROW(rows[i].name);
        add_entry(&archive.buf, '0', rows[i].name, STR("x"));
        Status status = archive_read(&archive, buf_peek(&archive.buf));
        EXPECT_INT(status, rows[i].want ? OK : ERR_INVALID);
        if (!status) EXPECT_STR(archive.files[0].name, str_of(rows[i].want));
        archive_deinit(&archive);
    }
}

/* What is done to the block of a good archive, and what it is then refused for. */
static void break_sum(Buf *buf) { buf->ptr[0] ^= 1; }
static void break_size(Buf *buf) { memcpy(buf->ptr + 124, "zzzzzzzzzzz", 11); set_sum(buf->ptr); }
static void make_large(Buf *buf) { memcpy(buf->ptr + 124, "77777777777", 11); set_sum(buf->ptr); }
static void make_binary(Buf *buf) { buf->ptr[124] = (char)0x80; set_sum(buf->ptr); }
static void cut(Buf *buf) { buf->len = 512 + 1; }
static void cut_header(Buf *buf) { buf->len = 100; }
static void empty(Buf *buf) { buf->len = 0; }
static void drop_name(Buf *buf) { memset(buf->ptr, 0, 100); set_sum(buf->ptr); }

TEST(damaged_archives_are_refused, "")
{
    static const struct { const char *name; void (*damage)(Buf *); const char *want; } rows[] = {
        { "a header that was changed", break_sum, "a header whose sum is wrong" },
        { "a size that is none", break_size, "a size that is no number" },
        { "a size beyond the archive", make_large, "a file that is cut off" },
        { "a size in GNU's binary form", make_binary, "a size that is no number" },
        { "an archive that ends inside a file", cut, "a file that is cut off" },
        { "an archive that ends inside a header", cut_header, "too short" },
        { "no archive at all", empty, "too short" },
        { "a file without a name", drop_name, "a file without a name" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        Archive archive;
        archive_init(&archive);
        ROW(rows[i].name);
        add_entry(&archive.buf, '0', "name", STR("bytes"));
        rows[i].damage(&archive.buf);
        EXPECT_INT(archive_read(&archive, buf_peek(&archive.buf)), ERR_INVALID);
        test_expect(strstr(archive.err.text, rows[i].want) != NULL, __FILE__, __LINE__, "%s lacks '%s'", archive.err.text, rows[i].want);
        archive_deinit(&archive);
    }
}

TEST(damaged_pax_headers_are_refused, "")
{
    static const char *const rows[] = { "x path=a\n", "99 path=a\n", "9 path=ab", "0 \n", "12 size=many\n" };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        Archive archive;
        archive_init(&archive);
        ROW(rows[i]);
        add_entry(&archive.buf, 'x', "PaxHeader", str_of(rows[i]));
        add_entry(&archive.buf, '0', "name", STR("bytes"));
        EXPECT_INT(archive_read(&archive, buf_peek(&archive.buf)), ERR_INVALID);
        archive_deinit(&archive);
    }
}

TEST(damaged_compression_is_refused, "")
{
    Archive archive;
    archive_init(&archive);
    add_entry(&archive.buf, '0', "name", STR("bytes"));
    Str good = gzip(&archive.arena, buf_peek(&archive.buf));
    char *bad = arena_copy_items(&archive.arena, good.ptr, good.len);
    bad[good.len / 2] ^= 0x55;
    EXPECT_INT(archive_read(&archive, (Str){ bad, good.len }), ERR_INVALID);
    EXPECT_INT(archive_read(&archive, str_slice(good, 0, good.len / 2)), ERR_INVALID);
    EXPECT_INT(archive_read(&archive, str_slice(good, 0, 2)), ERR_INVALID);
    archive_deinit(&archive);
}

TEST(a_small_file_that_unfolds_without_end_is_refused, "")
{
    Archive archive;
    archive_init(&archive);
    size_t size = (size_t)TAR_SIZE_MAX + 1024;
    char *zeros = calloc(1, size);
    REQUIRE(zeros);
    Str bomb = gzip(&archive.arena, (Str){ zeros, size });
    free(zeros);
    EXPECT(bomb.len < TAR_SIZE_MAX / 500);
    EXPECT_INT(archive_read(&archive, bomb), ERR_LIMIT);
    EXPECT(strstr(archive.err.text, "TAR_SIZE_MAX") != NULL);
    archive_deinit(&archive);
}
