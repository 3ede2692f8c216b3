#include "ledger/export.h"

#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#include "base/base64.h"
#include "base/civil.h"
#include "base/limits.h"
#include "ledger/hex.h"
#include "ledger/record.h"
#include "value/json.h"

#define FORMAT_NAME "maestro-ledger/"
#define FORMAT FORMAT_NAME "1"
#define SHOWN ",\"shown\":"

/* --- writing ------------------------------------------------------------------------------------------------------- */

static void put_number(Buf *line, const char *key, uint64_t number)
{
    buf_format(line, ",\"%s\":", key);
    buf_u64(line, number);
}

static void put_hex(Buf *line, const char *key, const Digest *digest)
{
    buf_format(line, ",\"%s\":\"", key);
    buf_hex(line, digest->bytes, DIGEST_SIZE);
    buf_char(line, '"');
}

static void put_text(Buf *line, const char *key, Str text)
{
    buf_format(line, ",\"%s\":", key);
    json_print_string(line, text);
}

static void put_base64(Buf *line, const char *key, Str bytes)
{
    buf_format(line, ",\"%s\":\"", key);
    base64_encode(line, bytes, BASE64_STANDARD);
    buf_char(line, '"');
}

static void note_line(Exporter *exporter, Str line)
{
    crypto_generichash_state state;
    memcpy(&state, exporter->digest.bytes, sizeof state);
    crypto_generichash_update(&state, (const unsigned char *)line.ptr, line.len);
    memcpy(exporter->digest.bytes, &state, sizeof state);
}

static void end_line(Exporter *exporter, Buf *line, size_t start)
{
    buf_text(line, "}\n");
    note_line(exporter, str_slice(buf_peek(line), start, line->len));
}

/* The end of the log, which the export of a part does not have. */
static void put_log_head(Exporter *exporter, Buf *line)
{
    if (exporter->header.is_part) {
        buf_text(line, ",\"position\":null,\"head\":null");
        return;
    }
    put_number(line, "position", exporter->header.head.position);
    put_hex(line, "head", &exporter->header.head.head);
}

void export_init(Exporter *exporter)
{
    memset(exporter, 0, sizeof *exporter);
    crypto_generichash_state state;
    crypto_generichash_init(&state, NULL, 0, DIGEST_SIZE);
    memcpy(exporter->digest.bytes, &state, sizeof state);
    arena_init(&exporter->scratch, SIZE_MAX);
}

void export_deinit(Exporter *exporter)
{
    arena_deinit(&exporter->scratch);
}

void export_header(Exporter *exporter, const ExportHeader *header, Buf *line)
{
    size_t start = line->len;
    exporter->header = *header;
    buf_text(line, "{\"kind\":\"header\",\"format\":\"" FORMAT "\"");
    put_number(line, "log", header->head.log);
    if (header->is_part) put_text(line, "run", header->run_id);
    else buf_text(line, ",\"run\":null");
    put_log_head(exporter, line);
    buf_text(line, ",\"time\":\"");
    civil_print_ms(line, header->now_ms);
    buf_char(line, '"');
    end_line(exporter, line, start);
}

void export_row(Exporter *exporter, const LedgerRow *row, Buf *line)
{
    size_t start = line->len;
    Record record;
    arena_reset(&exporter->scratch);
    bool is_readable = record_decode_any(&exporter->scratch, row->record, &record, NULL) == OK;
    buf_text(line, "{\"kind\":\"record\"");
    put_number(line, "position", row->position);
    put_text(line, "run", is_readable ? record.head.run_id : STR(""));
    put_number(line, "runNo", row->run_no);
    put_number(line, "prev", row->prev_position);
    put_number(line, "firstEvent", row->first_event);
    put_number(line, "eventCount", row->event_count);
    put_hex(line, "hash", &row->hash);
    put_base64(line, "record", row->record);
    if (row->payload.len > 0) put_base64(line, "payload", row->payload);
    else buf_text(line, ",\"payload\":null");
    buf_text(line, SHOWN);
    Value shown = is_readable ? record_to_value(&exporter->scratch, &record) : value_null();
    if (json_print(line, shown, JSON_COMPACT, NULL) != OK) line->overflowed = true;     /* it is JSON: only room can miss */
    end_line(exporter, line, start);
    exporter->record_count++;
    exporter->event_count += row->event_count;
}

void export_run(Exporter *exporter, const RunHead *head, Buf *line)
{
    size_t start = line->len;
    buf_text(line, "{\"kind\":\"run\"");
    put_text(line, "run", head->run_id);
    put_number(line, "runNo", head->run_no);
    put_number(line, "last", head->last_position);
    put_number(line, "events", head->event_count);
    put_hex(line, "head", &head->head);
    end_line(exporter, line, start);
    exporter->run_count++;
}

Digest export_digest(const Exporter *exporter)
{
    crypto_generichash_state state;
    memcpy(&state, exporter->digest.bytes, sizeof state);
    Digest digest;
    crypto_generichash_final(&state, digest.bytes, DIGEST_SIZE);
    return digest;
}

void export_end(Exporter *exporter, Buf *line)
{
    Digest digest = export_digest(exporter);
    buf_text(line, "{\"kind\":\"end\"");
    put_number(line, "records", exporter->record_count);
    put_number(line, "events", exporter->event_count);
    put_number(line, "runs", exporter->run_count);
    put_log_head(exporter, line);
    put_hex(line, "digest", &digest);
    buf_text(line, "}\n");
}

/* --- reading ------------------------------------------------------------------------------------------------------- */

static Str get_text(Value value, const char *key)
{
    return value_get_string(value, key, STR(""));
}

static bool get_number(Value value, const char *key, uint64_t *out_number)
{
    int64_t number = value_get_int(value, key, -1);
    *out_number = (uint64_t)number;
    return number >= 0;
}

static bool get_hex(Value value, const char *key, Digest *out_digest)
{
    return hex_read(get_text(value, key), out_digest->bytes, DIGEST_SIZE);
}

/* Null gives no bytes. */
static bool get_base64(Arena *arena, Value value, const char *key, Str *out_bytes)
{
    const Value *member = value_get_text(value, key);
    size_t size, wrong_at;
    *out_bytes = (Str){ NULL, 0 };
    if (member && member->kind == VALUE_NULL) return true;
    if (!member || member->kind != VALUE_STRING) return false;
    char *bytes = arena_bytes(arena, base64_decoded_size_max(member->count));
    if (!base64_decode(value_text(*member), BASE64_STANDARD, bytes, &size, &wrong_at)) return false;
    *out_bytes = (Str){ bytes, size };
    return true;
}

static bool read_row(Arena *arena, Value value, LedgerRow *out_row)
{
    uint64_t event_count;
    LedgerRow row = { 0 };
    if (!get_number(value, "position", &row.position) || !get_number(value, "runNo", &row.run_no)
        || !get_number(value, "prev", &row.prev_position) || !get_number(value, "firstEvent", &row.first_event)
        || !get_number(value, "eventCount", &event_count) || event_count > UINT32_MAX || !get_hex(value, "hash", &row.hash)
        || !get_base64(arena, value, "record", &row.record) || !get_base64(arena, value, "payload", &row.payload))
        return false;
    row.event_count = (uint32_t)event_count;
    *out_row = row;
    return true;
}

static bool read_run(Value value, RunHead *out_head)
{
    RunHead head = { .run_id = get_text(value, "run") };
    if (head.run_id.len == 0 || !get_number(value, "runNo", &head.run_no) || !get_number(value, "last", &head.last_position)
        || !get_number(value, "events", &head.event_count) || !get_hex(value, "head", &head.head))
        return false;
    *out_head = head;
    return true;
}

static bool read_header(Value value, ExportHeader *out_header)
{
    ExportHeader header = { .run_id = get_text(value, "run") };
    if (!get_number(value, "log", &header.head.log) || !civil_read_ms(get_text(value, "time"), &header.now_ms)) return false;
    const Value *run = value_get_text(value, "run");
    header.is_part = run && run->kind == VALUE_STRING;
    if (!header.is_part
        && (!get_number(value, "position", &header.head.position) || !get_hex(value, "head", &header.head.head)))
        return false;
    *out_header = header;
    return true;
}

/* --- verifying ----------------------------------------------------------------------------------------------------- */

PRINTF_LIKE(3, 4)
static void find(ExportCheck *check, FindingKind kind, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    Finding finding = { .kind = kind, .text = arena_format_args(&check->arena, format, args) };
    va_end(args);
    if (finding_is_damage(kind)) check->verifier.report.damage_count++;
    if (check->options.finding) check->options.finding(check->options.context, &finding);
}

void export_check_init(ExportCheck *check, const VerifyOptions *options)
{
    memset(check, 0, sizeof *check);
    check->options = *options;
    export_init(&check->again);
    arena_init(&check->arena, SIZE_MAX);
    buf_init(&check->line, SIZE_MAX);
}

void export_check_deinit(ExportCheck *check)
{
    if (check->stage != CHECK_HEADER) verify_deinit(&check->verifier);
    export_deinit(&check->again);
    arena_deinit(&check->arena);
    buf_deinit(&check->line);
}

static Status check_header(ExportCheck *check, Value value, Error *err)
{
    ExportHeader header;
    Str format = get_text(value, "format");
    if (!str_starts(format, STR(FORMAT_NAME)))
        return error_set(err, ERR_INVALID, "this is no exported ledger: its first line has no \"format\" of that name");
    if (!str_is(format, STR(FORMAT)))
        return error_set(err, ERR_UNAVAILABLE, "the format %.*s is not known: exported by a newer maestro", STR_ARG(format));
    if (!read_header(value, &header)) return error_set(err, ERR_INVALID, "the header of the exported ledger is damaged");
    check->head = header.head;
    check->options.log = header.head.log;
    check->options.is_part = header.is_part;
    check->options.head = check->options.is_part ? NULL : &check->head;
    check->options.has_run_heads = true;
    verify_init(&check->verifier, &check->options);
    header.run_id = arena_copy(&check->verifier.arena, header.run_id);      /* outlives the line */
    export_header(&check->again, &header, &check->line);
    check->stage = CHECK_BODY;
    return OK;
}

static Status check_row(ExportCheck *check, Value value, Error *err)
{
    LedgerRow row;
    if (!read_row(&check->arena, value, &row)) {
        find(check, FINDING_DOCUMENT, "line %" PRIu64 " is no whole record", check->line_count);
        return OK;
    }
    export_row(&check->again, &row, &check->line);
    return verify_row(&check->verifier, &row, err);
}

static Status check_run(ExportCheck *check, Value value, Error *err)
{
    RunHead head;
    if (!read_run(value, &head)) {
        find(check, FINDING_DOCUMENT, "line %" PRIu64 " is no whole head of a run", check->line_count);
        return OK;
    }
    export_run(&check->again, &head, &check->line);
    return verify_run(&check->verifier, &head, err);
}

static Status check_last(ExportCheck *check, Value value, Error *err)
{
    check->digest = export_digest(&check->again);
    export_end(&check->again, &check->line);
    check->stage = CHECK_ENDED;
    return OK;
}

static Status check_value(ExportCheck *check, Value value, Error *err)
{
    static const struct { const char *kind; Status (*check)(ExportCheck *check, Value value, Error *err); } kinds[] = {
        { "record", check_row }, { "run", check_run }, { "end", check_last },
    };
    for (uint32_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (str_is_text(get_text(value, "kind"), kinds[i].kind)) return kinds[i].check(check, value, err);
    find(check, FINDING_DOCUMENT, "line %" PRIu64 " is of no kind that is known", check->line_count);
    return OK;
}

/* What was exported is exported again from what was read: the same text, or the line was changed. How a record is shown may
 * differ between versions of this program; the rest may not. */
static void compare_line(ExportCheck *check, Str line)
{
    Str again = buf_peek(&check->line);
    if (again.len == 0) return;                             /* it was told already */
    again.len--;                                            /* the line's end */
    if (str_is(line, again)) return;
    const char *shown = memmem(again.ptr, again.len, SHOWN, sizeof SHOWN - 1);
    size_t proved = shown ? (size_t)(shown - again.ptr) : again.len;
    if (shown && str_is(str_slice(line, 0, proved), str_slice(again, 0, proved)))
        find(check, FINDING_SHOWN, "line %" PRIu64 " shows something else than its record says", check->line_count);
    else
        find(check, FINDING_DOCUMENT, "line %" PRIu64 " is not what was exported", check->line_count);
}

Status export_check_line(ExportCheck *check, Str line, Error *err)
{
    Value value;
    Error why;
    arena_reset(&check->arena);
    buf_clear(&check->line);
    check->line_count++;
    if (check->stage == CHECK_ENDED) {
        find(check, FINDING_DOCUMENT, "line %" PRIu64 " comes after the end", check->line_count);
        return OK;
    }
    LineDigest before = check->again.digest;
    Status status = json_parse(&check->arena, line, &value, &why);
    if (status && check->stage == CHECK_HEADER)
        return error_set(err, ERR_INVALID, "this is no exported ledger: its first line is no JSON: %s", why.text);
    if (status == ERR_LIMIT) return error_set(err, status, "line %" PRIu64 ": %s", check->line_count, why.text);
    if (status) {
        find(check, FINDING_DOCUMENT, "line %" PRIu64 " is no JSON: %s", check->line_count, why.text);
    } else {
        status = check->stage == CHECK_HEADER ? check_header(check, value, err) : check_value(check, value, err);
        if (status) return status;
        compare_line(check, line);
    }
    check->again.digest = before;                           /* over what is in the file */
    note_line(&check->again, line);
    note_line(&check->again, STR("\n"));
    return OK;
}

Status export_check_end(ExportCheck *check, VerifyReport *out_report, Error *err)
{
    if (check->stage == CHECK_HEADER) return error_set(err, ERR_INVALID, "this is no exported ledger: it is empty");
    arena_reset(&check->arena);
    if (check->stage != CHECK_ENDED) find(check, FINDING_TRUNCATED, "the file ends without its last line");
    *out_report = verify_end(&check->verifier);
    return OK;
}
