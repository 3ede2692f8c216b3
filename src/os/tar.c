#include "os/tar.h"

#include <string.h>
#define ZLIB_CONST          /* the input is not written to */
#include <zlib.h>

#include "base/buf.h"
#include "base/limits.h"

#define BLOCK_SIZE 512u

/* A header is one block; fields are octal digits or text, ended by NUL or a space. */
enum { NAME_AT = 0, NAME_SIZE = 100, SIZE_AT = 124, SIZE_SIZE = 12, SUM_AT = 148, SUM_SIZE = 8, KIND_AT = 156, MAGIC_AT = 257,
       PREFIX_AT = 345, PREFIX_SIZE = 155 };

typedef struct TarReader {
    Arena *arena;
    Str archive;
    size_t at;
    Str long_name;              /* what a header before the file said of its name; empty for nothing */
    uint64_t long_size;         /* the same of its size */
    bool has_long_size;
    TarFile *files;
    size_t count, capacity;
} TarReader;

/* --- gzip ------------------------------------------------------------------------------------------------------------ */

static bool is_gzip(Str bytes)
{
    return bytes.len >= 2 && (unsigned char)bytes.ptr[0] == 0x1f && (unsigned char)bytes.ptr[1] == 0x8b;
}

static Status inflate_all(z_stream *stream, Buf *out, Error *err)
{
    unsigned char piece[65536];
    for (;;) {
        stream->next_out = piece;
        stream->avail_out = sizeof piece;
        int result = inflate(stream, Z_NO_FLUSH);
        if (result != Z_OK && result != Z_STREAM_END && result != Z_BUF_ERROR)
            return error_set(err, ERR_INVALID, "the compressed data is damaged: %s", stream->msg ? stream->msg : "not gzip");
        buf_bytes(out, piece, sizeof piece - stream->avail_out);
        if (buf_overflowed(out)) return error_set(err, ERR_LIMIT, "unfolds to more than TAR_SIZE_MAX (%u bytes)", TAR_SIZE_MAX);
        if (result == Z_STREAM_END) return OK;
        if (stream->avail_in == 0 && stream->avail_out) return error_set(err, ERR_INVALID, "the compressed data is cut off");
    }
}

static Status unfold(Arena *arena, Str compressed, Str *out_bytes, Error *err)
{
    if (compressed.len > TAR_SIZE_MAX) return error_set(err, ERR_LIMIT, "larger than TAR_SIZE_MAX (%u bytes)", TAR_SIZE_MAX);
    z_stream stream = { .next_in = (const Bytef *)compressed.ptr, .avail_in = (uInt)compressed.len };
    if (inflateInit2(&stream, 16 + MAX_WBITS) != Z_OK) return error_set(err, ERR_UNAVAILABLE, "no memory to unfold it");
    Buf out;
    buf_init(&out, TAR_SIZE_MAX);
    Status status = inflate_all(&stream, &out, err);
    if (!status) *out_bytes = arena_copy(arena, buf_peek(&out));
    buf_deinit(&out);
    inflateEnd(&stream);
    return status;
}

/* --- headers ----------------------------------------------------------------------------------------------------------- */

static Status refuse(const TarReader *reader, Error *err, const char *what)
{
    return error_set(err, ERR_INVALID, "no valid tar archive: %s at byte %zu", what, reader->at);
}

static Str field_text(const char *block, size_t at, size_t size)
{
    return (Str){ block + at, strnlen(block + at, size) };
}

/* Octal, spaces around it. False for strangers, and for GNU's binary form, which stands for more than any limit here. */
static bool field_number(const char *block, size_t at, size_t size, uint64_t *out_number)
{
    Str text = str_trim(field_text(block, at, size));
    uint64_t number = 0;
    if (!text.len) return false;
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] < '0' || text.ptr[i] > '7') return false;
        number = number * 8 + (uint64_t)(text.ptr[i] - '0');
    }
    *out_number = number;
    return true;
}

static bool sum_is_right(const char *block)
{
    uint64_t want, sum = 0;
    if (!field_number(block, SUM_AT, SUM_SIZE, &want)) return false;
    for (size_t i = 0; i < BLOCK_SIZE; i++)
        sum += i >= SUM_AT && i < SUM_AT + SUM_SIZE ? ' ' : (unsigned char)block[i];
    return sum == want;
}

static bool is_zero(const char *block)
{
    for (size_t i = 0; i < BLOCK_SIZE; i++)
        if (block[i]) return false;
    return true;
}

/* --- names ------------------------------------------------------------------------------------------------------------- */

/* The last part of a path goes; false where there is none. */
static bool path_drop(Buf *path)
{
    if (!path->len) return false;
    while (path->len && path->ptr[path->len - 1] != '/') path->len--;
    if (path->len) path->len--;
    return true;
}

static Status normalise(const TarReader *reader, Str name, Str *out_name, Error *err)
{
    char storage[TAR_NAME_SIZE_MAX];
    Buf path = buf_on(storage, sizeof storage);
    for (size_t at = 0; at < name.len;) {
        size_t end = str_find(name, '/', at);
        Str part = str_slice(name, at, end);
        at = end + 1;
        if (!part.len || str_is(part, STR("."))) continue;
        if (str_is(part, STR(".."))) {
            if (!path_drop(&path)) return refuse(reader, err, "a name that leads out of the archive");
            continue;
        }
        if (path.len) buf_char(&path, '/');
        buf_str(&path, part);
    }
    if (buf_overflowed(&path))
        return error_set(err, ERR_LIMIT, "a name is longer than TAR_NAME_SIZE_MAX (%u bytes)", TAR_NAME_SIZE_MAX);
    *out_name = arena_copy(reader->arena, buf_peek(&path));
    return OK;
}

static Status header_name(const TarReader *reader, const char *block, Str *out_name, Error *err)
{
    char storage[NAME_SIZE + PREFIX_SIZE + 1];
    Buf joined = buf_on(storage, sizeof storage);
    bool is_ustar = memcmp(block + MAGIC_AT, "ustar", 5) == 0 && block[MAGIC_AT + 5] == '\0';
    Str prefix = is_ustar ? field_text(block, PREFIX_AT, PREFIX_SIZE) : STR("");
    buf_str(&joined, prefix);
    if (prefix.len) buf_char(&joined, '/');
    buf_str(&joined, field_text(block, NAME_AT, NAME_SIZE));
    return normalise(reader, reader->long_name.len ? reader->long_name : buf_peek(&joined), out_name, err);
}

/* --- entries ----------------------------------------------------------------------------------------------------------- */

/* Records "27 path=some/name\n", of which path and size matter. */
static Status read_pax(TarReader *reader, Str text, Error *err)
{
    while (text.len) {
        size_t space = str_find(text, ' ', 0);
        uint64_t size;
        if (!str_to_u64(str_slice(text, 0, space), &size) || size <= space + 1 || size > text.len || text.ptr[size - 1] != '\n')
            return refuse(reader, err, "a damaged pax header");
        Str record = str_slice(text, space + 1, size - 1);
        size_t equals = str_find(record, '=', 0);
        Str key = str_slice(record, 0, equals), value = str_slice(record, equals + 1, record.len);
        if (str_is(key, STR("path"))) reader->long_name = value;
        if (str_is(key, STR("size"))) {
            if (!str_to_u64(value, &reader->long_size)) return refuse(reader, err, "a damaged pax header");
            reader->has_long_size = true;
        }
        text = str_slice(text, size, text.len);
    }
    return OK;
}

static Status add_file(TarReader *reader, const char *block, Str bytes, Error *err)
{
    Str name;
    Status status = header_name(reader, block, &name, err);
    if (status) return status;
    if (!name.len) return refuse(reader, err, "a file without a name");
    if (reader->count == TAR_FILE_COUNT_MAX)
        return error_set(err, ERR_LIMIT, "more than TAR_FILE_COUNT_MAX (%u) files", TAR_FILE_COUNT_MAX);
    reader->files = arena_grow(reader->arena, reader->files, sizeof *reader->files, reader->count, &reader->capacity);
    reader->files[reader->count++] = (TarFile){ name, bytes };
    return OK;
}

static Status read_entry(TarReader *reader, const char *block, Error *err)
{
    uint64_t size;
    if (!sum_is_right(block)) return refuse(reader, err, "a header whose sum is wrong");
    if (!field_number(block, SIZE_AT, SIZE_SIZE, &size)) return refuse(reader, err, "a size that is no number");
    char kind = block[KIND_AT];
    bool is_file = kind == '0' || kind == '\0' || kind == '7';
    if (is_file && reader->has_long_size) size = reader->long_size;
    size_t left = reader->archive.len - reader->at;
    if (size > left) return refuse(reader, err, "a file that is cut off");
    Str bytes = str_slice(reader->archive, reader->at, reader->at + (size_t)size);
    size_t padded = ((size_t)size + BLOCK_SIZE - 1) / BLOCK_SIZE * BLOCK_SIZE;
    reader->at += padded < left ? padded : left;
    if (kind == 'x') return read_pax(reader, bytes, err);
    if (kind == 'L') {
        reader->long_name = (Str){ bytes.ptr, strnlen(bytes.ptr, bytes.len) };
        return OK;
    }
    if (kind == 'g') return OK;
    Status status = is_file ? add_file(reader, block, bytes, err) : OK;
    reader->long_name = STR("");
    reader->has_long_size = false;
    return status;
}

Status tar_read(Arena *arena, Str archive, TarFile **out_files, uint32_t *out_count, Error *err)
{
    TarReader reader = { .arena = arena, .archive = archive };
    Status status = OK;
    if (is_gzip(archive)) status = unfold(arena, archive, &reader.archive, err);
    if (!status && reader.archive.len < BLOCK_SIZE) status = refuse(&reader, err, "too short");
    while (!status && reader.archive.len - reader.at >= BLOCK_SIZE) {
        const char *block = reader.archive.ptr + reader.at;
        if (is_zero(block)) break;
        reader.at += BLOCK_SIZE;
        status = read_entry(&reader, block, err);
    }
    if (status) return status;
    *out_files = reader.files;
    *out_count = (uint32_t)reader.count;
    return OK;
}
