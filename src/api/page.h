/* page.h - lists in pieces: cursors that stay right while rows come and go.
 *
 * A cursor names the last row that was given, by the key of the list's order; so what is inserted meanwhile neither shifts nor
 * repeats anything. It is opaque to clients. It is of one list, with the filters that this had: one of another is refused, since
 * what it names would be another place there, and what lies before that be left out without a word.
 *
 *   ?limit=50&cursor=...      ->      {"items":[...],"nextCursor":"...","_links":{"self":...,"next":...}}
 *
 * A page ends early where the payloads of its rows have API_PAGE_SIZE bytes.
 *
 * Owns:   what lives in the call's arena.     Fails: by answering.     Bounds: API_PAGE_COUNT_MAX, API_PAGE_SIZE.     Thread: the server's.
 */
#ifndef API_PAGE_H
#define API_PAGE_H

#include "api/api.h"
#include "ledger/record.h"

typedef struct Page {
    Call *call;
    uint32_t list;                  /* which one it is, of whom, and what is left out of it: a cursor of another is refused */
    uint32_t limit;
    bool has_cursor;
    Str text;                       /* of the last row: a name, for lists in the order of names */
    int64_t number, second;         /* of the last row */
    ValueList items;
    MemberList links;               /* of the list, beside self and next */
    size_t size;                    /* of the payloads in them; whoever adds some says so */
    bool is_full;                   /* there may be more */
} Page;

/* Reads limit and cursor; false after answering. Without a cursor text and numbers are empty. */
bool page_begin(Page *page, Call *call);
/* Takes a row; `text` and numbers say where the next page begins. False: the page is full, and the row was not taken. */
bool page_has_room(Page *page);
void page_add(Page *page, Value item, Str text, int64_t number, int64_t second);
void page_answer(Page *page);

typedef struct PagePlace { Str text; int64_t number, second; } PagePlace;
/* The cursor of the list at that address, without filters, behind that row of it, for whoever has shown the rows up to there: of steps
 * their index is the number. */
Str  page_cursor(Call *call, Str path, const PagePlace *last);

/* Answers a list of what the records of a run tell, in their order: `take` adds the items of one record that are behind page->number, each
 * with the position of the record as its second number; false: the page is full. One answer reads some of them (run_records_next()):
 * a page may be short, or empty, and have a next one. */
typedef bool (*PageTake)(void *context, Page *page, const Record *record);
void page_of_records(Page *page, const Cell *run, PageTake take, void *context);

#endif
