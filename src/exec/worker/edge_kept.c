#include "exec/worker/edge_parts.h"

#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "base/buf.h"
#include "base/check.h"
#include "base/limits.h"
#include "engine/message.h"
#include "value/json.h"

void edge_lock(Edge *edge) { CHECK(pthread_mutex_lock(&edge->mutex) == 0); }
void edge_unlock(Edge *edge) { CHECK(pthread_mutex_unlock(&edge->mutex) == 0); }

Value edge_member(Value object, const char *key)
{
    const Value *member = value_get_text(object, key);
    return member ? *member : value_null();
}

Kept *kept_of(const Edge *edge, Str token)
{
    Kept *kept = edge->kept;
    while (kept && !str_is_text(token, kept->token)) kept = kept->next;
    return kept;
}

Kept *kept_of_run(const Edge *edge, uint64_t run_no)
{
    Kept *kept = edge->kept;
    while (kept && kept->run_no != run_no) kept = kept->next;
    return kept;
}

Kept *kept_of_serial(const Edge *edge, uint64_t serial)
{
    Kept *kept = edge->kept;
    while (kept && kept->serial != serial) kept = kept->next;
    return kept;
}

Kept *kept_add(Edge *edge, Str token)
{
    Kept *kept = kept_of(edge, token);
    if (kept) return kept;
    kept = calloc(1, sizeof *kept);
    CHECK(kept);
    *kept = (Kept){ .next = edge->kept, .token = str_text_new(token), .lease_ms = LEASE_MS_DEFAULT };
    edge->kept = kept;
    return kept;
}

void kept_remove(Edge *edge, Kept *kept)
{
    Kept **place = &edge->kept;
    while (*place != kept) place = &(*place)->next;
    *place = kept->next;
    free(kept->token);
    free(kept->report);
    free(kept);
}

/* --- sealed --------------------------------------------------------------------------------------------------------------------- */

Value edge_seal_text(const Edge *edge, Arena *arena, Str token, const char *what, Str text)
{
    Str bytes = secret_seal(arena, &edge->options.key, token, str_of(what), text);
    Buf coded;
    buf_init(&coded, SIZE_MAX);
    base64_encode(&coded, bytes, BASE64_STANDARD);
    Value sealed = value_string(arena_copy(arena, buf_peek(&coded)));
    buf_deinit(&coded);
    return sealed;
}

Status edge_open_text(const Edge *edge, Arena *arena, Str token, const char *what, Value sealed, Value *out, Error *err)
{
    Str coded = sealed.kind == VALUE_STRING ? value_text(sealed) : STR("");
    char *bytes = arena_bytes(arena, base64_decoded_size_max(coded.len) + 1);
    size_t size = 0, wrong_at;
    if (!coded.len || !base64_decode(coded, BASE64_STANDARD, bytes, &size, &wrong_at))
        return error_set(err, ERR_CORRUPT, "the %s of a lease is not there", what);
    char *text = arena_bytes(arena, size + 1);
    size_t text_size;
    Status status = secret_open(&edge->options.key, token, str_of(what), (Str){ bytes, size }, text, &text_size, err);
    return status ? status : json_parse(arena, (Str){ text, text_size }, out, err);
}

/* --- to the engine's thread ------------------------------------------------------------------------------------------------------- */

void order_put(Edge *edge, OrderKind kind, const char *token, Str lease, bool is_taken)
{
    Order *order = calloc(1, sizeof *order);
    CHECK(order);
    *order = (Order){ .kind = kind, .token = str_text_new(str_of(token)), .lease = str_text_new(lease), .is_taken = is_taken };
    *(edge->orders_last ? &edge->orders_last->next : &edge->orders) = order;
    edge->orders_last = order;
    wake_raise(&edge->wake);
}

void order_free(Order *order)
{
    free(order->token);
    free(order->lease);
    free(order);
}

/* --- to the puller -------------------------------------------------------------------------------------------------------------- */

bool kept_tell(const Edge *edge, const Kept *kept, const Notice *notice)
{
    Notice told = *notice;
    told.id = (AttemptId){ .serial = kept->serial };
    told.teller = NULL;
    return kept->serial && edge->far.notice(edge->far.context, &told);
}

void kept_tell_report(const Edge *edge, Kept *kept)
{
    Arena arena;
    Value value;
    Error err;
    Notice notice = { .kind = NOTICE_REPORT, .value = value_null() };
    arena_init(&arena, SIZE_MAX);
    CHECK(json_parse(&arena, str_of(kept->report), &value, &err) == OK);           /* we printed it */
    CHECK(message_report(value, &notice.report, &err) == OK);
    kept->is_told = kept_tell(edge, kept, &notice);
    arena_deinit(&arena);
}

void kept_keep_report(Kept *kept, Value report)
{
    Buf text;
    Error err;
    buf_init(&text, SIZE_MAX);
    if (json_print(&text, report, JSON_COMPACT, &err)) buf_text(&text, "{\"failure\":{\"cause\":\"error\"}}");
    free(kept->report);
    kept->report = str_text_new(buf_peek(&text));
    buf_deinit(&text);
}
