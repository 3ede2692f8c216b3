#include <stdio.h>

#include "base/limits.h"
#include "cli/ledger_read.h"
#include "cli/workplace.h"
#include "ledger/record.h"
#include "value/json.h"

#define SHOWN_COUNT_DEFAULT 20u

static const Option options[] = {
    { "from", 0, "N", NULL, "Begins with this position; by default so that the newest are shown." },
    { "limit", 'n', "N", NULL, "At most so many records; by default 20." },
    STORE_OPTION,
    { NULL },
};

typedef struct Show { Buf out; Arena arena; } Show;

static Status print_row(void *context, const LedgerRow *row, Error *err)
{
    Show *show = context;
    Record record;
    char storage[2 * DIGEST_SIZE];
    Buf hash = buf_on(storage, sizeof storage);
    arena_reset(&show->arena);
    if (!row->record.len) {
        buf_hex(&hash, row->hash.bytes, DIGEST_SIZE);
        buf_format(&show->out, "{\"archived\":true,\"position\":%llu,\"hash\":\"%.*s\"}\n", (unsigned long long)row->position,
                   STR_ARG(buf_peek(&hash)));
        print_out(&show->out);
        buf_clear(&show->out);
        return OK;
    }
    Status status = record_decode_any(&show->arena, row->record, &record, err);
    if (status) {
        error_prefix(err, "record %llu: ", (unsigned long long)row->position);
        return status;
    }
    Value value = record_to_value(&show->arena, &record);
    MemberList members = { .arena = &show->arena };
    for (uint32_t i = 0; i < value.count; i++) member_list_add(&members, value_text(value.members[i].key), value.members[i].value);
    buf_hex(&hash, row->hash.bytes, DIGEST_SIZE);
    member_list_add(&members, STR("position"), value_int((int64_t)row->position));
    if (record.head.run_id.len) member_list_add(&members, STR("run"), value_string(record.head.run_id));
    member_list_add(&members, STR("hash"), value_string(buf_peek(&hash)));
    status = json_print(&show->out, member_list_object(&members), JSON_COMPACT, err);
    buf_char(&show->out, '\n');
    if (!status) print_out(&show->out);
    buf_clear(&show->out);
    return status;
}

static ExitCode run(const Args *args)
{
    Store *store;
    LedgerHead head;
    Error err;
    uint64_t count, from;
    if (!args_number(args, "limit", SHOWN_COUNT_DEFAULT, 1, INT64_MAX, &count)) return EXIT_CODE_USAGE;
    if (!args_number(args, "from", 0, 1, INT64_MAX, &from)) return EXIT_CODE_USAGE;
    ExitCode code = store_open_existing(args, &store);
    if (code) return code;
    Status status = ledger_head(store, &head, &err);
    if (!status && !from) from = head.position >= count ? head.position - count + 1 : 1;
    uint64_t last = count > head.position || from > head.position - count ? head.position : from + count - 1;
    Show show;
    buf_init(&show.out, JSON_SIZE_MAX);
    arena_init(&show.arena, SIZE_MAX);
    if (!status) status = ledger_rows(store, from, last, print_row, &show, &err);
    arena_deinit(&show.arena);
    buf_deinit(&show.out);
    store_close(store);
    return status ? fail(&err) : EXIT_CODE_OK;
}

const Verb command_ledger_show = {
    .name = "ledger show", .operands = "",
    .summary = "Prints records of the ledger as JSON, one a line.",
    .doc = "Each with its position, hash, run, time, actor, reason and events; payloads are not shown ('maestro inspect' does). The\n"
           "events of one run: 'maestro show RUN --events'.",
    .examples = "maestro ledger show -n 5\n"
                "maestro ledger show --from 1 -n 1000000 | jq -c .events[]",
    .options = options, .run = run,
};
