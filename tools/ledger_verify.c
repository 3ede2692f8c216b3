/* ledger-verify - verifies an exported ledger without maestro.
 *
 *   ledger-verify FILE [--anchor ANCHOR] [--key PUBKEY]
 *
 * FILE is what `maestro ledger export` or `store archive` wrote ("-": standard input), ANCHOR what `maestro ledger anchor`
 * printed, PUBKEY the 64 digits of the key that has to have signed it. Nothing of maestro's own code is used, only libc and
 * libsodium: this is a second reading of docs/ledger.md, so that a mistake of the first one does not verify itself. It may be
 * built alone: cc -std=c17 -D_GNU_SOURCE ledger_verify.c -lsodium
 * Each thing that is wrong is a line on standard output; the last line sums up. What was erased or archived on purpose is not
 * wrong. Exit codes: 0 nothing is wrong; 1 something is; 2 the command line; 65 the file or the anchor is not what it should
 * be; 69 a file cannot be read or memory is missing.
 */
#include <inttypes.h>
#include <search.h>
#include <sodium.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EXIT_WRONG = 1, EXIT_USAGE = 2, EXIT_DATA = 65, EXIT_NO_FILE = 69 };
enum { HASH = 32, SALT = 16, ID = 21, MEMBERS = 16, TIME = 24, ERASED_KIND = 92, ARCHIVED_KIND = 93, COUNT_FIELD = 13 };

#define STOP(code, ...) (fflush(stdout), fprintf(stderr, "ledger-verify: " __VA_ARGS__), fputc('\n', stderr), exit(code))

static uint64_t wrong_count, archived_count;

__attribute__((format(printf, 2, 3))) static void wrong(uint64_t position, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    wrong_count++;
    if (position) printf("record %" PRIu64 ": ", position);
    vprintf(format, args);
    putchar('\n');
    va_end(args);
}

/* --- one line of JSON, as it is written: no spaces, known members without escapes ---------------------------------- */

typedef struct { char *key, *text; size_t key_size, size; } Member;
typedef struct { Member members[MEMBERS]; size_t count; } Line;

/* What is behind the value at `at`: a comma or the object's end; or NULL. */
static char *skip_value(char *at, char *end)
{
    int depth = 0;
    for (bool is_quoted = false; at < end; at++) {
        if (*at == '"') is_quoted = !is_quoted;
        else if (is_quoted) at += *at == '\\';
        else if (depth == 0 && (*at == ',' || *at == '}')) return at;
        else depth += (*at == '{' || *at == '[') - (*at == '}' || *at == ']');
    }
    return NULL;
}

static Member *get(Line *line, const char *key, size_t key_size)
{
    for (size_t i = 0; i < line->count; i++)
        if (line->members[i].key_size == key_size && !memcmp(line->members[i].key, key, key_size)) return &line->members[i];
    return NULL;
}

static bool read_line(char *at, size_t size, Line *line)
{
    char *end = at + size;
    line->count = 0;
    if (size < 2 || *at != '{') return false;
    do {
        char *key = at + 2, *key_end = end - at > 4 && at[1] == '"' ? memchr(key, '"', (size_t)(end - key)) : NULL;
        if (!key_end || end - key_end < 4 || key_end[1] != ':' || line->count == MEMBERS) return false;
        at = skip_value(key_end + 2, end);
        if (!at || get(line, key, (size_t)(key_end - key))) return false;  /* a name that is there twice */
        line->members[line->count++] = (Member){ key, key_end + 2, (size_t)(key_end - key), (size_t)(at - key_end - 2) };
    } while (*at == ',');
    return *at == '}' && at + 1 == end;
}

/* Without its quotes. */
static bool get_text(Line *line, const char *key, char **out, size_t *out_size)
{
    Member *member = get(line, key, strlen(key));
    if (!member || member->size < 2 || *member->text != '"' || memchr(member->text, '\\', member->size)) return false;
    return *out = member->text + 1, *out_size = member->size - 2, true;
}

static bool is_text(Line *line, const char *key, const char *want)
{
    char *text;
    size_t size;
    return get_text(line, key, &text, &size) && size == strlen(want) && !memcmp(text, want, size);
}

static bool get_number(Line *line, const char *key, uint64_t *out)
{
    Member *member = get(line, key, strlen(key));
    if (!member || member->size == 0 || member->size > 19 || (member->size > 1 && *member->text == '0')) return false;
    *out = strtoull(member->text, NULL, 10);
    return strspn(member->text, "0123456789") == member->size;
}

/* Lower case alone: there is one way to write a hash. */
static bool get_hex(Line *line, const char *key, uint8_t *out, size_t size)
{
    char *text;
    size_t text_size;
    return get_text(line, key, &text, &text_size) && text_size == size * 2
           && strspn(text, "0123456789abcdef") >= text_size && !sodium_hex2bin(out, size, text, text_size, NULL, NULL, NULL);
}

/* --- the bytes of a record ----------------------------------------------------------------------------------------- */

typedef struct { uint8_t *at, *end; bool bad; } Bytes;
typedef struct {
    uint64_t format, log, position, first_event, event_count, payload_count;
    int64_t time_ms;
    char run[ID + 1];
    Bytes payloads;                 /* the table: size and digest of each */
} Record;
typedef struct { uint64_t *items; size_t count; } Positions;

/* Records without payloads; those whose payloads events say were erased; empty ones; runs that the log says were archived. */
static Positions missing, erased, archived, archived_runs;

static void positions_add(Positions *list, uint64_t position)
{
    if (list->count % 1024 == 0) list->items = realloc(list->items, (list->count + 1024) * sizeof *list->items);
    if (!list->items) STOP(EXIT_NO_FILE, "out of memory");
    list->items[list->count++] = position;
}

/* Decoded where it stands: bytes take less room than their text. */
static bool get_base64(Line *line, const char *key, Bytes *out)
{
    char *text;
    size_t text_size, size;
    if (!get_text(line, key, &text, &text_size)
        || sodium_base642bin((uint8_t *)text, text_size, text, text_size, NULL, &size, NULL, sodium_base64_VARIANT_ORIGINAL))
        return false;
    return *out = (Bytes){ (uint8_t *)text, (uint8_t *)text + size, false }, true;
}

static uint8_t *take_bytes(Bytes *bytes, uint64_t size)
{
    uint8_t *at = bytes->at;
    if (size > (uint64_t)(bytes->end - at)) bytes->bad = true, size = (uint64_t)(bytes->end - at);
    bytes->at += size;
    return bytes->bad ? NULL : at;
}

static uint64_t take(Bytes *bytes)
{
    uint64_t number = 0;
    for (unsigned shift = 0; shift < 64 && bytes->at < bytes->end; shift += 7) {
        uint8_t byte = *bytes->at++;
        number |= (uint64_t)(byte & 127) << shift;
        if (byte < 128 && (byte != 0 || shift == 0) && (shift < 63 || byte == 1)) return number;
        if (byte < 128) break;                                      /* not the shortest form */
    }
    take_bytes(bytes, UINT64_MAX);
    return 0;
}

/* The fields up to the 0 behind them; the number in the one that is wanted, or 0. */
static uint64_t take_fields(Bytes *bytes, uint64_t wanted)
{
    uint64_t found = 0, last = 0, tag;
    while ((tag = take(bytes)) != 0) {
        uint64_t number = take(bytes);
        if (tag & 1) take_bytes(bytes, number);
        else if (tag >> 1 == wanted) found = number;
        if (tag >> 1 <= last) bytes->bad = true;
        last = tag >> 1;
    }
    return found;
}

static bool read_record(Bytes bytes, Record *record)
{
    *record = (Record){ .format = take(&bytes) };
    if (record->format != 1) return record->format > 1;
    record->log = take(&bytes);
    record->position = take(&bytes);
    uint64_t run_size = take(&bytes), time;
    uint8_t *run = take_bytes(&bytes, run_size);
    if (!run || (run_size != 0 && run_size != ID)) return false;
    memcpy(record->run, run, run_size);
    record->first_event = take(&bytes);
    time = take(&bytes);
    record->time_ms = (int64_t)(time >> 1 ^ (0 - (time & 1)));
    take_fields(&bytes, 0);
    record->payload_count = take(&bytes);
    record->payloads = bytes;
    for (uint64_t i = 0; i < record->payload_count && !bytes.bad; i++) {
        take(&bytes);
        take_bytes(&bytes, HASH);
    }
    while (bytes.at < bytes.end) {
        uint8_t kind = *bytes.at++;
        uint64_t number = take_fields(&bytes, COUNT_FIELD);
        if (kind == ERASED_KIND && !bytes.bad) positions_add(&erased, number);
        if (kind == ARCHIVED_KIND && !bytes.bad && run_size == 0) positions_add(&archived_runs, number);
        record->event_count++;
    }
    return !bytes.bad && record->event_count > 0;
}

static void check_payload(Record *record, Bytes payload)
{
    uint8_t *salt = take_bytes(&payload, record->payload_count ? SALT : 0), got[HASH];
    for (uint64_t i = 0; i < record->payload_count; i++) {
        uint64_t size = take(&record->payloads);
        uint8_t *want = take_bytes(&record->payloads, HASH), *at = take_bytes(&payload, size);
        if (at && want) crypto_generichash(got, HASH, at, size, salt, SALT);
        if (at && want && !memcmp(got, want, HASH)) continue;
        wrong(record->position, "payload %" PRIu64 " does not have its digest", i);
        return;
    }
    if (payload.at != payload.end) wrong(record->position, "it has bytes of payload that the record does not know");
}

/* --- runs: a tree by number ---------------------------------------------------------------------------------------- */

typedef struct {
    uint64_t number, position, next_event;      /* the number first: what by_number() compares */
    uint8_t hash[HASH];
    char id[ID + 1];
    bool has_head, is_archived;
} Run;

static void *runs;

static int by_number(const void *a, const void *b)
{
    uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;
    return (left > right) - (left < right);
}

static bool has(const Positions *sorted, uint64_t number)
{
    return sorted->count && bsearch(&number, sorted->items, sorted->count, sizeof *sorted->items, by_number);
}

static Run *run_take(uint64_t number)
{
    Run **found = tfind(&number, &runs, by_number), *run = found ? *found : calloc(1, sizeof *run);
    if (found) return run;
    if (run) *run = (Run){ .number = number, .next_event = 1 };
    if (!run || !tsearch(run, &runs, by_number)) STOP(EXIT_NO_FILE, "out of memory");
    return run;
}

static void run_finish(const void *node, VISIT visit, int depth)
{
    const Run *run = *(Run *const *)node;
    (void)depth;
    if (visit != postorder && visit != leaf) return;
    if (run->number != 0 && !run->has_head) wrong(run->position, "its run has no head");
    archived_count += run->is_archived;
    if (run->is_archived && !has(&archived_runs, run->number)) wrong(run->position, "records of its run are not there");
}

/* --- the lines of the file ----------------------------------------------------------------------------------------- */

typedef struct { uint64_t log, position; uint8_t head[HASH]; } Head;
typedef struct { uint64_t position, run_no, prev, first_event, event_count; uint8_t hash[HASH]; Bytes record, payload; } Row;

static Head header, end, anchor;    /* as the file says; as the records give; as was signed */
static bool has_anchor, is_part, is_ended;
static uint64_t record_count, event_count, head_count;
static int64_t time_ms = INT64_MIN;

static void chain(const char *prefix, const uint8_t *before, const uint8_t *bytes, size_t size, uint8_t out[HASH])
{
    crypto_generichash_state state;
    crypto_generichash_init(&state, NULL, 0, HASH);
    crypto_generichash_update(&state, (const uint8_t *)prefix, strlen(prefix));
    crypto_generichash_update(&state, before, HASH);
    crypto_generichash_update(&state, bytes, size);
    crypto_generichash_final(&state, out, HASH);
}

static bool get_log_head(Line *line, Head *out)
{
    Member *position = get(line, "position", 8), *head = get(line, "head", 4);
    if (is_part) return position && head && !strncmp(position->text, "null,", 5) && !strncmp(head->text, "null,", 5);
    return get_number(line, "position", &out->position) && get_hex(line, "head", out->head, HASH);
}

static void check_header(Line *line)
{
    Member *run = get(line, "run", 3);
    if (!is_text(line, "format", "maestro-ledger/1")) STOP(EXIT_DATA, "this is no ledger of a format that is known");
    is_part = run && *run->text == '"';
    if (is_part && has_anchor) STOP(EXIT_USAGE, "an anchor is of a whole log; this is a part of one: a run, or an archive");
    if (!get_number(line, "log", &header.log) || !get_log_head(line, &header))
        STOP(EXIT_DATA, "the header of the ledger is damaged");
}

static bool get_row(Line *line, Row *row)
{
    Member *payload = get(line, "payload", 7);
    *row = (Row){ 0 };
    return get_number(line, "position", &row->position) && get_number(line, "runNo", &row->run_no)
           && get_number(line, "prev", &row->prev) && get_number(line, "firstEvent", &row->first_event)
           && get_number(line, "eventCount", &row->event_count) && get_hex(line, "hash", row->hash, HASH) && payload
           && get_base64(line, "record", &row->record) && (*payload->text == 'n' || get_base64(line, "payload", &row->payload));
}

/* The record itself, against its line and what came before. */
static void check_content(Line *line, const Row *row, Run *run)
{
    Record record;
    bool is_record = read_record(row->record, &record);
    if (!is_record) wrong(row->position, "its bytes are no record");
    else if (record.format != 1) printf("record %" PRIu64 ": of a newer maestro, not looked into\n", row->position);
    if (!is_record || record.format != 1) return;
    if (record.position != row->position) wrong(row->position, "the record itself says %" PRIu64, record.position);
    if (record.first_event != row->first_event) wrong(row->position, "its events begin with %" PRIu64, record.first_event);
    if (record.event_count != row->event_count) wrong(row->position, "it has %" PRIu64 " events", record.event_count);
    if (record.log != header.log) wrong(row->position, "it is of log %" PRIu64 ", not %" PRIu64, record.log, header.log);
    if (record.time_ms < time_ms) wrong(row->position, "its time is before that of the record before it");
    else time_ms = record.time_ms;
    if (!is_text(line, "run", record.run)) wrong(row->position, "its line names another run than the record");
    if (run->id[0] ? strcmp(run->id, record.run) != 0 : (run->number == 0) != (record.run[0] == '\0'))
        wrong(row->position, "run number %" PRIu64 " is another run", run->number);
    memcpy(run->id, record.run, sizeof run->id);
    if (record.payload_count && !row->payload.at) positions_add(&missing, row->position);
    else check_payload(&record, row->payload);
}

static void check_record(Line *line)
{
    Row row;
    uint8_t hash[HASH];
    bool is_whole = get_row(line, &row), is_next = is_whole && row.position > end.position;
    if (!is_whole) wrong(end.position + 1, "the line of it is damaged");
    else if (!is_next) wrong(row.position, "it comes after record %" PRIu64 ": there twice, or out of order", end.position);
    record_count += is_whole;
    event_count += is_whole ? row.event_count : 0;
    if (!is_next) return;
    if (!is_part && row.position != end.position + 1)
        wrong(row.position, "%" PRIu64 " records before it are missing", row.position - end.position - 1);
    Run *run = run_take(row.run_no);
    chain("maestro record", run->hash, row.record.at, (size_t)(row.record.end - row.record.at), hash);
    bool is_empty = row.record.at == row.record.end;       /* archived: its hash stands for it */
    if (row.prev != run->position) wrong(row.position, "the record of its run before it is not there");
    else if (!is_empty && memcmp(hash, row.hash, HASH) != 0) wrong(row.position, "it does not have its hash");
    if (row.first_event != run->next_event) wrong(row.position, "events of its run before it are missing or repeated");
    run->is_archived |= is_empty;
    if (is_empty && row.payload.at) wrong(row.position, "it has a payload and no record");
    else if (is_empty) positions_add(&archived, row.position);
    else check_content(line, &row, run);
    memcpy(run->hash, row.hash, HASH);              /* taken up again where it may have been broken */
    run->position = end.position = row.position;
    run->next_event = row.first_event + row.event_count;
    chain("maestro log", end.head, row.hash, HASH, end.head);
    if (has_anchor && anchor.position == end.position && memcmp(anchor.head, end.head, HASH) != 0)
        wrong(end.position, "the log up to here is not the one that was anchored");
}

static void check_run(Line *line)
{
    uint64_t number, last, events;
    uint8_t head[HASH];
    bool is_whole = get_number(line, "runNo", &number) && get_number(line, "last", &last)
                    && get_number(line, "events", &events) && get_hex(line, "head", head, HASH);
    if (!is_whole) wrong(0, "the head of a run is damaged");
    if (!is_whole) return;
    Run *run = run_take(number);
    head_count++;
    if (run->has_head) wrong(0, "run number %" PRIu64 " has two heads", number);
    run->has_head = true;
    if (!run->is_archived && !is_text(line, "run", run->id)) wrong(0, "the head of run number %" PRIu64 " names another run", number);
    if (events != run->next_event - 1 || last != run->position)
        wrong(0, "run %s ends with event %" PRIu64 "; its head says %" PRIu64, run->id, run->next_event - 1, events);
    else if (memcmp(head, run->hash, HASH) != 0)
        wrong(0, "run %s ends with another hash than its head", run->id);
}

static void check_end(Line *line, crypto_generichash_state *digest)
{
    uint64_t records, events, heads;
    uint8_t want[HASH], got[HASH];
    Head head = header;
    crypto_generichash_final(digest, got, HASH);
    if (!get_number(line, "records", &records) || !get_number(line, "events", &events) || !get_number(line, "runs", &heads)
        || !get_hex(line, "digest", want, HASH) || !get_log_head(line, &head))
        wrong(0, "the last line is damaged");
    else if (records != record_count || events != event_count || heads != head_count) wrong(0, "the last line miscounts");
    else if (head.position != header.position || memcmp(head.head, header.head, HASH) != 0)
        wrong(0, "the first and the last line name different heads");
    else if (memcmp(want, got, HASH) != 0) wrong(0, "the lines do not have the digest that the last one states");
}

/* --- the end, and the command line --------------------------------------------------------------------------------- */

static void finish_erased(void)
{
    if (erased.count) qsort(erased.items, erased.count, sizeof *erased.items, by_number);
    for (size_t i = 0; i < missing.count; i++) {
        if (has(&erased, missing.items[i])) printf("record %" PRIu64 ": its payload was erased\n", missing.items[i]);
        else wrong(missing.items[i], "its payload is missing, and no event says that it was erased");
    }
    for (size_t i = 0; i < erased.count; i++)
        if (!has(&missing, erased.items[i]) && !has(&archived, erased.items[i]))
            wrong(erased.items[i], "an event says that its payload was erased; it was not");
}

static void finish(void)
{
    if (!is_ended) wrong(0, "the file ends without its last line");
    if (!is_part) {                              /* the events that tell of erasing may be records of the log itself */
        finish_erased();
        if (end.position != header.position)
            wrong(0, "the log ends with record %" PRIu64 "; its head says %" PRIu64, end.position, header.position);
        else if (memcmp(end.head, header.head, HASH) != 0) wrong(0, "the log ends with another hash than its head");
    }
    if (has_anchor && anchor.log != header.log) wrong(0, "the anchor is of another log");
    else if (has_anchor && anchor.position > end.position)
        wrong(0, "the log ends with record %" PRIu64 "; the anchor knew %" PRIu64, end.position, anchor.position);
    if (archived_runs.count) qsort(archived_runs.items, archived_runs.count, sizeof *archived_runs.items, by_number);
    twalk(runs, run_finish);
    printf("%s: %" PRIu64 " records, %" PRIu64 " events, %" PRIu64 " runs, %zu records without payloads",
           wrong_count ? "DAMAGED" : "ok", record_count, event_count, head_count, missing.count);
    archived_count ? printf(", %" PRIu64 " runs archived\n", archived_count) : putchar('\n');
}

static void read_anchor(const char *path, const char *key_text)
{
    char text[1024] = "", *time;
    uint8_t key[32], signature[64], message[14 + 8 + 8 + HASH + TIME] = "maestro anchor";
    size_t time_size;
    Line line;
    FILE *file = fopen(path, "rb");
    size_t size = file ? fread(text, 1, sizeof text - 1, file) : 0;
    if (!file || fclose(file)) STOP(EXIT_NO_FILE, "%s cannot be opened", path);
    if (size > 0 && text[size - 1] == '\n') size--;
    if (!read_line(text, size, &line) || !is_text(&line, "format", "maestro-anchor/1") || !get_number(&line, "log", &anchor.log)
        || !get_log_head(&line, &anchor) || !get_text(&line, "time", &time, &time_size) || time_size != TIME
        || !get_hex(&line, "publicKey", key, sizeof key) || !get_hex(&line, "signature", signature, sizeof signature))
        STOP(EXIT_DATA, "%s is no anchor", path);
    for (unsigned i = 0; i < 8; i++) {
        message[14 + i] = (uint8_t)(anchor.log >> 8 * i);
        message[22 + i] = (uint8_t)(anchor.position >> 8 * i);
    }
    memcpy(message + 30, anchor.head, HASH);
    memcpy(message + 30 + HASH, time, TIME);
    if (crypto_sign_verify_detached(signature, message, sizeof message, key)) wrong(0, "the signature of the anchor is wrong");
    if (key_text && !is_text(&line, "publicKey", key_text)) wrong(0, "the anchor was signed by another key than the one given");
    if (!key_text) puts("the anchor's key was not demanded (--key): whoever made the anchor may have made the ledger");
    has_anchor = true;
}

static void read_ledger(const char *path)
{
    FILE *file = strcmp(path, "-") ? fopen(path, "rb") : stdin;
    crypto_generichash_state digest, before;
    char *text = NULL;
    size_t capacity = 0;
    ssize_t size;
    Line line;
    if (!file) STOP(EXIT_NO_FILE, "%s cannot be opened", path);
    crypto_generichash_init(&digest, NULL, 0, HASH);
    for (uint64_t number = 1; (size = getline(&text, &capacity, file)) >= 0; number++) {
        before = digest;
        crypto_generichash_update(&digest, (const uint8_t *)text, (size_t)size);    /* before it is decoded in place */
        bool is_line = read_line(text, (size_t)size - (text[size - 1] == '\n'), &line);
        if (number == 1) is_line ? check_header(&line) : STOP(EXIT_DATA, "this is no exported ledger");
        else if (is_ended) wrong(0, "line %" PRIu64 " comes after the end", number);
        else if (is_line && is_text(&line, "kind", "record")) check_record(&line);
        else if (is_line && is_text(&line, "kind", "run")) check_run(&line);
        else if (is_line && is_text(&line, "kind", "end")) is_ended = true, check_end(&line, &before);
        else wrong(0, "line %" PRIu64 " cannot be read", number);
    }
    if (ferror(file)) STOP(EXIT_NO_FILE, "the ledger cannot be read to its end");
    if (header.log == 0) STOP(EXIT_DATA, "this is no exported ledger");
    free(text);
}

int main(int argc, char **argv)
{
    const char *path = NULL, *anchor_path = NULL, *key = NULL;
    bool is_usable = true;
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--anchor") && i + 1 < argc) anchor_path = argv[++i];
        else if (!strcmp(argv[i], "--key") && i + 1 < argc) key = argv[++i];
        else if (!path && (argv[i][0] != '-' || !argv[i][1])) path = argv[i];
        else is_usable = false;
    }
    if (!is_usable || !path || (key && !anchor_path)) STOP(EXIT_USAGE, "usage: FILE [--anchor ANCHOR] [--key PUBKEY]");
    if (sodium_init() < 0) STOP(EXIT_NO_FILE, "libsodium cannot be used");
    if (anchor_path) read_anchor(anchor_path, key);
    read_ledger(path);
    finish();
    return wrong_count ? EXIT_WRONG : 0;
}
