/* remote_lines.c - log lines as a server sends them: server-sent events, read line by line. */
#include <string.h>
#include <strings.h>
#include <time.h>

#include "base/civil.h"
#include "base/limits.h"
#include "store/remote/remote_parts.h"
#include "value/json.h"

typedef struct Following {
    Remote *remote;
    const RemoteLines *lines;
    int64_t line_no;                /* the last that was given */
    Buf line, data, problem;        /* of the stream; of the event being read; of an answer that is no stream */
    bool is_end;                    /* the event being read is the last */
    bool is_over, is_unwanted, has_progress;
    bool is_away;                   /* and that was told */
} Following;

/* The head of an answer comes before its lines, and at once, though there may be none for long. */
static size_t take_head(char *bytes, size_t one, size_t size, void *context)
{
    Following *following = context;
    long status = 0;
    (void)bytes;
    curl_easy_getinfo(following->remote->easy, CURLINFO_RESPONSE_CODE, &status);
    if (following->is_away && (status == 200 || status == 204)) {
        following->is_away = false;
        following->lines->away(following->lines->context, /* why= */ NULL);
    }
    return one * size;
}

/* One event is whole: a row, or the end. */
static bool give(Following *following)
{
    Arena arena;
    Value line;
    Error err;
    Cell cells[LOGS_text + 1];
    bool goes_on = true;
    arena_init(&arena, SIZE_MAX);
    if (following->is_end) following->is_over = true;
    else if (following->data.len && !json_parse(&arena, buf_peek(&following->data), &line, &err)) {
        const Value *index = value_get_text(line, "stepIndex");
        int64_t time_ms = 0;
        (void)civil_read_ms(value_get_string(line, "time", STR("")), &time_ms);
        following->line_no = value_get_int(line, "line", following->line_no);
        following->has_progress = true;
        cells[LOGS_line_no] = cell_int(following->line_no);
        cells[LOGS_run_no] = cell_null();
        cells[LOGS_step_index] = index && index->kind == VALUE_INT ? cell_int(index->integer) : cell_null();
        cells[LOGS_attempt] = cell_int(value_get_int(line, "attempt", 0));
        cells[LOGS_time_ms] = cell_int(time_ms);
        cells[LOGS_stream] = cell_text(value_get_string(line, "stream", STR("")));
        cells[LOGS_text] = cell_text(value_get_string(line, "text", STR("")));
        goes_on = following->lines->visit(following->lines->context, cells, LOGS_text + 1);
    }
    buf_clear(&following->data);
    following->is_end = false;
    arena_deinit(&arena);
    return goes_on;
}

static bool take_text(Following *following)
{
    Str line = buf_peek(&following->line), data = STR("data: ");
    bool goes_on = true;
    if (!line.len) goes_on = give(following);
    else if (str_starts(line, data)) buf_str(&following->data, str_slice(line, data.len, line.len));
    else if (str_is_text(line, "event: end")) following->is_end = true;
    buf_clear(&following->line);
    return goes_on;
}

static size_t take_bytes(char *bytes, size_t one, size_t size, void *context)
{
    Following *following = context;
    long status = 0;
    size_t came = one * size;
    curl_easy_getinfo(following->remote->easy, CURLINFO_RESPONSE_CODE, &status);
    if (status != 200) {
        buf_bytes(&following->problem, bytes, came);
        return came;
    }
    for (size_t i = 0; i < came && !following->is_unwanted; i++) {
        if (bytes[i] != '\n') buf_char(&following->line, bytes[i]);
        else following->is_unwanted = !take_text(following);
    }
    return following->is_unwanted || buf_overflowed(&following->line) ? 0 : came;
}

static Status refuse(Following *following, long code, Error *err)
{
    Arena arena;
    Value problem = value_null();
    arena_init(&arena, SIZE_MAX);
    if (json_parse(&arena, buf_peek(&following->problem), &problem, err)) problem = value_null();
    Status status = remote_refused(code, problem, err);
    arena_deinit(&arena);
    return status;
}

/* One connection, to its end. ERR_UNAVAILABLE: it was lost, or could not be made. */
static Status listen_once(Following *following, Str address, Error *err)
{
    CURL *easy = following->remote->easy;
    char reason[CURL_ERROR_SIZE] = "", last[64];
    long code = 0;
    Buf text = buf_on(last, sizeof last - 1);
    buf_format(&text, "Last-Event-ID: %lld", (long long)following->line_no);
    last[text.len] = '\0';
    struct curl_slist *headers = NULL;
    for (const struct curl_slist *header = following->remote->headers; header; header = header->next)
        headers = curl_slist_append(headers, header->data);
    headers = curl_slist_append(headers, "Accept: text/event-stream");
    if (following->line_no) headers = curl_slist_append(headers, last);
    buf_clear(&following->line);
    buf_clear(&following->data);
    buf_clear(&following->problem);
    curl_easy_setopt(easy, CURLOPT_HTTPGET, 1L);
    curl_easy_setopt(easy, CURLOPT_URL, address.ptr);
    curl_easy_setopt(easy, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, 0L);
    curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, (long)CONTROL_ANSWER_MS_MAX);
    curl_easy_setopt(easy, CURLOPT_LOW_SPEED_LIMIT, 1L);
    curl_easy_setopt(easy, CURLOPT_LOW_SPEED_TIME, REMOTE_SILENCE_S);
    curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, take_head);
    curl_easy_setopt(easy, CURLOPT_HEADERDATA, following);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, take_bytes);
    curl_easy_setopt(easy, CURLOPT_WRITEDATA, following);
    curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, reason);
    CURLcode failed = curl_easy_perform(easy);
    curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &code);
    curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, NULL);
    curl_easy_setopt(easy, CURLOPT_HTTPHEADER, following->remote->headers);
    curl_slist_free_all(headers);
    if (!failed && code == 204) following->is_over = true;         /* it ended while the connection was lost */
    if (following->is_over || following->is_unwanted) return OK;
    if (!failed && code != 200 && code != 503) return refuse(following, code, err);
    return error_set(err, ERR_UNAVAILABLE, "the server %.*s cannot be asked: %s", STR_ARG(following->remote->url),
                     reason[0] ? reason : failed ? curl_easy_strerror(failed) : "it ended the stream");
}

Status remote_lines(const RemoteOptions *options, const RemoteLines *lines, Error *err)
{
    Following following = { .remote = remote_new(options), .lines = lines, .line_no = lines->after };
    Arena *arena = &following.remote->arena;
    Str address = arena_format(arena, "%.*s/api/executions/%.*s/logs", STR_ARG(following.remote->url), STR_ARG(lines->run_id));
    if (lines->step.kind == CELL_INT) address = arena_format(arena, "%.*s?stepIndex=%lld", STR_ARG(address), (long long)lines->step.integer);
    buf_init(&following.line, JSON_SIZE_MAX);
    buf_init(&following.data, JSON_SIZE_MAX);
    buf_init(&following.problem, JSON_SIZE_MAX);
    Status status = OK;
    for (uint32_t tries = 0; !following.is_over && !following.is_unwanted && tries < REMOTE_RETRY_COUNT; tries++) {
        if (tries) nanosleep(&(struct timespec){ .tv_nsec = REMOTE_RETRY_MS * 1000000L }, NULL);
        following.has_progress = false;
        status = listen_once(&following, address, err);
        if (status && status != ERR_UNAVAILABLE) break;
        if (following.has_progress) tries = 0;
        if (status && !following.is_away) lines->away(lines->context, err);
        following.is_away = status != OK;
    }
    buf_deinit(&following.line);
    buf_deinit(&following.data);
    buf_deinit(&following.problem);
    remote_free(following.remote);
    return status;
}
