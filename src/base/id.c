#include "base/id.h"

#include <string.h>

/* In the order of their bytes: numbers written with these digits sort as text the way they sort as numbers. */
static const char alphabet[64 + 1] = "-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz";

Id id_make(const uint8_t random[ID_SIZE])
{
    Id id = { 0 };
    for (unsigned i = 0; i < ID_SIZE; i++) id.text[i] = alphabet[random[i] & 63];    /* 64 divides 256: no bias */
    return id;
}

Id id_make_run(uint64_t now_ms, const uint8_t random[ID_SIZE])
{
    Id id = id_make(random);
    for (unsigned i = ID_TIME_SIZE; i-- > 0; now_ms >>= 6) id.text[i] = alphabet[now_ms & 63];
    return id;
}

bool id_is_valid(Str text)
{
    if (text.len != ID_SIZE) return false;
    for (size_t i = 0; i < text.len; i++)
        if (!text.ptr[i] || !strchr(alphabet, text.ptr[i])) return false;
    return true;
}
