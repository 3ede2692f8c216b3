#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/limits.h"
#include "cli/anchor_file.h"
#include "cli/export_file.h"
#include "cli/ledger_read.h"
#include "cli/run_read.h"
#include "cli/workplace.h"
#include "os/file.h"
#include "value/json.h"

static const Option options[] = {
    { "anchor", 0, "FILE", NULL, "Signed ends of earlier times, of 'maestro ledger anchor': the ledger has to contain them." },
    { "key", 0, "KEY", NULL, "The public key that has to have signed them: 64 digits, or a file with them." },
    STORE_OPTION,
    { "json", 0, NULL, NULL, "Prints findings as objects, one a line, and a summary." },
    { NULL },
};

/* --- findings ----------------------------------------------------------------------------------------------------------------- */

static void add(MemberList *members, const char *name, Value value) { member_list_add(members, str_of(name), value); }

static void print_object(const MemberList *members)
{
    Buf out;
    Error err;
    buf_init(&out, JSON_SIZE_MAX);
    if (!json_print(&out, member_list_object(members), JSON_COMPACT, &err)) buf_char(&out, '\n');
    print_out(&out);
    buf_deinit(&out);
}

static void take_finding_json(const Finding *finding)
{
    Arena arena;
    arena_init(&arena, SIZE_MAX);
    MemberList members = { .arena = &arena };
    add(&members, "finding", value_string(str_of(finding_name(finding->kind))));
    add(&members, "damage", value_bool(finding_is_damage(finding->kind)));
    if (finding->position) add(&members, "position", value_int((int64_t)finding->position));
    if (finding->run_id.len) add(&members, "run", value_string(finding->run_id));
    add(&members, "text", value_string(finding->text));
    print_object(&members);
    arena_deinit(&arena);
}

static void take_finding(void *context, const Finding *finding)
{
    const Args *args = context;
    if (args_flag(args, "json")) {
        take_finding_json(finding);
        return;
    }
    printf("%s", finding_is_damage(finding->kind) ? "DAMAGE " : "note   ");
    if (finding->position) printf("record %" PRIu64, finding->position);
    if (finding->run_id.len) printf("%srun %.*s", finding->position ? ", " : "", STR_ARG(finding->run_id));
    printf("%s%s: %.*s\n", finding->position || finding->run_id.len ? ": " : "", finding_name(finding->kind), STR_ARG(finding->text));
}

static void print_summary(const Args *args, const VerifyReport *report)
{
    Arena arena;
    arena_init(&arena, SIZE_MAX);
    MemberList members = { .arena = &arena };
    if (args_flag(args, "json")) {
        add(&members, "ok", value_bool(!report->damage_count));
        add(&members, "records", value_int((int64_t)report->record_count));
        add(&members, "events", value_int((int64_t)report->event_count));
        add(&members, "runs", value_int((int64_t)report->run_count));
        add(&members, "erased", value_int((int64_t)report->erased_count));
        add(&members, "archived", value_int((int64_t)report->archived_count));
        add(&members, "damage", value_int((int64_t)report->damage_count));
        add(&members, "position", value_int((int64_t)report->end.position));
        print_object(&members);
    } else {
        printf("%s: %" PRIu64 " records, %" PRIu64 " events, %" PRIu64 " runs", report->damage_count ? "damaged" : "ok",
               report->record_count, report->event_count, report->run_count);
        if (report->erased_count) printf(", %" PRIu64 " payloads erased", report->erased_count);
        if (report->archived_count) printf(", %" PRIu64 " archived", report->archived_count);
        if (report->damage_count) printf(", %" PRIu64 " finding%s", report->damage_count, report->damage_count == 1 ? "" : "s");
        putchar('\n');
    }
    arena_deinit(&arena);
}

/* --- the command -------------------------------------------------------------------------------------------------------------- */

static Status read_anchors(const Args *args, LedgerHead **out_heads, uint32_t *out_count, Error *err)
{
    const char *path = args_value(args, "anchor"), *key = args_value(args, "key");
    uint8_t public_key[ANCHOR_PUBLIC_SIZE];
    Anchor *anchors;
    *out_count = 0;
    *out_heads = NULL;
    if (!path) return key ? error_set(err, ERR_INVALID, "--key says who signed an anchor; --anchor FILE is missing") : OK;
    Status status = key ? anchor_public_key(args->arena, key, public_key, err) : OK;
    if (!status) status = anchors_read(args->arena, path, key ? public_key : NULL, &anchors, out_count, err);
    if (status) return status;
    *out_heads = ARENA_ARRAY(args->arena, LedgerHead, *out_count);
    for (uint32_t i = 0; i < *out_count; i++) (*out_heads)[i] = anchors[i].at;
    if (!key) fprintf(stderr, "maestro: whose signature it is was not demanded; --key does that\n");
    return OK;
}

static ExitCode wrong_anchor(void)
{
    fprintf(stderr, "maestro: an anchor is of the whole log; leave out RUN, or --anchor\n");
    return EXIT_CODE_USAGE;
}

/* A store, or one run of it. */
static ExitCode verify_stored(const Args *args, const LedgerCheck *check, VerifyReport *out_report)
{
    Store *store;
    const Cell *row = NULL;
    AuditReport rows = { 0 };
    Error err;
    ExitCode code = store_open_existing(args, &store);
    if (code) return code;
    if (args->operand_count) code = find_row(args, store, args->operands[0], &row);
    if (!code) {
        Status status = row ? ledger_verify_run(store, row, check, out_report, &rows, &err)
                            : ledger_verify(store, check, out_report, &rows, &err);
        if (status) code = fail(&err);
    }
    store_close(store);
    return code;
}

static ExitCode run(const Args *args)
{
    LedgerHead *anchors;
    uint32_t anchor_count;
    VerifyReport report;
    Error err;
    Status status = read_anchors(args, &anchors, &anchor_count, &err);
    /* An anchor that is not what it says is as bad as a ledger that is not. */
    if (status == ERR_CORRUPT || status == ERR_DENIED) return fail(&err), EXIT_CODE_DATA;
    if (status) return fail(&err);
    const char *operand = args->operand_count ? args->operands[0] : NULL;
    if (operand && (strcmp(operand, "-") == 0 || strchr(operand, '/') || file_exists(operand))) {
        VerifyOptions wanted = { .anchors = anchors, .anchor_count = anchor_count, .finding = take_finding, .context = (void *)args };
        status = export_file_verify(operand, &wanted, &report, /* out_digest= */ NULL, &err);
        if (status) return fail(&err);
    } else {
        if (operand && anchor_count) return wrong_anchor();
        LedgerCheck check = { .anchors = anchors, .anchor_count = anchor_count, .finding = take_finding, .context = (void *)args };
        ExitCode code = verify_stored(args, &check, &report);
        if (code) return code;
    }
    print_summary(args, &report);
    return report.damage_count ? EXIT_CODE_DATA : EXIT_CODE_OK;
}

const Verb command_ledger_verify = {
    .name = "ledger verify", .operands = "[RUN|EXPORT]", .operand_count_max = 1,
    .summary = "Finds out whether the ledger is what was written.",
    .doc = "Every record is hashed again and held against the chains of its run and of the log, the heads in the rows of runs, its\n"
           "payloads' digests, and with --anchor against signed ends of earlier times. Then every row of the other tables that follows\n"
           "from records is made again and compared, column by column. Each thing that is wrong is told with its position, or with\n"
           "table, key and column. The store may be in use. With RUN, one run alone; with EXPORT, a file of 'maestro ledger export' or\n"
           "'maestro store archive' instead.\n"
           "\n"
           "Exit code 65: something is damaged.",
    .examples = "maestro ledger verify\n"
                "maestro ledger verify --anchor anchors.jsonl --key store.db.key.pub",
    .options = options, .run = run,
};
