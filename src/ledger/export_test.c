#include "ledger/export.h"

#include <string.h>

#include "base/limits.h"
#include "harness/random.h"
#include "harness/test.h"
#include "ledger/chain.h"
#include "ledger/fixture_test.h"

/* --- making and checking ---------------------------------------------------------------------------------------------- */

static void export_fixture(const Fixture *fixture, uint64_t only_run, Buf *file)
{
    Exporter exporter;
    ExportHeader header = { .head = fixture->head, .now_ms = fixture->now_ms };
    header.is_part = only_run != 0;
    if (only_run) header.run_id = fixture->runs[only_run].run_id;
    buf_init(file, SIZE_MAX);
    export_init(&exporter);
    export_header(&exporter, &header, file);
    for (uint32_t i = 0; i < fixture->row_count; i++)
        if (!only_run || fixture->rows[i].run_no == only_run) export_row(&exporter, &fixture->rows[i], file);
    for (uint32_t i = 1; i <= FIXTURE_RUN_COUNT; i++)
        if (!only_run || i == only_run) export_run(&exporter, &fixture->runs[i], file);
    export_end(&exporter, file);
    export_deinit(&exporter);
}

typedef struct Found { uint32_t counts[FINDING_KIND_COUNT]; } Found;

static void note(void *context, const Finding *finding)
{
    ((Found *)context)->counts[finding->kind]++;
    EXPECT(finding->text.len > 0);
}

/* How much is wrong with a file; one that cannot be read at all counts too. */
static uint64_t damage_of(Str file, Found *found)
{
    ExportCheck check;
    VerifyReport report = { .damage_count = 1 };
    Error err;
    Status status = OK;
    *found = (Found){ 0 };
    export_check_init(&check, &(VerifyOptions){ .finding = note, .context = found });
    for (size_t at = 0; at < file.len && status == OK;) {
        size_t end = str_find(file, '\n', at);
        status = export_check_line(&check, str_slice(file, at, end), &err);
        at = end + 1;
    }
    if (status == OK) status = export_check_end(&check, &report, &err);
    export_check_deinit(&check);
    return report.damage_count;
}

TEST(an_exported_ledger_is_sound, "proves: F-097")
{
    Fixture fixture;
    Found found;
    Buf file;
    fixture_make(&fixture);
    export_fixture(&fixture, 0, &file);
    EXPECT_INT(damage_of(buf_peek(&file), &found), 0);
    EXPECT_INT(found.counts[FINDING_ERASED], 1);
    EXPECT_INT(found.counts[FINDING_SHOWN], 0);
    buf_deinit(&file);
    fixture_deinit(&fixture);
}

/* Runs 1 and 3, without what lies between them. */
static void archive_fixture(const Fixture *fixture, Buf *file)
{
    Exporter exporter;
    buf_init(file, SIZE_MAX);
    export_init(&exporter);
    export_header(&exporter, &(ExportHeader){ .head = fixture->head, .now_ms = fixture->now_ms, .is_part = true }, file);
    for (uint32_t i = 0; i < fixture->row_count; i++)
        if (fixture->rows[i].run_no % 2 == 1) export_row(&exporter, &fixture->rows[i], file);
    export_run(&exporter, &fixture->runs[1], file);
    export_run(&exporter, &fixture->runs[3], file);
    export_end(&exporter, file);
    export_deinit(&exporter);
}

TEST(an_archive_of_some_runs_is_sound_and_every_changed_byte_of_it_is_found, "")
{
    Fixture fixture;
    Found found;
    Buf file;
    fixture_make(&fixture);
    archive_fixture(&fixture, &file);
    static const char header[] = "\"run\":\"\",\"position\":null,\"head\":null";
    EXPECT(memmem(file.ptr, file.len, header, sizeof header - 1) != NULL);
    EXPECT_INT(damage_of(buf_peek(&file), &found), 0);
    for (size_t i = 0; i + 1 < file.len; i++) {
        file.ptr[i] ^= 1;
        bool is_found = damage_of(buf_peek(&file), &found) > 0 || found.counts[FINDING_SHOWN] > 0;
        test_expect(is_found, __FILE__, __LINE__, "byte %zu was changed", i);
        file.ptr[i] ^= 1;
    }
    buf_deinit(&file);
    fixture_deinit(&fixture);
}

TEST(a_run_is_exported_by_itself, "")
{
    for (uint32_t run = 1; run <= FIXTURE_RUN_COUNT; run++) {
        Fixture fixture;
        Found found;
        Buf file;
        fixture_make(&fixture);
        export_fixture(&fixture, run, &file);
        EXPECT_INT(damage_of(buf_peek(&file), &found), 0);
        buf_deinit(&file);
        fixture_deinit(&fixture);
    }
}

TEST(a_line_shows_its_events_to_readers, "proves: F-205 F-085")
{
    Fixture fixture;
    Buf file;
    fixture_make(&fixture);
    export_fixture(&fixture, 0, &file);
    Str text = buf_peek(&file);
    static const char *const parts[] = {
        "{\"kind\":\"header\",\"format\":\"maestro-ledger/1\",\"log\":1,\"run\":null,\"position\":11,\"head\":\"",
        "\"run\":\"Abcdefgi-0123456789_2\",\"runNo\":2,\"prev\":3,\"firstEvent\":7,\"eventCount\":4,\"hash\":\"",
        "\"shown\":{\"actor\":\"user:ana\",\"events\":[{\"digest\":\"sha256:ab010203",
        "\"trace\":\"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01\"}}",
        "{\"dueAt\":\"2025-11-16T00:01:01.623Z\",\"event\":\"step-running\",\"holder\":65537,\"number\":6,\"step\":0}",
        "\"policy\":\"sha256:cd040506",
        "\"rationale\":\"the nightly one\"", "\"command\":\"c-17\"",
        "{\"event\":\"job-moved\",\"job\":0,\"number\":8,\"state\":\"succeeded\"}",
        "{\"count\":1,\"event\":\"signal-received\",\"kind\":\"approval\",\"name\":\"go\",\"number\":11,\"payload\":0,"
        "\"source\":\"user:ben\"}",
        "{\"cause\":\"timeout\",\"class\":\"transient\",\"event\":\"run-failed\",\"message\":\"no answer in 60 s\",\"number\":13,"
        "\"resolution\":\"AWAITING_DECISION\",\"step\":1}",
        "\"seed\":17375808098319191535", "\"priority\":\"normal\"", "\"payload\":null",
        "{\"kind\":\"run\",\"run\":\"Abcdefgh-0123456789_1\",\"runNo\":1,\"last\":8,\"events\":13,\"head\":\"",
        "{\"kind\":\"end\",\"records\":11,\"events\":37,\"runs\":3,\"position\":11,\"head\":\"",
    };
    for (uint32_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        ROW(parts[i]);
        EXPECT(memmem(text.ptr, text.len, parts[i], strlen(parts[i])) != NULL);
    }
    buf_deinit(&file);
    fixture_deinit(&fixture);
}

/* --- every change ------------------------------------------------------------------------------------------------------- */

TEST(every_changed_bit_of_an_exported_ledger_is_found, "proves: F-097")
{
    Fixture fixture;
    Found found;
    Buf file;
    fixture_make(&fixture);
    export_fixture(&fixture, 0, &file);
    file.len--;                                 /* a file may end with or without the end of its last line */
    for (size_t at = 0; at < file.len; at++) {
        uint32_t bit = (uint32_t)(at % 8);      /* one of each byte: the whole file is read for each */
        file.ptr[at] = (char)(file.ptr[at] ^ (1 << bit));
        if (!EXPECT(damage_of(buf_peek(&file), &found) > 0)) break;
        file.ptr[at] = (char)(file.ptr[at] ^ (1 << bit));
    }
    buf_deinit(&file);
    fixture_deinit(&fixture);
}

typedef struct Lines { Str lines[64]; uint32_t count; } Lines;

static Lines lines_of(Str file)
{
    Lines lines = { .count = 0 };
    for (size_t at = 0; at < file.len;) {
        size_t end = str_find(file, '\n', at) + 1;
        lines.lines[lines.count++] = str_slice(file, at, end);
        at = end;
    }
    return lines;
}

static uint64_t damage_of_lines(const Lines *lines)
{
    Buf file;
    Found found;
    buf_init(&file, SIZE_MAX);
    for (uint32_t i = 0; i < lines->count; i++) buf_str(&file, lines->lines[i]);
    uint64_t damage = damage_of(buf_peek(&file), &found);
    buf_deinit(&file);
    return damage;
}

TEST(every_line_removed_exchanged_repeated_or_cut_is_found, "proves: F-097")
{
    Fixture fixture;
    Buf file;
    fixture_make(&fixture);
    export_fixture(&fixture, 0, &file);
    Lines lines = lines_of(buf_peek(&file));
    EXPECT_INT(lines.count, 16);
    EXPECT_INT(damage_of_lines(&lines), 0);
    for (uint32_t a = 0; a < lines.count; a++) {
        Lines changed = lines;
        memmove(changed.lines + a, changed.lines + a + 1, (lines.count - a - 1) * sizeof *lines.lines);
        changed.count--;
        EXPECT(damage_of_lines(&changed) > 0);          /* removed */
        changed = lines;
        changed.count = a;
        EXPECT(damage_of_lines(&changed) > 0);          /* cut off here */
        for (uint32_t b = 0; b < lines.count; b++) {
            if (a == b) continue;
            changed = lines;
            changed.lines[a] = lines.lines[b];
            EXPECT(damage_of_lines(&changed) > 0);      /* one twice, the other gone */
            changed.lines[b] = lines.lines[a];
            EXPECT(damage_of_lines(&changed) > 0);      /* exchanged */
        }
        changed = lines;
        memmove(changed.lines + a + 1, changed.lines + a, (lines.count - a) * sizeof *lines.lines);
        changed.count++;
        EXPECT(damage_of_lines(&changed) > 0);          /* twice */
    }
    buf_deinit(&file);
    fixture_deinit(&fixture);
}

/* Whoever changes what is shown can write the digest of the last line anew; the record beside it still says what was. */
TEST(what_a_line_shows_is_compared_with_its_record, "")
{
    Fixture fixture;
    Found found;
    Buf file;
    fixture_make(&fixture);
    export_fixture(&fixture, 0, &file);
    char *shown = memmem(file.ptr, file.len, "\"user:ben\"", 10);
    REQUIRE(shown != NULL);
    memcpy(shown, "\"user:eve\"", 10);
    EXPECT_INT(damage_of(buf_peek(&file), &found), 1);
    EXPECT_INT(found.counts[FINDING_SHOWN], 1);
    EXPECT_INT(found.counts[FINDING_DOCUMENT], 1);      /* the digest */
    buf_deinit(&file);
    fixture_deinit(&fixture);
}

TEST(what_is_no_exported_ledger_is_refused, "")
{
    static const struct { const char *name, *line; Status want; } cases[] = {
        { "no JSON", "hello", ERR_INVALID },
        { "other JSON", "{\"kind\":\"record\"}", ERR_INVALID },
        { "a newer format", "{\"kind\":\"header\",\"format\":\"maestro-ledger/2\"}", ERR_UNAVAILABLE },
        { "half a header", "{\"kind\":\"header\",\"format\":\"maestro-ledger/1\",\"log\":1}", ERR_INVALID },
    };
    for (uint32_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ExportCheck check;
        VerifyReport report;
        Error err = { 0 };
        ROW(cases[i].name);
        export_check_init(&check, &(VerifyOptions){ 0 });
        EXPECT_INT(export_check_line(&check, str_of(cases[i].line), &err), cases[i].want);
        EXPECT(err.text[0] != '\0');
        EXPECT_INT(export_check_end(&check, &report, &err), ERR_INVALID);
        export_check_deinit(&check);
    }
}
