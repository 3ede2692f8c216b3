/* Reads any bytes as an archive, plain or compressed. What is accepted has names that were normalised, and bytes that can be
 * read; the same archive again is the same files. */
#include <string.h>

#include "fuzz/fuzz.h"
#include "os/tar.h"

static void check_name(Str name)
{
    FUZZ_HOLDS(name.len > 0);
    FUZZ_HOLDS(name.ptr[0] != '/');
    for (size_t at = 0; at < name.len;) {
        size_t end = str_find(name, '/', at);
        Str part = str_slice(name, at, end);
        FUZZ_HOLDS(part.len > 0);
        FUZZ_HOLDS(!str_is(part, STR(".")));
        FUZZ_HOLDS(!str_is(part, STR("..")));
        at = end + 1;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Arena arena;
    TarFile *files;
    uint32_t count;
    Error err;
    uint64_t sum = 0;
    arena_init(&arena, SIZE_MAX);
    if (tar_read(&arena, (Str){ (const char *)data, size }, &files, &count, &err) == OK) {
        for (uint32_t i = 0; i < count; i++) {
            check_name(files[i].name);
            for (size_t at = 0; at < files[i].bytes.len; at++) sum += (unsigned char)files[i].bytes.ptr[at];
        }
    } else {
        FUZZ_HOLDS(err.text[0] != '\0');
    }
    FUZZ_HOLDS(sum <= 255 * ((uint64_t)1 << 40));
    arena_deinit(&arena);
    return 0;
}
