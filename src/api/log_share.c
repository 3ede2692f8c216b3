#include "api/log_share.h"

#include <string.h>

#include "api/route.h"
#include "base/limits.h"

static void text_put(char *place, size_t size, Str text)
{
    size_t len = text.len < size ? text.len : size - 1;
    if (len) memcpy(place, text.ptr, len);
    place[len] = '\0';
}

LogKind log_kind(const Call *call)
{
    LogKind kind = { .status = call->status, .route = call->route ? call->route->name : "" };
    text_put(kind.key, sizeof kind.key, call->caller.key);
    text_put(kind.source, sizeof kind.source, call->source);
    return kind;
}

static bool is_alike(const LogKind *one, const LogKind *other)
{
    return one->status == other->status && !strcmp(one->route, other->route) && !strcmp(one->key, other->key) && !strcmp(one->source, other->source);
}

static bool is_over(const LogPlace *place, int64_t now_ms) { return now_ms - place->since_ms >= API_LOG_SPAN_MS; }

/* Its own; else, as long as its key has not too many, one that nobody has, or whose time is over with nothing to tell; else that of all others. */
static LogPlace *place_of(LogShares *shares, const LogKind *kind, int64_t now_ms)
{
    LogPlace *free_one = NULL;
    uint32_t of_key = 0;
    for (uint32_t i = 0; i < API_LOG_KIND_COUNT_MAX; i++) {
        LogPlace *place = &shares->places[i];
        bool is_free = !place->line_count || (is_over(place, now_ms) && !place->left_count);
        if (!is_free && is_alike(&place->kind, kind)) return place;
        if (is_free && !free_one) free_one = place;
        of_key += !is_free && !strcmp(place->kind.key, kind->key);
    }
    if (of_key >= API_LOG_KEY_KIND_MAX) free_one = NULL;
    if (free_one) *free_one = (LogPlace){ .kind = *kind, .since_ms = now_ms };
    LogPlace *others = &shares->places[API_LOG_KIND_COUNT_MAX];
    if (!free_one && (!others->line_count || (is_over(others, now_ms) && !others->left_count)))
        *others = (LogPlace){ .kind = { .route = "" }, .since_ms = now_ms };
    return free_one ? free_one : others;
}

bool log_share_take(LogShares *shares, const LogKind *kind, int64_t now_ms)
{
    LogPlace *place = place_of(shares, kind, now_ms);
    bool is_written = place->line_count < API_LOG_LIKE_COUNT_MAX;
    if (is_written) place->line_count++;
    else place->left_count++;
    return is_written;
}

bool log_share_next(LogShares *shares, int64_t now_ms, bool is_end, LogKind *out_kind, uint64_t *out_count)
{
    for (uint32_t i = 0; i <= API_LOG_KIND_COUNT_MAX; i++) {
        LogPlace *place = &shares->places[i];
        if (!place->left_count || (!is_end && !is_over(place, now_ms))) continue;
        *out_kind = place->kind;
        *out_count = place->left_count;
        *place = (LogPlace){ 0 };
        return true;
    }
    return false;
}

int64_t log_share_due_ms(const LogShares *shares, int64_t now_ms)
{
    int64_t due_ms = -1;
    for (uint32_t i = 0; i <= API_LOG_KIND_COUNT_MAX; i++) {
        const LogPlace *place = &shares->places[i];
        int64_t left_ms = place->since_ms + API_LOG_SPAN_MS - now_ms;
        if (!place->left_count) continue;
        if (left_ms < 0) left_ms = 0;
        if (due_ms < 0 || left_ms < due_ms) due_ms = left_ms;
    }
    return due_ms;
}
