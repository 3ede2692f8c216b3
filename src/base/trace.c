#include "base/trace.h"

#include <string.h>

#include "base/buf.h"
#include "base/limits.h"

static int hex_value(char c)
{
    if (c >= '0' && c <= '9') return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;        /* upper case is refused by the recommendation */
}

/* `count` bytes in lower-case hexadecimal at `at`. */
static bool read_hex(Str text, size_t at, uint8_t *out, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        int high = hex_value(text.ptr[at + 2 * i]), low = hex_value(text.ptr[at + 2 * i + 1]);
        if (high < 0 || low < 0) return false;
        out[i] = (uint8_t)(high << 4 | low);
    }
    return true;
}

static bool is_zero(const uint8_t *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (bytes[i]) return false;
    return true;
}

static Str trim(Str text)
{
    while (text.len && (text.ptr[0] == ' ' || text.ptr[0] == '\t')) text = str_slice(text, 1, text.len);
    while (text.len && (text.ptr[text.len - 1] == ' ' || text.ptr[text.len - 1] == '\t')) text.len--;
    return text;
}

bool trace_read(Str text, Trace *out_trace)
{
    Trace trace;
    text = trim(text);
    if (text.len < TRACE_TEXT_SIZE || text.ptr[2] != '-' || text.ptr[35] != '-' || text.ptr[52] != '-') return false;
    if (!read_hex(text, 0, &trace.version, 1) || !read_hex(text, 3, trace.id, sizeof trace.id)
        || !read_hex(text, 36, trace.span, sizeof trace.span) || !read_hex(text, 53, &trace.flags, 1))
        return false;
    if (trace.version == 0xff || is_zero(trace.id, sizeof trace.id) || is_zero(trace.span, sizeof trace.span)) return false;
    if (text.len > TRACE_TEXT_SIZE && (trace.version == 0 || text.ptr[TRACE_TEXT_SIZE] != '-')) return false;
    *out_trace = trace;
    return true;
}

static bool is_traceparent(Str name)
{
    static const char wanted[] = "traceparent";
    if (name.len != sizeof wanted - 1) return false;
    for (size_t i = 0; i < name.len; i++) {
        char c = name.ptr[i];
        if ((c >= 'A' && c <= 'Z' ? c + 32 : c) != wanted[i]) return false;
    }
    return true;
}

bool trace_of_headers(const TraceHeader *headers, uint32_t count, Trace *out_trace)
{
    const TraceHeader *found = NULL;
    for (uint32_t i = 0; i < count; i++) {
        if (!is_traceparent(headers[i].name)) continue;
        if (found) return false;
        found = &headers[i];
    }
    return found && trace_read(found->value, out_trace);
}

Str trace_print(const Trace *trace, char out[TRACE_TEXT_SIZE])
{
    uint8_t flags = trace->flags & (TRACE_SAMPLED | TRACE_RANDOM);
    Buf buf = buf_on(out, TRACE_TEXT_SIZE);
    buf_text(&buf, "00-");
    buf_hex(&buf, trace->id, sizeof trace->id);
    buf_char(&buf, '-');
    buf_hex(&buf, trace->span, sizeof trace->span);
    buf_char(&buf, '-');
    buf_hex(&buf, &flags, 1);
    return buf_peek(&buf);
}

/* --- tracestate ---------------------------------------------------------------------------------------------------------- */

static bool is_key(Str key)
{
    size_t at = str_find(key, '@', 0);
    bool is_shared = at < key.len;                          /* tenant@system */
    if (!key.len || key.len > 256 || at > (is_shared ? 241 : 256) || (is_shared && (key.len - at - 1 > 14 || !at || at + 1 == key.len)))
        return false;
    for (size_t i = 0; i < key.len; i++) {
        char c = key.ptr[i];
        bool is_lower = c >= 'a' && c <= 'z', is_digit = c >= '0' && c <= '9';
        bool is_first = !i || (is_shared && i == at + 1), may_be_digit = !is_first || (is_shared && !i);
        bool is_mark = c == '_' || c == '-' || c == '*' || c == '/';
        if (!is_lower && !(is_digit && may_be_digit) && !(is_mark && !is_first) && !(is_shared && i == at)) return false;
    }
    return true;
}

static bool is_state_value(Str value)
{
    if (!value.len || value.len > 256 || value.ptr[value.len - 1] == ' ') return false;
    for (size_t i = 0; i < value.len; i++)
        if (value.ptr[i] < ' ' || value.ptr[i] > '~' || value.ptr[i] == ',' || value.ptr[i] == '=') return false;
    return true;
}

static bool has_key(const Str *members, uint32_t count, Str key)
{
    for (uint32_t i = 0; i < count; i++)
        if (members[i].len > key.len && members[i].ptr[key.len] == '=' && str_starts(members[i], key)) return true;
    return false;
}

/* How many there are; 0 where it is none. */
static uint32_t read_members(Str text, Str members[TRACE_STATE_COUNT_MAX])
{
    uint32_t count = 0;
    for (size_t from = 0; from <= text.len;) {
        size_t end = str_find(text, ',', from);
        Str member = trim(str_slice(text, from, end));
        from = end + 1;
        if (!member.len) continue;                          /* empty members are permitted */
        size_t equals = str_find(member, '=', 0);
        if (equals == member.len || count == TRACE_STATE_COUNT_MAX) return 0;
        Str key = str_slice(member, 0, equals);
        if (!is_key(key) || !is_state_value(str_slice(member, equals + 1, member.len)) || has_key(members, count, key)) return 0;
        members[count++] = member;
    }
    return count;
}

/* From the last one on, until what is left fits. */
static size_t leave_out(Str *members, uint32_t count, size_t size, size_t larger_than)
{
    for (uint32_t i = count; i-- > 0 && size > TRACE_STATE_SIZE_MAX;) {
        if (members[i].len <= larger_than) continue;
        size -= members[i].len + 1;
        members[i].len = 0;
    }
    return size;
}

Str trace_state_fit(Str text, char out[TRACE_STATE_SIZE_MAX])
{
    Str members[TRACE_STATE_COUNT_MAX];
    uint32_t count = read_members(text, members);
    if (!count) return (Str){ 0 };
    if (text.len <= TRACE_STATE_SIZE_MAX) return text;
    size_t size = count - 1;                                /* the commas */
    for (uint32_t i = 0; i < count; i++) size += members[i].len;
    size = leave_out(members, count, size, TRACE_MEMBER_SIZE_MAX);
    (void)leave_out(members, count, size, 0);
    Buf buf = buf_on(out, TRACE_STATE_SIZE_MAX);
    for (uint32_t i = 0; i < count; i++) {
        if (!members[i].len) continue;
        if (buf.len) buf_char(&buf, ',');
        buf_str(&buf, members[i]);
    }
    return buf_peek(&buf);
}

/* --- by number ------------------------------------------------------------------------------------------------------- */

static uint64_t mix(uint64_t x)
{
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

static void put_number(uint8_t out[8], uint64_t number)
{
    for (int i = 0; i < 8; i++) out[i] = (uint8_t)(number >> (56 - 8 * i));
}

static uint64_t get_number(const uint8_t bytes[8])
{
    uint64_t number = 0;
    for (int i = 0; i < 8; i++) number = number << 8 | bytes[i];
    return number;
}

Trace trace_make(uint64_t seed)
{
    Trace trace = { .flags = TRACE_SAMPLED };
    put_number(trace.id, mix(seed) | 1);
    put_number(trace.id + 8, mix(seed ^ 0x9e3779b97f4a7c15u));
    return trace_child(&trace, 0);
}

Trace trace_child(const Trace *trace, uint64_t number)
{
    Trace child = *trace;
    child.version = 0;
    uint64_t span = mix(get_number(trace->id) ^ mix(get_number(trace->id + 8) ^ mix(number + 1)));
    put_number(child.span, span ? span : 1);
    return child;
}

/* --- of a run --------------------------------------------------------------------------------------------------------- */


Trace trace_span(const Trace *trace, uint64_t seed, SpanSort sort, uint64_t number, uint32_t attempt)
{
    Trace own = trace_child(trace, seed);           /* of this run alone */
    for (unsigned i = 0; i < sizeof own.span; i++) own.id[i] ^= own.span[i];
    Trace child = trace_child(&own, (uint64_t)sort << 61 ^ number << 32 ^ attempt);
    memcpy(child.id, trace->id, sizeof child.id);
    return child;
}
