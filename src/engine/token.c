#include "engine/token.h"

#include <endian.h>
#include <string.h>

#include "base/buf.h"
#include "base/check.h"
#include "base/limits.h"

/* What the code is of: numbers of a fixed size, and the name behind them. */
typedef struct Signed { uint8_t bytes[36 + NAME_SIZE_MAX]; size_t size; } Signed;

static void add_u64(Signed *text, uint64_t number)
{
    number = htole64(number);
    memcpy(text->bytes + text->size, &number, sizeof number);
    text->size += sizeof number;
}

static void code_of(const TokenScope *scope, const AttemptId *id, uint32_t queue, uint8_t out[SEAL_CODE_SIZE])
{
    Signed text = { .size = 0 };
    uint32_t tag = htole32(queue);
    CHECK(scope->executor.len <= NAME_SIZE_MAX);
    add_u64(&text, id->run_no);
    add_u64(&text, (uint64_t)id->step << 32 | id->attempt);
    add_u64(&text, id->holder);
    add_u64(&text, id->serial);
    memcpy(text.bytes + text.size, &tag, sizeof tag);
    memcpy(text.bytes + text.size + sizeof tag, scope->executor.ptr, scope->executor.len);
    code_make(scope->key, (Str){ (const char *)text.bytes, text.size + sizeof tag + scope->executor.len }, out);
}

Str token_print(const TokenScope *scope, const AttemptId *id, uint32_t queue, char out[TOKEN_SIZE_MAX])
{
    const uint64_t numbers[] = { id->run_no, id->step, id->attempt, id->holder, id->serial, queue };
    uint8_t code[SEAL_CODE_SIZE];
    Buf text = buf_on(out, TOKEN_SIZE_MAX);
    code_of(scope, id, queue, code);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        buf_u64(&text, numbers[i]);
        buf_char(&text, '.');
    }
    buf_hex(&text, code, sizeof code);
    CHECK(!buf_overflowed(&text));
    return buf_peek(&text);
}

/* --- reading --------------------------------------------------------------------------------------------------------- */

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

static bool point_read(Str text, size_t *at) { return *at < text.len && text.ptr[*at] == '.' && ++*at; }

/* Lower case alone: a token has one way to be written. */
static bool code_read(Str text, uint8_t out[SEAL_CODE_SIZE])
{
    if (text.len != 2 * SEAL_CODE_SIZE) return false;
    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];
        bool is_digit = c >= '0' && c <= '9';
        if (!is_digit && (c < 'a' || c > 'f')) return false;
        unsigned digit = (unsigned)(is_digit ? c - '0' : c - 'a' + 10);
        out[i / 2] = (uint8_t)(out[i / 2] << 4 | digit);
    }
    return true;
}

bool token_read(Str text, Token *out)
{
    static const uint64_t most[] = { UINT64_MAX, UINT32_MAX, UINT32_MAX, UINT64_MAX, UINT64_MAX };
    uint64_t parts[5], queue = 0;
    size_t at = 0;
    for (unsigned i = 0; i < 5; i++)
        if ((i && !point_read(text, &at)) || !number_read(text, &at, most[i], &parts[i])) return false;
    if (!parts[0] || (at < text.len && text.ptr[at] != '.')) return false;
    *out = (Token){ .id = { parts[0], (uint32_t)parts[1], (uint32_t)parts[2], parts[3], parts[4] } };
    bool has_code = point_read(text, &at) && number_read(text, &at, UINT32_MAX, &queue) && point_read(text, &at)
                 && code_read(str_slice(text, at, text.len), out->code);
    if (has_code) out->queue = (uint32_t)queue;
    else memset(out->code, 0, sizeof out->code);
    return true;
}

bool token_is_genuine(const TokenScope *scope, const Token *token)
{
    uint8_t right[SEAL_CODE_SIZE];
    code_of(scope, &token->id, token->queue, right);
    return code_is(right, token->code);
}

/* --- numbers that stand for something ------------------------------------------------------------------------------------ */

/* FNV-1a: the names are of whoever runs the server, and 64 of them at most are told apart. */
uint32_t token_queue(Str name)
{
    uint32_t hash = UINT32_C(2166136261);
    for (size_t i = 0; i < name.len; i++) hash = (hash ^ (uint8_t)name.ptr[i]) * UINT32_C(16777619);
    return hash ? hash : 1;
}

uint64_t token_hash(const AttemptId *id)
{
    uint64_t hash = UINT64_C(0x9e3779b97f4a7c15);
    const uint64_t parts[] = { id->run_no, (uint64_t)id->step << 32 | id->attempt, id->holder, id->serial };
    for (unsigned i = 0; i < 4; i++) hash = (hash ^ parts[i]) * UINT64_C(0xbf58476d1ce4e5b9), hash ^= hash >> 29;
    return hash ? hash : 1;
}
