#include "api/page.h"

#include <inttypes.h>

#include "base/base64.h"
#include "base/hash.h"
#include "base/limits.h"

/* No row has the highest number: the next one can be asked for by it. */
static bool is_number(Str text, int64_t *out)
{
    uint64_t number;
    if (!str_to_u64(text, &number) || number >= INT64_MAX) return false;
    *out = (int64_t)number;
    return true;
}

static uint64_t list_hash(const Call *call, Str path) { return hash_part(hash_part(HASH_SEED, call->caller.tenant), path); }
static uint32_t list_number(uint64_t hash) { return (uint32_t)(hash ^ hash >> 32); }

/* In whichever order its filters are written: how many a page has is none. */
static uint32_t list_of(const Call *call)
{
    uint64_t hash = list_hash(call, call->path);
    for (uint32_t i = 0; i < call->query_count; i++) {
        const CallPair *pair = &call->query[i];
        if (!str_is_text(pair->name, "cursor") && !str_is_text(pair->name, "limit"))
            hash += hash_part(hash_part(HASH_SEED, pair->name), pair->value);
    }
    return list_number(hash);
}

/* As cursor_print() writes it. */
static bool cursor_read(Page *page, Str text)
{
    int64_t list;
    size_t first = str_find(text, ' ', 0), second = str_find(text, ' ', first + 1), third = str_find(text, ' ', second + 1);
    if (third >= text.len) return false;
    page->text = str_slice(text, third + 1, text.len);
    return is_number(str_slice(text, 0, first), &list) && list == page->list && is_number(str_slice(text, first + 1, second), &page->number)
        && is_number(str_slice(text, second + 1, third), &page->second);
}

static Str cursor_print(Arena *arena, uint32_t list, const PagePlace *last)
{
    Buf cursor;
    Str plain = arena_format(arena, "%" PRIu32 " %" PRId64 " %" PRId64 " %.*s", list, last->number, last->second, STR_ARG(last->text));
    buf_init(&cursor, 2048);
    base64_encode(&cursor, plain, BASE64_URL_BARE);
    Str text = arena_copy(arena, buf_peek(&cursor));
    buf_deinit(&cursor);
    return text;
}

Str page_cursor(Call *call, Str path, const PagePlace *last) { return cursor_print(&call->arena, list_number(list_hash(call, path)), last); }

bool page_begin(Page *page, Call *call)
{
    uint64_t limit;
    *page = (Page){ .call = call, .list = list_of(call), .items = { .arena = &call->arena }, .links = { .arena = &call->arena } };
    if (!call_query_number(call, "limit", API_PAGE_COUNT_DEFAULT, API_PAGE_COUNT_MAX, &limit)) return false;
    if (!limit) {
        call_problem(call, PROBLEM_INVALID, "'limit' of the query has to be from 1 to %u", API_PAGE_COUNT_MAX);
        return false;
    }
    page->limit = (uint32_t)limit;
    Str given = call_query(call, "cursor");
    if (!given.len) return true;
    size_t size = 0, wrong_at;
    char *bytes = arena_bytes(&call->arena, base64_decoded_size_max(given.len) + 1);
    page->has_cursor = given.len < 1024 && base64_decode(given, BASE64_URL_BARE, bytes, &size, &wrong_at)
                    && cursor_read(page, (Str){ bytes, size });
    if (page->has_cursor) return true;
    call_problem(call, PROBLEM_INVALID, "'cursor' of the query is none of this list with these filters; use 'nextCursor' of its last answer");
    return false;
}

bool page_has_room(Page *page)
{
    page->is_full = page->items.count >= page->limit || page->size >= API_PAGE_SIZE;
    return !page->is_full;
}

void page_add(Page *page, Value item, Str text, int64_t number, int64_t second)
{
    value_list_add(&page->items, item);
    page->text = arena_copy(&page->call->arena, text);
    page->number = number;
    page->second = second;
}

/* The address of this page as it was asked for; with a cursor that of the next one. */
static Str path_of(Page *page, Str cursor)
{
    Call *call = page->call;
    Buf path;
    buf_init(&path, 4 * API_HEAD_SIZE_MAX);
    buf_str(&path, call->path);
    if (cursor.len) buf_format(&path, "?cursor=%.*s&limit=%" PRIu32, STR_ARG(cursor), page->limit);
    for (uint32_t i = 0; i < call->query_count; i++) {
        const CallPair *pair = &call->query[i];
        if (cursor.len && (str_is_text(pair->name, "cursor") || str_is_text(pair->name, "limit"))) continue;
        /* The name is one that the route knows. */
        buf_format(&path, "%c%.*s=%.*s", cursor.len || i ? '&' : '?', STR_ARG(pair->name), STR_ARG(api_escape(call, pair->value)));
    }
    Str copy = arena_copy(&call->arena, buf_peek(&path));
    buf_deinit(&path);
    return copy;
}

void page_answer(Page *page)
{
    Call *call = page->call;
    MemberList members = { .arena = &call->arena }, *links = &page->links;
    add_member(&members, "items", value_list_array(&page->items));
    add_member(links, "self", api_link(call, "%.*s", STR_ARG(path_of(page, (Str){ 0 }))));
    if (page->is_full) {
        Str text = cursor_print(&call->arena, page->list, &(PagePlace){ page->text, page->number, page->second });
        add_member(&members, "nextCursor", value_string(text));
        add_member(links, "next", api_link(call, "%.*s", STR_ARG(path_of(page, text))));
    }
    add_member(&members, "_links", member_list_object(links));
    call_value(call, 200, member_list_object(&members));
}

void page_of_records(Page *page, const Cell *run, PageTake take, void *context)
{
    Call *call = page->call;
    RecordPlace place = { .event = (uint64_t)page->number, .position = (uint64_t)page->second };
    StepRows records;
    Error err;
    bool has_more, has_room = true;
    Status status = run_records_next(&call->arena, call->api->store, run, &place, &records, &has_more, &err);
    for (size_t i = 0; !status && has_room && i < records.count; i++) {
        Record record;
        status = record_decode_any(&call->arena, records.rows[i][LEDGER_record].text, &record, &err);
        if (!status) has_room = take(context, page, &record);
    }
    if (!status && has_room && has_more) {                  /* a short page: others wait for this thread */
        page->is_full = true;
        page->second = (int64_t)place.position;
    }
    if (status) call_error(call, &err);
    else page_answer(page);
}
