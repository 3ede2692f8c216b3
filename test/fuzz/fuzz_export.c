/* Reads any bytes as an exported ledger, line by line. It is refused with a reason, or verified: then what was found is told,
 * damage is counted as often as it is told, and the same bytes give the same report again. */
#include <string.h>

#include "fuzz/fuzz.h"
#include "ledger/export.h"

typedef struct Told { uint64_t damage_count, count; } Told;

static void note(void *context, const Finding *finding)
{
    Told *told = context;
    FUZZ_HOLDS(finding->text.len > 0);
    told->count++;
    told->damage_count += finding_is_damage(finding->kind);
}

static Status check_file(Str file, VerifyReport *out_report, Told *told, Error *err)
{
    static ExportCheck check;           /* the state of a hash wants an alignment that not every stack gives */
    Status status = OK;
    export_check_init(&check, &(VerifyOptions){ .finding = note, .context = told });
    for (size_t at = 0; at < file.len && status == OK;) {
        size_t end = str_find(file, '\n', at);
        status = export_check_line(&check, str_slice(file, at, end), err);
        at = end + 1;
    }
    if (status == OK) status = export_check_end(&check, out_report, err);
    export_check_deinit(&check);
    return status;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Str file = { (const char *)data, size };
    VerifyReport report, again;
    Told told = { 0 }, told_again = { 0 };
    Error err = { 0 }, err_again = { 0 };
    memset(&report, 0, sizeof report);
    memset(&again, 0, sizeof again);
    Status status = check_file(file, &report, &told, &err);
    FUZZ_HOLDS(check_file(file, &again, &told_again, &err_again) == status);
    FUZZ_HOLDS(told.count == told_again.count);
    if (status != OK) {
        FUZZ_HOLDS(err.text[0] != '\0');
        FUZZ_HOLDS(status == ERR_INVALID || status == ERR_UNAVAILABLE || status == ERR_LIMIT);
        return 0;
    }
    FUZZ_HOLDS(report.damage_count == told.damage_count);
    FUZZ_HOLDS(report.record_count == again.record_count && report.event_count == again.event_count);
    return 0;
}
