#include "api/refusal.h"

#include <stdlib.h>
#include <string.h>

#include "api/route.h"
#include "base/check.h"
#include "base/limits.h"
#include "base/utf8.h"

#define SPAN_RETRY_MS 1000          /* after an engine that took nothing */
#define SEVERAL_REASONS "for more reasons than are told apart"
#define SEVERAL "several"           /* who was refused, and what */

/* Those that are told as one. */
typedef struct Kind {
    char actor[API_REFUSAL_TEXT_SIZE], tenant[NAME_SIZE_MAX + 1], verb[64], source[64];
    char why[API_REFUSAL_TEXT_SIZE];
    char what[API_REFUSAL_TEXT_SIZE];           /* of the first that is not recorded yet */
    unsigned status;
} Kind;

typedef struct Slot {
    Kind kind;
    uint64_t count;                 /* not recorded yet */
    int64_t due_ms;
    bool is_used;
    bool is_further;                /* it differs by its reason alone from one that was there before */
} Slot;

struct Refusals {
    Bridge *bridge;
    Slot slots[API_REFUSAL_COUNT_MAX + 1];      /* the last one: all that have no place of their own */
    uint32_t used_count;            /* of these: mostly there is none */
    uint32_t sent_count;            /* not answered yet */
};

Refusals *refusals_new(Bridge *bridge)
{
    Refusals *refusals = calloc(1, sizeof *refusals);
    CHECK(refusals);
    refusals->bridge = bridge;
    return refusals;
}

void refusals_free(Refusals *refusals) { free(refusals); }

/* --- counting ----------------------------------------------------------------------------------------------------------------------- */

static void text_put(char *place, size_t size, Str text)
{
    Str head = utf8_head(text, size - 1);
    memcpy(place, head.ptr ? head.ptr : "", head.len);
    place[head.len] = '\0';
}

/* But for the reason. */
static bool is_alike(const Kind *one, const Kind *other)
{
    return one->status == other->status && !strcmp(one->actor, other->actor) && !strcmp(one->tenant, other->tenant)
        && !strcmp(one->verb, other->verb) && !strcmp(one->source, other->source);
}

static void kind_read(const Call *call, Str why, unsigned status, Kind *out)
{
    static const char *const methods[] = { "GET", "POST", "PUT", "DELETE", "OTHER" };
    *out = (Kind){ .status = status };
    text_put(out->actor, sizeof out->actor, call->caller.actor.len ? call->caller.actor : STR("nobody"));
    text_put(out->tenant, sizeof out->tenant, call->caller.tenant);
    text_put(out->verb, sizeof out->verb, str_of(call->route ? call->route->verb : ""));
    text_put(out->source, sizeof out->source, call->source);
    Buf what = buf_on(out->what, sizeof out->what - 1);
    buf_text(&what, methods[call->method]);
    buf_char(&what, ' ');
    text_put(out->what + what.len, sizeof out->what - what.len, call->path);
    text_put(out->why, sizeof out->why, why);
}

/* Of those of a tenant, or where that is empty of all, that have no place of their own. */
static void become_several(Kind *kind, const char *tenant)
{
    Kind several = { .actor = SEVERAL, .verb = SEVERAL, .what = SEVERAL, .why = "more was refused than is told apart", .status = kind->status };
    text_put(several.tenant, sizeof several.tenant, str_of(tenant));
    *kind = several;
}

/* What its tenant has of the places. */
typedef struct Share { Slot *several; uint32_t count, further_count; } Share;

static void share_count(Share *share, Slot *slot)
{
    share->count++;
    share->further_count += slot->is_further;
    if (!strcmp(slot->kind.actor, SEVERAL)) share->several = slot;
}

/* Where it is told apart no more, *kind is that of all such: for its reason, or, but for those of other tenants, altogether. */
static Slot *slot_of(Refusals *refusals, Kind *kind)
{
    Slot *free_one = NULL, *shared = NULL, *others = &refusals->slots[API_REFUSAL_COUNT_MAX];
    Share share = { 0 };
    bool is_further = false;
    for (uint32_t i = 0; i < API_REFUSAL_COUNT_MAX; i++) {
        Slot *slot = &refusals->slots[i];
        bool is_one = slot->is_used && is_alike(&slot->kind, kind);
        if (is_one && !strcmp(slot->kind.why, kind->why)) return slot;
        if (is_one && !strcmp(slot->kind.why, SEVERAL_REASONS)) shared = slot;
        if (!slot->is_used && !free_one) free_one = slot;
        if (slot->is_used && !strcmp(slot->kind.tenant, kind->tenant)) share_count(&share, slot);
        is_further |= is_one;
    }
    if (is_further && share.further_count >= API_REFUSAL_REASON_COUNT_MAX) {
        text_put(kind->why, sizeof kind->why, STR(SEVERAL_REASONS));
        if (shared) return shared;
        is_further = false;
    }
    if (share.count >= API_REFUSAL_TENANT_MAX - 1) {
        Kind own = *kind;
        become_several(kind, own.tenant);
        if (share.several) kind->status = share.several->kind.status;
        if (share.several) return share.several;
        is_further = false;
    }
    if (free_one) {
        *free_one = (Slot){ .kind = *kind, .is_used = true, .is_further = is_further };
        refusals->used_count++;
        return free_one;
    }
    become_several(kind, "");
    if (others->is_used) return others;
    *others = (Slot){ .is_used = true, .kind = *kind };
    refusals->used_count++;
    return others;
}

/* --- recording ----------------------------------------------------------------------------------------------------------------------- */

typedef struct Sent { Refusals *refusals; Kind kind; uint64_t count; } Sent;

/* What was not recorded counts again, and goes with the next. */
static void answered(void *context, const BridgeAnswer *answer)
{
    Sent *sent = context;
    Refusals *refusals = sent->refusals;
    refusals->sent_count--;
    if (answer->status) slot_of(refusals, &sent->kind)->count += sent->count;
    free(sent);
}

static bool record(Refusals *refusals, Slot *slot)
{
    Sent *sent = malloc(sizeof *sent);
    CHECK(sent);
    *sent = (Sent){ refusals, slot->kind, slot->count };
    const Kind *kind = &sent->kind;
    EngineKeep keep = { .kind = KEEP_REFUSAL, .tenant = str_of(kind->tenant), .name = str_of(kind->verb), .text = str_of(kind->what),
                        .count = slot->count, .flags = kind->status,
                        .command = { .actor = str_of(kind->actor), .rationale = str_of(kind->why), .origin = str_of(kind->source),
                                     .value = value_null(), .report.output = value_null() } };
    if (!bridge_keep(refusals->bridge, &keep, answered, sent)) {
        free(sent);
        return false;
    }
    refusals->sent_count++;
    slot->count = 0;
    return true;
}

static void note(Refusals *refusals, const Call *call, Str why, unsigned status)
{
    Kind kind;
    kind_read(call, why, status, &kind);
    Slot *slot = slot_of(refusals, &kind);
    bool is_first = !slot->due_ms;
    /* What is told of those that are counted is how the first of them went. */
    if (!slot->count++ && slot != &refusals->slots[API_REFUSAL_COUNT_MAX]) slot->kind = kind;
    if (!is_first) return;
    slot->due_ms = call->now_ms + (record(refusals, slot) ? API_REFUSAL_SPAN_MS : SPAN_RETRY_MS);
}

void refusals_note(Refusals *refusals, const Call *call)
{
    if (call->refused.len) note(refusals, call, call->refused, call->status);
    for (const CallRefusal *part = call->refused_parts; part; part = part->next) note(refusals, call, part->why, part->status);
}

void refusals_turn(Refusals *refusals, int64_t now_ms, bool is_end)
{
    for (uint32_t i = 0; refusals->used_count && i <= API_REFUSAL_COUNT_MAX; i++) {
        Slot *slot = &refusals->slots[i];
        if (!slot->is_used || (!is_end && slot->due_ms > now_ms)) continue;
        if (!slot->count) *slot = (Slot){ 0 }, refusals->used_count--;
        else slot->due_ms = now_ms + (record(refusals, slot) ? API_REFUSAL_SPAN_MS : SPAN_RETRY_MS);
    }
}

int64_t refusals_due_ms(const Refusals *refusals, int64_t now_ms)
{
    int64_t due_ms = INT64_MAX;
    for (uint32_t i = 0; refusals->used_count && i <= API_REFUSAL_COUNT_MAX; i++)
        if (refusals->slots[i].is_used && refusals->slots[i].due_ms < due_ms) due_ms = refusals->slots[i].due_ms;
    return due_ms == INT64_MAX ? -1 : due_ms > now_ms ? due_ms - now_ms : 0;
}

bool refusals_are_told(const Refusals *refusals)
{
    for (uint32_t i = 0; i <= API_REFUSAL_COUNT_MAX; i++)
        if (refusals->slots[i].is_used && refusals->slots[i].count) return false;
    return !refusals->sent_count;
}
