#include <inttypes.h>
#include <stdio.h>

#include "cli/ledger_read.h"
#include "cli/server_order.h"
#include "cli/workplace.h"

static const Option options[] = {
    STORE_OPTION,
    { NULL },
};

static void take_finding(void *context, Str text)
{
    ++*(uint64_t *)context;
    printf("DAMAGE store: %.*s\n", STR_ARG(text));
}

static void take_ledger_finding(void *context, const Finding *finding)
{
    (void)context;
    printf("%s", finding_is_damage(finding->kind) ? "DAMAGE " : "note   ");
    if (finding->position) printf("record %" PRIu64 ": ", finding->position);
    else if (finding->run_id.len) printf("run %.*s: ", STR_ARG(finding->run_id));
    printf("%s: %.*s\n", finding_name(finding->kind), STR_ARG(finding->text));
}

static ExitCode run(const Args *args)
{
    Store *store;
    Error err;
    uint64_t finding_count = 0;
    VerifyReport report = { 0 };
    AuditReport rows = { 0 };
    bool is_server = server_is_meant(args);             /* its file is on another machine, and what the file holds is asked of it */
    ExitCode code = store_open_existing(args, &store);
    if (code) return code;
    Status status = is_server ? OK : store_check(store, take_finding, &finding_count, &err);
    if (!status) status = ledger_verify(store, &(LedgerCheck){ .finding = take_ledger_finding }, &report, &rows, &err);
    store_close(store);
    if (status == ERR_CORRUPT) return fail(&err), EXIT_CODE_DATA;
    if (status) return fail(&err);
    finding_count += report.damage_count;
    if (finding_count) printf("damaged: %" PRIu64 " finding%s\n", finding_count, finding_count == 1 ? "" : "s");
    else
        printf("ok: %s%" PRIu64 " records, %" PRIu64 " events, %" PRIu64 " runs, %" PRIu64 " archived; %" PRIu64
               " rows are what the records make\n", is_server ? "" : "pages, keys and references; ",
               report.record_count, report.event_count, report.run_count, report.archived_count, rows.row_count);
    return finding_count ? EXIT_CODE_DATA : EXIT_CODE_OK;
}

const Verb command_store_verify = {
    .name = "store verify", .operands = "",
    .summary = "Looks for damage: pages, keys, references, the ledger, and every row that follows from it.",
    .doc = "Everything that the file holds is read and held against itself, then the ledger, and the rows of the other tables against\n"
           "the ledger, as 'maestro ledger verify' does. The store may be in use. Exit code 65: something is damaged; restore a backup.\n"
           "\n"
           "Of a server (--server, with a key of every tenant) the records and rows are asked for and verified here, so that it is not the\n"
           "server that says it is sound; pages, keys and references of its file are looked at on its machine, with --store.",
    .examples = "maestro store verify --store sqlite:backup.db",
    .options = options, .run = run,
};
