#include "exec/worker/puller.h"

#include <curl/curl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/check.h"
#include "base/hash.h"
#include "base/limits.h"
#include "base/utf8.h"
#include "engine/attempt.h"
#include "engine/run_index.h"
#include "os/clock.h"
#include "value/json.h"

#define PULLER_ITEM_SIZE_MAX (32u << 20)
#define PUSH_SIZE_MAX (API_BODY_SIZE_MAX / 2)   /* of the items of a request; one alone may have more */
#define PUSH_COUNT_MAX 64u              /* of each kind, though the server takes more: whoever asks it meanwhile waits for all of them */
#define WAIT_MS 20000                   /* how long the server may keep the pull */
#define ANSWER_MS 30000                 /* ... and the time that it has on top of that */
#define BACKOFF_MS_MIN 100
#define BACKOFF_MS_MAX 5000
#define TAKE_BACK_MS 500                /* how often it is taken back */
#define STOP_MS_MAX 5000                /* how long a wait for work that was taken back may take to end */
#define FD_COUNT_MAX 40u

static_assert(PUSH_COUNT_MAX <= WORKER_ITEM_COUNT_MAX, "what is sent has to be taken");

/* An attempt that the server has leased to us. */
typedef struct Leased {
    AttemptId id;                       /* here: not the server's */
    uint32_t place;                     /* in the list of all */
    char *token;
    Executor *executor;
    Arena arena;
    Attempt attempt;
    bool is_taken;                      /* its executor has it */
    bool is_over;                       /* reported by its executor */
    bool is_wrong;                      /* the server did not take the report as it was: a failure is reported */
    char *said;                         /* that report, until the server knows it; NULL: none yet */
} Leased;

typedef enum ItemKind { ITEM_REPORT, ITEM_MESSAGE, ITEM_LOG, ITEM_KIND_COUNT } ItemKind;
static const char *const item_lists[ITEM_KIND_COUNT] = { "reports", "messages", "logs" };

/* What is to be said, as the JSON text of one element of its list. */
typedef struct Item { struct Item *next; uint64_t serial; uint8_t kind; bool is_sent; size_t size; char text[]; } Item;

typedef struct Channel {
    CURL *easy;
    Buf body, answer;
    bool is_busy, is_pull;
    bool has_items;                     /* the request that is under way says something of attempts */
    char error[CURL_ERROR_SIZE];
    int64_t not_before_ms, backoff_ms;
} Channel;

typedef struct Puller {
    const PullerOptions *options;
    CURLM *multi;
    struct curl_slist *headers;
    char *url;
    Channel pull, push;
    Leased **leased;
    uint32_t leased_count, leased_room;
    RunIndex by_serial, by_token;       /* the same, by the hash of its token */
    uint64_t serial;
    Item *items, *items_last;
    size_t item_size;
    uint32_t report_count;              /* of the items */
    int64_t beat_ms, lease_ms;
    bool is_stopping;
    int64_t stop_ms;                    /* until then the wait for work, which is taken back, is waited for */
    int64_t take_back_ms;               /* when that is to be said, again */
    uint32_t sent_count;                /* items of the request under way */
    bool is_careful;                    /* one of them is wrong: they are sent one at a time */
    bool is_known;                      /* the server has answered once */
    Error error;                        /* why it ends; OK: it does not */
} Puller;

static void tell(const Puller *puller, const char *format, ...) PRINTF_LIKE(2, 3);

static void tell(const Puller *puller, const char *format, ...)
{
    if (!puller->options->told) return;
    Arena arena;
    arena_init(&arena, SIZE_MAX);
    va_list args;
    va_start(args, format);
    puller->options->told(puller->options->context, arena_format_args(&arena, format, args));
    va_end(args);
    arena_deinit(&arena);
}

/* --- what is to be said ------------------------------------------------------------------------------------------------- */

static void item_put(Puller *puller, const Leased *leased, ItemKind kind, Str text)
{
    Item *item = malloc(sizeof *item + text.len);
    CHECK(item);
    *item = (Item){ .serial = leased->id.serial, .kind = (uint8_t)kind, .size = text.len };
    memcpy(item->text, text.ptr, text.len);
    *(puller->items_last ? &puller->items_last->next : &puller->items) = item;
    puller->items_last = item;
    puller->item_size += text.len;
    puller->report_count += kind == ITEM_REPORT;
}

static void value_put(Buf *buf, Value value)
{
    Error err;
    if (json_print(buf, value, JSON_COMPACT, &err) != OK) buf_text(buf, "null");
}

static void item_begin(Buf *buf, const Leased *leased)
{
    buf_init(buf, 4 * (size_t)OUTPUT_SIZE_MAX);
    buf_text(buf, "{\"token\":");
    json_print_string(buf, str_of(leased->token));
}

static void item_end(Puller *puller, const Leased *leased, ItemKind kind, Buf *buf)
{
    buf_char(buf, '}');
    item_put(puller, leased, kind, buf_peek(buf));
    buf_deinit(buf);
}

const char *puller_cause_word(Cause cause)
{
    switch ((int)cause) {
    case CAUSE_TRANSIENT: return "transient";
    case CAUSE_INPUT_INVALID: return "input-invalid";
    case CAUSE_POLICY: return "policy";
    case CAUSE_TIMEOUT: return "timeout";
    case CAUSE_CANCELLED: return "cancelled";
    case CAUSE_ERROR: return "error";
    default: return "permanent";
    }
}

/* The server takes no longer one. */
static Str message_within(Str message)
{
    return message.len <= TEXT_SIZE_MAX ? message : str_slice(message, 0, utf8_valid_size(str_slice(message, 0, TEXT_SIZE_MAX)));
}

static void say_report(Puller *puller, Leased *leased, const Report *report)
{
    Buf buf;
    item_begin(&buf, leased);
    if (report->cause == CAUSE_NONE) {
        buf_text(&buf, ",\"output\":");
        value_put(&buf, report->output);
    } else {
        buf_format(&buf, ",\"failure\":{\"cause\":\"%s\",\"message\":", puller_cause_word(report->cause));
        json_print_string(&buf, message_within(report->message));
        buf_text(&buf, ",\"details\":");
        value_put(&buf, report->output);
        buf_char(&buf, '}');
    }
    free(leased->said);
    leased->said = str_text_new(buf_peek(&buf));       /* without its end */
    item_end(puller, leased, ITEM_REPORT, &buf);
}

static void say_log(Puller *puller, const Leased *leased, const Notice *notice)
{
    Buf buf;
    item_begin(&buf, leased);
    buf_format(&buf, ",\"is_error\":%s,\"text\":", notice->is_error ? "true" : "false");
    json_print_string(&buf, notice->text);
    item_end(puller, leased, ITEM_LOG, &buf);
}

/* The message as its runner wrote it: see engine/message.h. */
static void say_message(Puller *puller, const Leased *leased, const Notice *notice)
{
    Buf buf;
    item_begin(&buf, leased);
    buf_text(&buf, ",\"message\":{");
    if (notice->kind == NOTICE_EFFECT && (notice->is_committed || notice->is_withdrawn)) {
        buf_format(&buf, "\"effectCommitted\":%s", notice->is_committed ? "true" : "false");
    } else if (notice->kind == NOTICE_EFFECT) {
        buf_text(&buf, "\"effect\":");
        value_put(&buf, notice->value);
    } else if (notice->kind == NOTICE_COST) {
        buf_format(&buf, "\"cost\":%llu.%06llu", (unsigned long long)(notice->number / 1000000), (unsigned long long)(notice->number % 1000000));
    } else if (notice->kind == NOTICE_PROGRESS) {
        buf_format(&buf, "\"progress\":{\"done\":%llu.%03llu,\"text\":", (unsigned long long)(notice->number / 1000),
                   (unsigned long long)(notice->number % 1000));
        json_print_string(&buf, notice->text);
        buf_char(&buf, '}');
    } else {
        buf_text(&buf, "\"signal\":{\"name\":");
        json_print_string(&buf, notice->name);
        buf_format(&buf, ",\"kind\":\"%s\",\"value\":", signal_kind_name(notice->sort));
        value_put(&buf, notice->value);
        buf_char(&buf, '}');
    }
    buf_char(&buf, '}');
    item_end(puller, leased, ITEM_MESSAGE, &buf);
}

/* --- leases --------------------------------------------------------------------------------------------------------------- */

static Leased *leased_find(const Puller *puller, const AttemptId *id)
{
    return run_index_find(&puller->by_serial, id->serial);
}

static uint64_t token_hash(Str token) { return hash_key(hash_text(HASH_SEED, token)); }

static Leased *leased_of(const Puller *puller, Str token)
{
    Leased *leased = run_index_find(&puller->by_token, token_hash(token));
    return leased && str_is_text(token, leased->token) ? leased : NULL;
}

static void leased_forget(Puller *puller, Leased *leased)
{
    Leased *last = puller->leased[--puller->leased_count];
    puller->leased[leased->place] = last;
    last->place = leased->place;
    run_index_remove(&puller->by_serial, leased->id.serial);
    run_index_remove(&puller->by_token, token_hash(str_of(leased->token)));
    arena_deinit(&leased->arena);
    free(leased->token);
    free(leased->said);
    free(leased);
}

static Value member_of(Value object, const char *key)
{
    const Value *member = value_get_text(object, key);
    return member ? *member : value_null();
}

static void leased_fail(Puller *puller, Leased *leased, Str why)
{
    say_report(puller, leased, &(Report){ .cause = CAUSE_PERMANENT, .message = why, .output = value_null() });
    leased->is_over = true;
}

/* Beyond its capacity there may be those that it has adopted. */
static void leased_grow(Puller *puller)
{
    puller->leased_room = puller->leased_room ? puller->leased_room * 2 : puller->options->capacity + 1;
    Leased **all = realloc(puller->leased, puller->leased_room * sizeof *all);
    CHECK(all);
    puller->leased = all;
}

static Leased *leased_add(Puller *puller, Str token, int64_t lease_ms, AttemptId id)
{
    Leased *leased = calloc(1, sizeof *leased);
    CHECK(leased);
    arena_init(&leased->arena, SIZE_MAX);
    leased->token = str_text_new(token);
    leased->id = id;
    if (lease_ms < puller->lease_ms) puller->lease_ms = lease_ms;
    if (puller->leased_count == puller->leased_room) leased_grow(puller);
    leased->place = puller->leased_count;
    puller->leased[puller->leased_count++] = leased;
    run_index_put(&puller->by_serial, leased->id.serial, leased);
    run_index_put(&puller->by_token, token_hash(token), leased);
    return leased;
}

/* Those of before: their executor has them. */
static void leases_adopt(Puller *puller)
{
    const PullerOptions *options = puller->options;
    Str token;
    int64_t lease_ms;
    Executor *executor;
    AttemptId id = { .run_no = puller->serial + 1, .attempt = 1, .holder = 1, .serial = puller->serial + 1 };
    for (uint32_t i = 0; options->adopt && options->adopt(options->context, i, &id, &token, &lease_ms, &executor); i++) {
        Leased *leased = leased_add(puller, token, lease_ms, id);
        leased->executor = executor;
        leased->is_taken = true;
        id.run_no = id.serial = ++puller->serial + 1;
    }
}

static void lease_begin(Puller *puller, Value lease)
{
    const PullerOptions *options = puller->options;
    Str token = value_get_string(lease, "token", STR(""));
    if (!token.len || leased_of(puller, token) || puller->leased_count >= options->capacity) return;
    Value task = member_of(lease, "task"), settings = value_null();
    puller->serial++;
    Leased *leased = leased_add(puller, token, value_get_int(lease, "lease_ms", LEASE_MS_DEFAULT),
                                (AttemptId){ .run_no = puller->serial, .attempt = (uint32_t)value_get_int(task, "attempt", 1), .holder = 1,
                                             .serial = puller->serial });
    Str runner = value_get_string(lease, "runner", STR(""));
    if (!options->find(options->context, runner, &leased->executor, &settings)) {
        leased_fail(puller, leased, arena_format(&leased->arena, "the worker '%.*s' knows no runner '%.*s': %s",
                                                 STR_ARG(options->worker), STR_ARG(runner),
                                                 str_is_text(runner, "shell") ? "it has to be started with --shell"
                                                                              : "its runners.yaml has to name it"));
        return;
    }
    Attempt attempt = {
        .id = leased->id, .run_id = value_get_string(task, "run", STR("")), .tenant = value_get_string(lease, "tenant", STR("")),
        .definition = value_get_string(lease, "definition", STR("")), .step_id = value_get_string(task, "step", STR("")), .runner = runner,
        .settings = settings, .step = options->is_kept ? lease : value_null(),
        .resources = member_of(lease, "resources"), .input = member_of(task, "input"),
        .args = member_of(lease, "args"), .params = member_of(task, "params"), .context = member_of(task, "context"),
        .key = value_get_string(task, "idempotencyKey", STR("")), .traceparent = value_get_string(task, "traceparent", STR("")),
        .tracestate = value_get_string(task, "tracestate", STR("")),
        .server = options->server, .credential = value_get_string(task, "credential", STR("")),
        .now_ms = clock_realtime_ms(), .steady_ms = clock_monotonic_ms(), .deadline_ms = value_get_int(task, "deadline", 0),
        .is_effect_recorded = value_get_bool(lease, "effect_recorded", false),
    };
    leased->attempt = attempt_copy(&leased->arena, &attempt);
    leased->attempt.settings = settings;
}

/* Those that no executor has yet; one without room is asked again. */
static void leases_offer(Puller *puller)
{
    for (uint32_t i = 0; i < puller->leased_count; i++) {
        Leased *leased = puller->leased[i];
        if (!leased->is_taken && !leased->is_over) leased->is_taken = leased->executor->ops->execute(leased->executor, &leased->attempt);
    }
}

static void lease_cancel(Puller *puller, Str token)
{
    Leased *leased = leased_of(puller, token);
    if (!leased || leased->is_over) return;
    if (leased->is_taken) {
        leased->executor->ops->end(leased->executor, &leased->id);
        return;
    }
    say_report(puller, leased, &(Report){ .cause = CAUSE_CANCELLED, .message = STR("it was ended before it began"), .output = value_null() });
    leased->is_over = true;
}

static void take_notice(Puller *puller, const Notice *notice)
{
    Leased *leased = leased_find(puller, &notice->id);
    if (!leased || leased->is_over) return;
    if (notice->kind == NOTICE_REPORT) {
        say_report(puller, leased, &notice->report);
        leased->is_over = true;
    } else if (notice->kind == NOTICE_LOG) {
        say_log(puller, leased, notice);
    } else if (notice->kind != NOTICE_HEARTBEAT && notice->kind != NOTICE_ROOM) {
        say_message(puller, leased, notice);
    }
}

/* --- exchanges ------------------------------------------------------------------------------------------------------------ */

static size_t answer_take(char *bytes, size_t one, size_t size, void *context)
{
    Channel *channel = context;
    buf_bytes(&channel->answer, bytes, one * size);
    return buf_overflowed(&channel->answer) ? 0 : one * size;
}

static void channel_open(Puller *puller, Channel *channel, bool is_pull)
{
    *channel = (Channel){ .is_pull = is_pull, .easy = curl_easy_init(), .backoff_ms = BACKOFF_MS_MIN };
    CHECK(channel->easy);
    buf_init(&channel->body, SIZE_MAX / 2);
    buf_init(&channel->answer, (size_t)WORKER_ITEM_COUNT_MAX * OUTPUT_SIZE_MAX);
    curl_easy_setopt(channel->easy, CURLOPT_URL, puller->url);
    curl_easy_setopt(channel->easy, CURLOPT_HTTPHEADER, puller->headers);
    curl_easy_setopt(channel->easy, CURLOPT_PROTOCOLS_STR, "http,https");
    if (puller->options->ca) curl_easy_setopt(channel->easy, CURLOPT_CAINFO, puller->options->ca);
    curl_easy_setopt(channel->easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(channel->easy, CURLOPT_QUICK_EXIT, 1L);        /* its time is over whether the name of the server is resolved or not */
    curl_easy_setopt(channel->easy, CURLOPT_CONNECTTIMEOUT_MS, (long)HTTP_CONNECT_MS_MAX);
    curl_easy_setopt(channel->easy, CURLOPT_TIMEOUT_MS, (long)(WAIT_MS + ANSWER_MS));
    curl_easy_setopt(channel->easy, CURLOPT_ERRORBUFFER, channel->error);
    curl_easy_setopt(channel->easy, CURLOPT_USERAGENT, "maestro-worker");
    curl_easy_setopt(channel->easy, CURLOPT_WRITEFUNCTION, answer_take);
    curl_easy_setopt(channel->easy, CURLOPT_WRITEDATA, channel);
    curl_easy_setopt(channel->easy, CURLOPT_PRIVATE, channel);
}

static void channel_close(Puller *puller, Channel *channel)
{
    if (channel->is_busy) curl_multi_remove_handle(puller->multi, channel->easy);
    curl_easy_cleanup(channel->easy);
    buf_deinit(&channel->body);
    buf_deinit(&channel->answer);
}

static void channel_send(Puller *puller, Channel *channel)
{
    buf_clear(&channel->answer);
    curl_easy_setopt(channel->easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)channel->body.len);
    curl_easy_setopt(channel->easy, CURLOPT_POSTFIELDS, channel->body.ptr);
    CHECK(curl_multi_add_handle(puller->multi, channel->easy) == CURLM_OK);
    channel->is_busy = true;
}

static void body_begin(const Puller *puller, Buf *body)
{
    buf_clear(body);
    buf_text(body, "{\"worker\":");
    json_print_string(body, puller->options->worker);
}

/* What waits, from its beginning, up to the bounds of a request: what an attempt said before its report is not sent after it. */
static void items_choose(Puller *puller)
{
    uint32_t counts[ITEM_KIND_COUNT] = { 0 };
    size_t size = 0;
    puller->sent_count = 0;
    for (Item *item = puller->items; item; item = item->next) {
        bool is_full = size + item->size > PUSH_SIZE_MAX || counts[item->kind] == PUSH_COUNT_MAX || puller->is_careful;
        if (puller->sent_count && is_full) return;
        item->is_sent = true;
        size += item->size;
        counts[item->kind]++;
        puller->sent_count++;
    }
}

/* How many reports are among them. */
static uint32_t body_items(Puller *puller, Channel *channel)
{
    Buf *body = &channel->body;
    uint32_t report_count = 0;
    items_choose(puller);
    for (int kind = 0; kind < ITEM_KIND_COUNT; kind++) {
        uint32_t count = 0;
        for (const Item *item = puller->items; item && item->is_sent; item = item->next) {
            if (item->kind != kind) continue;
            if (!count++) buf_format(body, ",\"%s\":[", item_lists[kind]);
            else buf_char(body, ',');
            buf_bytes(body, item->text, item->size);
            report_count += kind == ITEM_REPORT;
        }
        if (count) buf_char(body, ']');
    }
    channel->has_items = puller->sent_count > 0;
    return report_count;
}

static bool is_beat_due(const Puller *puller) { return puller->leased_count && clock_monotonic_ms() >= puller->beat_ms; }

static void body_beats(Puller *puller, Buf *body)
{
    buf_text(body, ",\"heartbeats\":[");
    for (uint32_t i = 0, count = 0; i < puller->leased_count && count < WORKER_ITEM_COUNT_MAX; i++) {
        if (puller->leased[i]->is_over) continue;
        if (count++) buf_char(body, ',');
        json_print_string(body, str_of(puller->leased[i]->token));
    }
    buf_char(body, ']');
    puller->beat_ms = clock_monotonic_ms() + puller->lease_ms / 3;
}

static bool is_free(const Channel *channel) { return !channel->is_busy && clock_monotonic_ms() >= channel->not_before_ms; }

/* It waits for work, so that what is to be said goes by the other channel. Where more has ended than there are places left, it takes that
 * along instead of waiting: these places are free by its answer, which comes as soon as what was said is durable. What an attempt
 * says arrives in its order, so of both channels one carries it at a time. */
static void pull(Puller *puller)
{
    Channel *channel = &puller->pull;
    uint32_t ended = puller->push.has_items ? 0 : puller->report_count < PUSH_COUNT_MAX ? puller->report_count : PUSH_COUNT_MAX;
    uint32_t capacity = puller->options->capacity, want = capacity > puller->leased_count ? capacity - puller->leased_count : 0;
    bool takes_items = ended > want;
    if (!is_free(channel) || puller->is_stopping || (!want && !takes_items)) return;
    body_begin(puller, &channel->body);
    /* Without a list every queue of the executor is meant. */
    for (uint32_t i = 0; i < puller->options->queue_count; i++) {
        buf_text(&channel->body, i ? "," : ",\"queues\":[");
        json_print_string(&channel->body, puller->options->queues[i]);
    }
    if (puller->options->queue_count) buf_char(&channel->body, ']');
    if (takes_items) want += body_items(puller, channel);
    buf_format(&channel->body, ",\"want\":%u,\"wait_ms\":%d}", want, takes_items ? 0 : WAIT_MS);
    channel_send(puller, channel);
}

/* It waits for work that it will not begin. */
static bool is_taking_back(const Puller *puller)
{
    return puller->is_stopping && !puller->options->is_kept && puller->pull.is_busy && clock_monotonic_ms() < puller->stop_ms;
}

static void push(Puller *puller)
{
    Channel *channel = &puller->push;
    bool has_items = puller->items && !puller->pull.has_items, takes_back = is_taking_back(puller) && clock_monotonic_ms() >= puller->take_back_ms;
    if (!is_free(channel) || (!has_items && !is_beat_due(puller) && !takes_back)) return;
    body_begin(puller, &channel->body);
    /* Of one worker one exchange waits: this one, of no queue, takes the place of the other and waits for nothing. */
    if (takes_back) {
        buf_text(&channel->body, ",\"queues\":[],\"want\":1,\"wait_ms\":0");
        puller->take_back_ms = clock_monotonic_ms() + TAKE_BACK_MS;
    }
    if (has_items) (void)body_items(puller, channel);
    if (is_beat_due(puller)) body_beats(puller, &channel->body);
    buf_char(&channel->body, '}');
    channel_send(puller, channel);
}

static void items_forget(Puller *puller, bool is_taken)
{
    Item **place = &puller->items, *last = NULL;
    while (*place) {
        Item *item = *place;
        if (item->is_sent && is_taken) {
            *place = item->next;
            puller->item_size -= item->size;
            puller->report_count -= item->kind == ITEM_REPORT;
            free(item);
            continue;
        }
        item->is_sent = false;
        last = item;
        place = &item->next;
    }
    puller->items_last = last;
}

static void leased_settle(Puller *puller, Leased *leased, bool is_taken)
{
    if (leased->executor && leased->executor->ops->settled) leased->executor->ops->settled(leased->executor, &leased->id, is_taken);
    if (leased->is_over) leased_forget(puller, leased);
}

/* The server takes none of a request that is wrong. The one thing that is wrong with it is found by sending one at a time; in place of a
 * report a failure is told. */
static void take_wrong(Puller *puller, long status)
{
    const Item *first = puller->items;
    uint64_t serial = first && first->is_sent && first->kind == ITEM_REPORT ? first->serial : 0;
    puller->is_careful = puller->sent_count > 1;
    items_forget(puller, /* is_taken= */ puller->sent_count <= 1);
    Leased *leased = serial && !puller->is_careful ? leased_find(puller, &(AttemptId){ .serial = serial }) : NULL;
    if (leased && leased->is_wrong) leased_settle(puller, leased, /* is_taken= */ false);
    else if (leased) {
        char text[128];
        Buf why = buf_on(text, sizeof text);
        buf_format(&why, "the server does not take what it reports (%ld): is its output too large?", status);
        leased->is_wrong = true;
        say_report(puller, leased, &(Report){ .cause = CAUSE_PERMANENT, .message = buf_peek(&why), .output = value_null() });
    }
}

static void take_results(Puller *puller, Value results)
{
    for (uint32_t i = 0; results.kind == VALUE_ARRAY && i < results.count; i++) {
        Leased *leased = leased_of(puller, value_get_string(results.items[i], "token", STR("")));
        Str result = value_get_string(results.items[i], "result", STR(""));
        if (!leased) continue;
        if (str_is_text(value_get_string(results.items[i], "of", STR("")), "effect")) {
            if (str_is_text(result, "accepted")) leased->executor->ops->acknowledge(leased->executor, &leased->id);
            else if (!leased->is_over && leased->is_taken) leased->executor->ops->end(leased->executor, &leased->id);
            continue;
        }
        if (str_is_text(result, "unknown") && leased->said) {
            Buf again;
            buf_init(&again, SIZE_MAX);
            buf_text(&again, leased->said);
            item_end(puller, leased, ITEM_REPORT, &again);
            continue;
        }
        if (!str_is_text(result, "accepted"))
            tell(puller, "the report of %.*s, step %.*s, was not taken: %.*s", STR_ARG(leased->attempt.run_id), STR_ARG(leased->attempt.step_id),
                 STR_ARG(value_get_string(results.items[i], "reason", result)));
        leased_settle(puller, leased, str_is_text(result, "accepted"));
    }
}

static void take_answer(Puller *puller, Channel *channel)
{
    Arena arena;
    Error err;
    Value answer;
    arena_init(&arena, SIZE_MAX);
    if (json_parse(&arena, buf_peek(&channel->answer), &answer, &err) == OK) {
        Value leases = member_of(answer, "leases"), cancels = member_of(answer, "cancels");
        take_results(puller, member_of(answer, "results"));
        for (uint32_t i = 0; leases.kind == VALUE_ARRAY && i < leases.count; i++) lease_begin(puller, leases.items[i]);
        for (uint32_t i = 0; cancels.kind == VALUE_ARRAY && i < cancels.count; i++)
            if (cancels.items[i].kind == VALUE_STRING) lease_cancel(puller, value_text(cancels.items[i]));
    } else {
        tell(puller, "the server's answer is no JSON: %s", err.text);
        channel->not_before_ms = clock_monotonic_ms() + BACKOFF_MS_MAX;
    }
    arena_deinit(&arena);
}

/* 4xx: asking again does not help, except where the server has too much to do. */
static void take_end(Puller *puller, Channel *channel, CURLcode code)
{
    long status = 0;
    curl_easy_getinfo(channel->easy, CURLINFO_RESPONSE_CODE, &status);
    bool is_ok = code == CURLE_OK && status == 200;
    bool is_wrong = code == CURLE_OK && (status == 400 || status == 413 || status == 422), had_items = channel->has_items;
    channel->has_items = false;
    if (had_items && is_wrong) take_wrong(puller, status);
    else if (had_items) items_forget(puller, is_ok);
    if (is_ok) {
        puller->is_known = true;
        channel->backoff_ms = BACKOFF_MS_MIN;
        take_answer(puller, channel);
        return;
    }
    if (code == CURLE_OK && (status == 401 || status == 403))
        error_set(&puller->error, ERR_DENIED, "%.*s refuses this worker (%ld): %.*s", STR_ARG(puller->options->server),
                  status, STR_ARG(utf8_head(buf_peek(&channel->answer), 160)));
    else if (code == CURLE_OK && status == 404)
        error_set(&puller->error, ERR_NOT_FOUND, "%.*s has no worker executor '%.*s', or not that queue",
                  STR_ARG(puller->options->server), STR_ARG(puller->options->executor));
    else if (!puller->is_known && (code == CURLE_PEER_FAILED_VERIFICATION || code == CURLE_SSL_CACERT_BADFILE))
        error_set(&puller->error, ERR_UNAVAILABLE, "%.*s is not believed: %s; --ca FILE names the authorities that it is believed by",
                  STR_ARG(puller->options->server), channel->error[0] ? channel->error : curl_easy_strerror(code));
    else if (code == CURLE_OK) tell(puller, "the server answers %ld: %.*s", status, STR_ARG(utf8_head(buf_peek(&channel->answer), 200)));
    else if (channel->backoff_ms == BACKOFF_MS_MIN)
        tell(puller, "no answer from the server (%s); what runs goes on", channel->error[0] ? channel->error : curl_easy_strerror(code));
    channel->not_before_ms = clock_monotonic_ms() + channel->backoff_ms;
    channel->backoff_ms = channel->backoff_ms * 2 < BACKOFF_MS_MAX ? channel->backoff_ms * 2 : BACKOFF_MS_MAX;
}

static bool take_ends(Puller *puller)
{
    int left, running;
    bool has_ended = false;
    curl_multi_perform(puller->multi, &running);
    for (CURLMsg *message; (message = curl_multi_info_read(puller->multi, &left));) {
        if (message->msg != CURLMSG_DONE) continue;
        Channel *channel;
        CURLcode code = message->data.result;
        curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, (char **)&channel);
        curl_multi_remove_handle(puller->multi, channel->easy);
        channel->is_busy = false;
        take_end(puller, channel, code);
        has_ended = true;
    }
    return has_ended;
}

/* --- the loop --------------------------------------------------------------------------------------------------------------- */

static void wait_a_while(Puller *puller)
{
    const PullerOptions *options = puller->options;
    struct curl_waitfd fds[FD_COUNT_MAX] = { { .fd = notice_ring_fd(options->notices), .events = CURL_WAIT_POLLIN } };
    unsigned count = 1;
    for (uint32_t i = 0; i < options->executor_count && count < FD_COUNT_MAX - 1; i++) {
        Executor *executor = options->executors[i];
        int fd = executor->ops->wake_fd ? executor->ops->wake_fd(executor) : -1;
        if (fd >= 0) fds[count++] = (struct curl_waitfd){ .fd = fd, .events = CURL_WAIT_POLLIN };
    }
    if (options->stop_fd >= 0 && !puller->is_stopping) fds[count++] = (struct curl_waitfd){ .fd = options->stop_fd, .events = CURL_WAIT_POLLIN };
    bool has_work = puller->items && !puller->push.is_busy && !puller->pull.has_items;
    int64_t left = has_work ? puller->push.not_before_ms - clock_monotonic_ms() : 500;
    curl_multi_poll(puller->multi, fds, count, (int)(left < 1 ? 1 : left > 500 ? 500 : left), NULL);
    if (options->stop_fd >= 0 && !puller->is_stopping && fds[count - 1].revents) {
        puller->is_stopping = true;
        puller->stop_ms = clock_monotonic_ms() + STOP_MS_MAX;
        if (!options->is_kept) tell(puller, "stops: takes no more, and ends when what runs has ended (%u)", puller->leased_count);
    }
}

static bool take_notices(Puller *puller)
{
    NoticeRing *notices = puller->options->notices;
    bool has_taken = false;
    notice_ring_lower(notices);
    for (Notice notice; puller->item_size < PULLER_ITEM_SIZE_MAX && notice_ring_take(notices, &notice);
         has_taken = true)
        take_notice(puller, &notice);
    return has_taken;
}

/* What came is begun, and what ended at once is said: nothing that can be done now waits for the next turn. */
static void turn(Puller *puller)
{
    const PullerOptions *options = puller->options;
    do {
        for (uint32_t i = 0; i < options->executor_count; i++)
            if (options->executors[i]->ops->turn) options->executors[i]->ops->turn(options->executors[i], clock_monotonic_ms());
        do leases_offer(puller);
        while (take_notices(puller));
        pull(puller);
        push(puller);
    } while (take_ends(puller) && !puller->error.status);
}

static bool is_over(const Puller *puller)
{
    bool has_work = !puller->options->is_kept && (puller->leased_count || puller->items || is_taking_back(puller));
    return puller->error.status || (puller->is_stopping && !has_work);
}

Status puller_run(const PullerOptions *options, Error *err)
{
    if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) return error_set(err, ERR_UNAVAILABLE, "libcurl cannot be used");
    Arena arena;
    arena_init(&arena, SIZE_MAX);
    Puller puller = { .options = options, .multi = curl_multi_init(), .lease_ms = LEASE_MS_DEFAULT };
    CHECK(puller.multi);
    puller.serial = (uint64_t)clock_monotonic_ns();         /* what an earlier puller of this process was told does not count */
    leases_adopt(&puller);
    Str base = options->server;
    while (base.len && base.ptr[base.len - 1] == '/') base.len--;
    puller.url = str_text_new(arena_format(&arena, "%.*s/api/executors/%.*s/exchange", STR_ARG(base), STR_ARG(options->executor)));
    puller.headers = curl_slist_append(NULL, "Content-Type: application/json");
    puller.headers = curl_slist_append(puller.headers, "Expect:");
    if (options->bearer.len) {
        char *header = str_text_new(arena_format(&arena, "Authorization: Bearer %.*s", STR_ARG(options->bearer)));
        puller.headers = curl_slist_append(puller.headers, header);
        free(header);
    }
    channel_open(&puller, &puller.pull, /* is_pull= */ true);
    channel_open(&puller, &puller.push, /* is_pull= */ false);
    while (!is_over(&puller)) {
        turn(&puller);
        if (!is_over(&puller)) wait_a_while(&puller);
    }
    channel_close(&puller, &puller.pull);
    channel_close(&puller, &puller.push);
    while (puller.leased_count) leased_forget(&puller, puller.leased[0]);
    for (Item *item; (item = puller.items);) puller.items = item->next, free(item);
    run_index_deinit(&puller.by_serial);
    run_index_deinit(&puller.by_token);
    free(puller.leased);
    free(puller.url);
    curl_slist_free_all(puller.headers);
    curl_multi_cleanup(puller.multi);
    curl_global_cleanup();
    arena_deinit(&arena);
    if (puller.error.status) *err = puller.error;
    return puller.error.status;
}
