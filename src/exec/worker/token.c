#include "exec/worker/token.h"

#include <inttypes.h>

#include "base/buf.h"

Str token_print(const AttemptId *id, char out[TOKEN_SIZE_MAX])
{
    Buf buf = buf_on(out, TOKEN_SIZE_MAX);
    buf_format(&buf, "%" PRIu64 ".%" PRIu32 ".%" PRIu32 ".%" PRIu64 ".%" PRIu64, id->run_no, id->step, id->attempt, id->holder, id->serial);
    return buf_peek(&buf);
}

static bool number_read(Str text, size_t *at, uint64_t max, uint64_t *out)
{
    size_t begin = *at;
    *out = 0;
    for (; *at < text.len && text.ptr[*at] >= '0' && text.ptr[*at] <= '9'; ++*at) {
        uint64_t digit = (uint64_t)(text.ptr[*at] - '0');
        if (*out > (max - digit) / 10) return false;
        *out = *out * 10 + digit;
    }
    return *at > begin;
}

bool token_read(Str text, AttemptId *out_id)
{
    static const uint64_t most[] = { UINT64_MAX, UINT32_MAX, UINT32_MAX, UINT64_MAX, UINT64_MAX };
    uint64_t parts[5];
    size_t at = 0;
    for (unsigned i = 0; i < 5; i++) {
        if (!number_read(text, &at, most[i], &parts[i])) return false;
        if (i < 4 && (at >= text.len || text.ptr[at++] != '.')) return false;
    }
    *out_id = (AttemptId){ parts[0], (uint32_t)parts[1], (uint32_t)parts[2], parts[3], parts[4] };
    return at == text.len && parts[0] != 0;
}

uint64_t token_hash(const AttemptId *id)
{
    uint64_t hash = UINT64_C(0x9e3779b97f4a7c15);
    const uint64_t parts[] = { id->run_no, (uint64_t)id->step << 32 | id->attempt, id->holder, id->serial };
    for (unsigned i = 0; i < 4; i++) hash = (hash ^ parts[i]) * UINT64_C(0xbf58476d1ce4e5b9), hash ^= hash >> 29;
    return hash ? hash : 1;
}
