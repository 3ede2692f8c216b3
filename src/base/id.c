#include "base/id.h"

#include <string.h>

/* In the order of their bytes: numbers written with these digits sort as text the way they sort as numbers. */
static const char alphabet[64 + 1] = "-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz";

/* Added to the time of a run id. Without it every millisecond before the year 2109 would begin with '-', and a command
 * line would take the id for an option; with it they begin with 'A', and the order stays as it is until the year 9356. */
#define TIME_OFFSET (UINT64_C(11) << 42)

Id id_make(const uint8_t random[ID_SIZE])
{
    Id id = { 0 };
    for (unsigned i = 0; i < ID_SIZE; i++) id.text[i] = alphabet[random[i] & 63];    /* 64 divides 256: no bias */
    return id;
}

Id id_make_run(uint64_t now_ms, const uint8_t random[ID_SIZE])
{
    Id id = id_make(random);
    uint64_t time = now_ms + TIME_OFFSET;
    for (unsigned i = ID_TIME_SIZE; i-- > 0; time >>= 6) id.text[i] = alphabet[time & 63];
    return id;
}

bool id_is_valid(Str text)
{
    if (text.len != ID_SIZE) return false;
    for (size_t i = 0; i < text.len; i++)
        if (!text.ptr[i] || !strchr(alphabet, text.ptr[i])) return false;
    return true;
}

bool id_read(Str text, Id *out_id)
{
    if (!id_is_valid(text)) return false;
    memcpy(out_id->text, text.ptr, ID_SIZE);
    out_id->text[ID_SIZE] = '\0';
    return true;
}
