#include "cli/anchor_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/limits.h"
#include "os/entropy.h"
#include "os/file.h"

#define KEY_FILE_SIZE_MAX 4096u
#define ANCHOR_FILE_SIZE_MAX (16u << 20)

/* A new file with these permissions from its first moment. */
static Status write_new(const char *path, Str text, mode_t mode, Error *err)
{
    int fd = open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, mode);
    if (fd < 0) return error_set(err, errno == EACCES ? ERR_DENIED : ERR_UNAVAILABLE, "%s cannot be made: %s", path,
                                 strerror(errno));
    bool is_written = write(fd, text.ptr, text.len) == (ssize_t)text.len && fsync(fd) == 0;
    is_written &= close(fd) == 0;
    if (is_written) return OK;
    (void)unlink(path);
    return error_set(err, ERR_UNAVAILABLE, "%s cannot be written", path);
}

static Status make_key(Arena *arena, const char *path, Error *err)
{
    uint8_t seed[ANCHOR_SEED_SIZE];
    char storage[2 * ANCHOR_SEED_SIZE + 1];
    Buf text = buf_on(storage, sizeof storage);
    entropy_bytes(seed, sizeof seed);
    AnchorKey key = anchor_key(seed);
    buf_hex(&text, seed, sizeof seed);
    buf_char(&text, '\n');
    Status status = write_new(path, buf_peek(&text), 0600, err);
    buf_clear(&text);
    buf_hex(&text, key.public_key, sizeof key.public_key);
    buf_char(&text, '\n');
    if (!status) status = file_write(arena_format(arena, "%s.pub", path).ptr, buf_peek(&text), err);
    return status;
}

Status anchor_key_open(Arena *arena, const char *path, AnchorKey *out_key, bool *out_is_new, Error *err)
{
    Str text;
    struct stat info;
    uint8_t seed[ANCHOR_SEED_SIZE];
    Status status = OK;
    *out_is_new = !file_exists(path);
    if (*out_is_new) status = make_key(arena, path, err);
    if (!status && stat(path, &info) == 0 && (info.st_mode & 077))
        status = error_set(err, ERR_DENIED, "%s can be read by others; a key that signs is its user's alone: chmod 600 %s",
                           path, path);
    if (!status) status = file_read(arena, path, KEY_FILE_SIZE_MAX, &text, err);
    if (!status && anchor_read_key(text, seed, err)) {
        error_prefix(err, "%s: ", path);
        status = err->status;
    }
    if (!status) *out_key = anchor_key(seed);
    return status;
}

Status anchor_public_key(Arena *arena, const char *text, uint8_t out_key[ANCHOR_PUBLIC_SIZE], Error *err)
{
    Str content = str_of(text);
    Status status = OK;
    if (content.len != 2 * ANCHOR_PUBLIC_SIZE || file_exists(text))
        status = file_read(arena, text, KEY_FILE_SIZE_MAX, &content, err);
    return status ? status : anchor_read_key(content, out_key, err);
}

Status anchors_read(Arena *arena, const char *path, const uint8_t *public_key, Anchor **out_anchors, uint32_t *out_count,
                    Error *err)
{
    Str text;
    Anchor *anchors = NULL;
    size_t count = 0, capacity = 0;
    Status status = file_read(arena, path, ANCHOR_FILE_SIZE_MAX, &text, err);
    for (size_t begin = 0, end; !status && begin < text.len; begin = end + 1) {
        end = str_find(text, '\n', begin);
        Str line = str_trim(str_slice(text, begin, end));
        if (!line.len) continue;
        if (count == capacity) anchors = arena_grow(arena, anchors, sizeof *anchors, count, &capacity);
        status = anchor_read(line, &anchors[count], err);
        if (!status) status = anchor_check(&anchors[count], public_key, err);
        if (status) error_prefix(err, "%s: ", path);
        count++;
    }
    if (!status && !count) status = error_set(err, ERR_INVALID, "%s holds no anchor", path);
    if (status) return status;
    *out_anchors = anchors;
    *out_count = (uint32_t)count;
    return OK;
}
