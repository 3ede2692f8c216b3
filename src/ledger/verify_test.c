#include "ledger/verify.h"

#include <string.h>

#include "harness/test.h"
#include "ledger/chain.h"
#include "ledger/fixture_test.h"

/* --- what is found ------------------------------------------------------------------------------------------------- */

typedef struct Found {
    uint32_t counts[FINDING_KIND_COUNT];
    uint64_t positions[FINDING_KIND_COUNT];     /* of the last one of each kind */
    VerifyReport report;
} Found;

static void note(void *context, const Finding *finding)
{
    Found *found = context;
    found->counts[finding->kind]++;
    found->positions[finding->kind] = finding->position;
    EXPECT(finding->text.len > 0);
}

static Found verify_with(const Fixture *fixture, VerifyOptions options)
{
    Found found = { 0 };
    Verifier verifier;
    Error err;
    options.log = options.log ? options.log : FIXTURE_LOG;
    options.finding = note;
    options.context = &found;
    verify_init(&verifier, &options);
    for (uint32_t i = 0; i < fixture->row_count; i++) EXPECT_OK(verify_row(&verifier, &fixture->rows[i], &err), &err);
    for (uint32_t i = 1; options.has_run_heads && i <= FIXTURE_RUN_COUNT; i++)
        EXPECT_OK(verify_run(&verifier, &fixture->runs[i], &err), &err);
    found.report = verify_end(&verifier);
    verify_deinit(&verifier);
    return found;
}

static Found verify(const Fixture *fixture)
{
    return verify_with(fixture, (VerifyOptions){ .head = &fixture->head, .has_run_heads = true });
}

static uint64_t damage_of(const Fixture *fixture)
{
    return verify(fixture).report.damage_count;
}

/* The arena stays with the original: a copy of the rows is enough to play with. */
static Fixture copy_of(const Fixture *fixture)
{
    return *fixture;
}

/* --- a sound ledger ------------------------------------------------------------------------------------------------- */

TEST(a_ledger_that_nobody_touched_has_no_damage, "proves: F-097")
{
    Fixture fixture;
    fixture_make(&fixture);
    Found found = verify(&fixture);
    EXPECT_INT(found.report.damage_count, 0);
    EXPECT_INT(found.report.record_count, 11);
    EXPECT_INT(found.report.event_count, 37);
    EXPECT_INT(found.report.run_count, 3);
    EXPECT_INT(found.report.payload_count, 10);
    EXPECT_INT(found.report.end.position, 11);
    EXPECT(memcmp(&found.report.end.head, &fixture.head.head, sizeof(Digest)) == 0);
    fixture_deinit(&fixture);
}

TEST(an_empty_ledger_is_sound, "")
{
    Fixture fixture;
    fixture_init(&fixture);
    EXPECT_INT(verify_with(&fixture, (VerifyOptions){ .head = &fixture.head }).report.damage_count, 0);
    fixture_deinit(&fixture);
}

TEST(an_erased_payload_is_told_and_is_no_damage, "proves: F-097")
{
    Fixture fixture;
    fixture_make(&fixture);
    Found found = verify(&fixture);
    EXPECT_INT(found.counts[FINDING_ERASED], 1);
    EXPECT_INT(found.positions[FINDING_ERASED], 4);
    EXPECT_INT(found.report.erased_count, 1);
    fixture_deinit(&fixture);
}

/* --- every change ---------------------------------------------------------------------------------------------------- */

static void flip_bytes(const Fixture *fixture, Str bytes)
{
    for (size_t bit = 0; bit < bytes.len * 8; bit++) {
        char *byte = (char *)bytes.ptr + bit / 8;
        *byte = (char)(*byte ^ (1 << bit % 8));
        EXPECT(damage_of(fixture) > 0);
        *byte = (char)(*byte ^ (1 << bit % 8));
    }
}

TEST(every_changed_bit_of_a_record_or_payload_is_found, "proves: F-097")
{
    Fixture fixture;
    fixture_make(&fixture);
    for (uint32_t i = 0; i < fixture.row_count; i++) {
        flip_bytes(&fixture, fixture.rows[i].record);
        flip_bytes(&fixture, fixture.rows[i].payload);
        Str hash = { (char *)fixture.rows[i].hash.bytes, DIGEST_SIZE };
        flip_bytes(&fixture, hash);
    }
    EXPECT_INT(damage_of(&fixture), 0);
    fixture_deinit(&fixture);
}

TEST(every_changed_bit_of_a_column_or_head_is_found, "proves: F-097")
{
    Fixture fixture;
    fixture_make(&fixture);
    for (uint32_t i = 0; i < fixture.row_count; i++) {
        LedgerRow *row = &fixture.rows[i];
        Str columns[] = { { (char *)&row->position, 8 }, { (char *)&row->run_no, 8 }, { (char *)&row->prev_position, 8 },
                          { (char *)&row->first_event, 8 }, { (char *)&row->event_count, 4 } };
        for (uint32_t c = 0; c < sizeof columns / sizeof *columns; c++) flip_bytes(&fixture, columns[c]);
    }
    for (uint32_t i = 1; i <= FIXTURE_RUN_COUNT; i++) {
        RunHead *run = &fixture.runs[i];
        Str columns[] = { { (char *)&run->run_no, 8 }, { (char *)&run->last_position, 8 }, { (char *)&run->event_count, 8 },
                          { (char *)run->head.bytes, DIGEST_SIZE } };
        for (uint32_t c = 0; c < sizeof columns / sizeof *columns; c++) flip_bytes(&fixture, columns[c]);
    }
    Str head[] = { { (char *)&fixture.head.log, 8 }, { (char *)&fixture.head.position, 8 },
                   { (char *)fixture.head.head.bytes, DIGEST_SIZE } };
    for (uint32_t c = 0; c < sizeof head / sizeof *head; c++) flip_bytes(&fixture, head[c]);
    EXPECT_INT(damage_of(&fixture), 0);
    fixture_deinit(&fixture);
}

TEST(a_changed_record_is_one_finding_with_its_position, "")
{
    Fixture fixture;
    fixture_make(&fixture);
    char *text = memmem(fixture.rows[5].record.ptr, fixture.rows[5].record.len, "user:ben", 8);
    REQUIRE(text != NULL);
    text[5] = 'k';
    Found found = verify(&fixture);
    EXPECT_INT(found.counts[FINDING_CHANGED], 1);
    EXPECT_INT(found.positions[FINDING_CHANGED], 6);
    EXPECT_INT(found.report.damage_count, 1);
    fixture_deinit(&fixture);
}

/* --- every rearrangement ---------------------------------------------------------------------------------------------- */

static void rows_remove(Fixture *fixture, uint32_t at, uint32_t count)
{
    memmove(fixture->rows + at, fixture->rows + at + count, (fixture->row_count - at - count) * sizeof *fixture->rows);
    fixture->row_count -= count;
}

TEST(every_removal_is_found, "proves: F-097")
{
    Fixture fixture;
    fixture_make(&fixture);
    for (uint32_t at = 0; at < fixture.row_count; at++) {
        for (uint32_t count = 1; count <= fixture.row_count - at; count++) {
            Fixture changed = copy_of(&fixture);
            rows_remove(&changed, at, count);
            EXPECT(damage_of(&changed) > 0);
        }
    }
    fixture_deinit(&fixture);
}

TEST(every_exchange_repetition_and_move_is_found, "proves: F-097")
{
    Fixture fixture;
    fixture_make(&fixture);
    for (uint32_t a = 0; a < fixture.row_count; a++) {
        for (uint32_t b = 0; b < fixture.row_count; b++) {
            Fixture changed = copy_of(&fixture);
            if (a == b) continue;
            changed.rows[a] = fixture.rows[b];
            EXPECT(damage_of(&changed) > 0);            /* one twice, the other gone */
            changed.rows[b] = fixture.rows[a];
            EXPECT(damage_of(&changed) > 0);            /* exchanged */
            changed.rows[a].position = fixture.rows[a].position;
            changed.rows[b].position = fixture.rows[b].position;
            EXPECT(damage_of(&changed) > 0);            /* exchanged, and their positions adapted */
        }
        for (uint32_t b = 0; b <= fixture.row_count; b++) {
            Fixture changed = copy_of(&fixture);
            memmove(changed.rows + b + 1, changed.rows + b, (changed.row_count - b) * sizeof *changed.rows);
            changed.rows[b] = fixture.rows[a];
            changed.row_count++;
            EXPECT(damage_of(&changed) > 0);            /* once more, somewhere */
            for (uint32_t i = b; i < changed.row_count; i++) changed.rows[i].position = i + 1;
            EXPECT(damage_of(&changed) > 0);            /* the same, and all positions adapted */
        }
    }
    fixture_deinit(&fixture);
}

/* Whoever removes the last records can also write the log's head anew: then the heads of runs tell. */
TEST(a_cut_end_is_found_by_the_heads_of_runs_and_by_anchors, "proves: F-097")
{
    Fixture fixture;
    fixture_make(&fixture);
    LedgerHead anchor = fixture.head;
    for (uint32_t count = 1; count < fixture.row_count; count++) {
        Fixture cut = copy_of(&fixture);
        cut.row_count -= count;
        cut.head = verify_with(&cut, (VerifyOptions){ 0 }).report.end;
        Found found = verify_with(&cut, (VerifyOptions){ .head = &cut.head, .has_run_heads = true });
        EXPECT(found.counts[FINDING_TRUNCATED] > 0);
        found = verify_with(&cut, (VerifyOptions){ .head = &cut.head, .anchors = &anchor, .anchor_count = 1 });
        EXPECT_INT(found.counts[FINDING_TRUNCATED], 1);
    }
    fixture_deinit(&fixture);
}

/* Records, hashes and all heads written anew: only what was kept elsewhere knows. */
TEST(a_ledger_rewritten_whole_is_found_by_an_anchor_alone, "proves: F-097")
{
    Fixture fixture, other;
    fixture_make(&fixture);
    fixture_init(&other);
    for (uint32_t i = 0; i < fixture.row_count; i++) {
        Str record = arena_copy(&other.arena, fixture.rows[i].record);
        if (i == 7) ((char *)record.ptr)[record.len - 4] = 'm';
        fixture_add_bytes(&other, fixture.rows[i].run_no, fixture.rows[i].event_count, record, fixture.rows[i].payload);
    }
    EXPECT_INT(damage_of(&other), 0);
    Found found = verify_with(&other, (VerifyOptions){ .head = &other.head, .anchors = &fixture.head, .anchor_count = 1 });
    EXPECT_INT(found.counts[FINDING_HEAD], 1);
    EXPECT_INT(found.positions[FINDING_HEAD], 11);
    LedgerHead foreign = fixture.head;
    foreign.log = 7;
    found = verify_with(&fixture, (VerifyOptions){ .head = &fixture.head, .anchors = &foreign, .anchor_count = 1 });
    EXPECT_INT(found.counts[FINDING_LOG], 1);
    fixture_deinit(&fixture);
    fixture_deinit(&other);
}

/* --- what hashes alone do not tell ----------------------------------------------------------------------------------- */

TEST(payloads_are_missing_kept_or_too_many, "proves: F-097")
{
    static const struct { const char *name; uint32_t row; const char *payload; FindingKind want; } cases[] = {
        { "gone without an event", 1, "", FINDING_MISSING },
        { "back after it was erased", 3, "0123456789abcdef{\"done\":true}", FINDING_PAYLOAD },
        { "too short", 1, "0123456789abcdef", FINDING_PAYLOAD },
        { "where the record has none", 0, "0123456789abcdef{}", FINDING_PAYLOAD },
    };
    for (uint32_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Fixture fixture;
        fixture_make(&fixture);
        ROW(cases[i].name);
        fixture.rows[cases[i].row].payload = str_of(cases[i].payload);
        Found found = verify(&fixture);
        EXPECT_INT(found.counts[cases[i].want], 1);
        EXPECT_INT(found.positions[cases[i].want], cases[i].row + 1);
        fixture_deinit(&fixture);
    }
    Fixture fixture;
    fixture_make(&fixture);
    ROW("an event without erasing");
    Event erased = { .kind = EVENT_PAYLOAD_ERASED, .count = 2 };
    fixture_add(&fixture, 0, &erased, 1, NULL, 0);
    Found found = verify(&fixture);
    EXPECT_INT(found.counts[FINDING_KEPT], 1);
    EXPECT_INT(found.positions[FINDING_KEPT], 2);
    fixture_deinit(&fixture);
}

TEST(time_that_goes_back_and_other_logs_are_found, "")
{
    Fixture fixture;
    fixture_make(&fixture);
    Event event = { .kind = EVENT_RUN_RUNNING };
    fixture.now_ms = FIXTURE_NOW_MS;
    fixture_add(&fixture, 2, &event, 1, NULL, 0);
    Found found = verify(&fixture);
    EXPECT_INT(found.report.damage_count, 1);
    EXPECT_INT(found.counts[FINDING_TIME], 1);
    EXPECT_INT(found.positions[FINDING_TIME], 12);
    found = verify_with(&fixture, (VerifyOptions){ .log = 2 });
    EXPECT_INT(found.counts[FINDING_LOG], 12);
    fixture_deinit(&fixture);
}

TEST(records_of_a_newer_maestro_are_told_and_no_damage, "")
{
    Fixture fixture;
    fixture_make(&fixture);
    /* Format 2 may be anything; its hash is verified all the same. */
    fixture_add_bytes(&fixture, 1, 3, STR("\x02 anything"), STR(""));
    Found found = verify(&fixture);
    EXPECT_INT(found.report.damage_count, 0);
    EXPECT_INT(found.counts[FINDING_NEWER], 1);
    EXPECT_INT(found.positions[FINDING_NEWER], 12);
    fixture.rows[11].record = STR("\x02 Anything");
    EXPECT_INT(verify(&fixture).counts[FINDING_CHANGED], 1);
    fixture_deinit(&fixture);
}

TEST(bytes_that_are_no_record_are_found_though_their_hash_fits, "")
{
    Fixture fixture;
    fixture_make(&fixture);
    fixture_add_bytes(&fixture, 1, 3, STR("\x01 anything"), STR(""));
    Found found = verify(&fixture);
    EXPECT_INT(found.report.damage_count, 1);
    EXPECT_INT(found.counts[FINDING_UNREADABLE], 1);
    fixture_deinit(&fixture);
}

/* --- one run by itself ------------------------------------------------------------------------------------------------ */

TEST(a_run_is_verified_by_itself, "proves: F-097")
{
    for (uint64_t run_no = 1; run_no <= FIXTURE_RUN_COUNT; run_no++) {
        Fixture fixture, own;
        Error err;
        Verifier verifier;
        fixture_make(&fixture);
        own = copy_of(&fixture);
        own.row_count = 0;
        for (uint32_t i = 0; i < fixture.row_count; i++)
            if (fixture.rows[i].run_no == run_no) own.rows[own.row_count++] = fixture.rows[i];
        for (uint32_t gone = 0; gone <= own.row_count; gone++) {
            verify_init(&verifier, &(VerifyOptions){ .log = FIXTURE_LOG, .is_part = true, .has_run_heads = true });
            for (uint32_t i = 0; i < own.row_count; i++)
                if (i != gone) EXPECT_OK(verify_row(&verifier, &own.rows[i], &err), &err);
            EXPECT_OK(verify_run(&verifier, &fixture.runs[run_no], &err), &err);
            bool is_whole = gone == own.row_count;
            EXPECT((verify_end(&verifier).damage_count == 0) == is_whole);
            verify_deinit(&verifier);
        }
        fixture_deinit(&fixture);
    }
}

/* --- archived runs ---------------------------------------------------------------------------------------------------- */

/* Run 1, which is over and one of whose payloads was erased before, leaves the log: its rows keep their hashes. */
static void archive_run(Fixture *fixture, bool is_told)
{
    const Event archived = { .kind = EVENT_RUN_ARCHIVED, .count = 1, .name = fixture->runs[1].run_id, .text = STR("old.jsonl"),
                             .key = STR("00"), .payload = EVENT_NO_PAYLOAD };
    if (is_told) fixture_add(fixture, 0, &archived, 1, NULL, 0);
    for (uint32_t i = 0; i < fixture->row_count; i++)
        if (fixture->rows[i].run_no == 1) fixture->rows[i].record = fixture->rows[i].payload = STR("");
}

TEST(an_archived_run_leaves_a_log_that_verifies, "")
{
    Fixture fixture;
    fixture_make(&fixture);
    archive_run(&fixture, true);
    Found found = verify(&fixture);
    EXPECT_INT(found.report.damage_count, 0);
    EXPECT_INT(found.report.archived_count, 1);
    EXPECT_INT(found.report.record_count, 12);
    EXPECT_INT(found.report.run_count, 3);
    ROW("with some of its records still there");
    fixture_deinit(&fixture);
    fixture_make(&fixture);
    LedgerRow last = fixture.rows[7];
    EXPECT_INT(last.run_no, 1);
    archive_run(&fixture, true);
    fixture.rows[7] = last;
    EXPECT_INT(verify(&fixture).report.damage_count, 0);
    EXPECT_INT(verify(&fixture).report.archived_count, 1);
    fixture_deinit(&fixture);
}

TEST(records_that_are_gone_without_a_word_of_the_log_are_found, "")
{
    Fixture fixture;
    fixture_make(&fixture);
    archive_run(&fixture, false);
    Found found = verify(&fixture);
    EXPECT_INT(found.counts[FINDING_GONE], 1);
    EXPECT_INT(found.report.damage_count, 1);
    ROW("the log's own");
    fixture_deinit(&fixture);
    fixture_make(&fixture);
    archive_run(&fixture, true);
    fixture.rows[0].record = STR("");
    EXPECT_INT(verify(&fixture).counts[FINDING_GONE], 1);
    ROW("said by a run instead of the log");
    fixture_deinit(&fixture);
    fixture_make(&fixture);
    const Event archived = { .kind = EVENT_RUN_ARCHIVED, .count = 1, .name = fixture.runs[1].run_id, .payload = EVENT_NO_PAYLOAD };
    fixture_add(&fixture, 2, &archived, 1, NULL, 0);
    archive_run(&fixture, false);
    EXPECT_INT(verify(&fixture).counts[FINDING_GONE], 1);
    fixture_deinit(&fixture);
}

TEST(what_is_left_of_an_archived_run_cannot_be_changed, "")
{
    Fixture fixture;
    fixture_make(&fixture);
    archive_run(&fixture, true);
    for (uint32_t i = 0; i < fixture.row_count; i++) {
        if (fixture.rows[i].run_no != 1) continue;
        Fixture changed = copy_of(&fixture);
        changed.rows[i].hash.bytes[5] ^= 1;
        EXPECT(damage_of(&changed) > 0);
        changed = copy_of(&fixture);
        changed.rows[i].first_event++;
        EXPECT(damage_of(&changed) > 0);
        changed = copy_of(&fixture);
        changed.rows[i].event_count++;
        EXPECT(damage_of(&changed) > 0);
        changed = copy_of(&fixture);
        changed.rows[i].prev_position++;
        EXPECT(damage_of(&changed) > 0);
        changed = copy_of(&fixture);
        changed.rows[i].run_no = 2;
        EXPECT(damage_of(&changed) > 0);
        changed = copy_of(&fixture);
        changed.rows[i].payload = STR("0123456789abcdef{}");
        EXPECT(damage_of(&changed) > 0);
        changed = copy_of(&fixture);
        memmove(&changed.rows[i], &changed.rows[i + 1], (changed.row_count - i - 1) * sizeof *changed.rows);
        changed.row_count--;
        EXPECT(damage_of(&changed) > 0);
    }
    Fixture renamed = copy_of(&fixture);
    renamed.runs[1].run_id = STR("Abcdefgh-0123456789_9");
    EXPECT_INT(verify(&renamed).counts[FINDING_RUN], 1);
    fixture_deinit(&fixture);
}

TEST(every_kind_of_finding_has_a_name, "")
{
    for (int kind = 0; kind < FINDING_KIND_COUNT; kind++) EXPECT(finding_name((FindingKind)kind)[0] != '\0');
    EXPECT(finding_is_damage(FINDING_CHANGED));
    EXPECT(finding_is_damage(FINDING_GONE));
    EXPECT(!finding_is_damage(FINDING_ERASED));
}
