#include "base/timezone.h"

#include <string.h>

#include "base/buf.h"
#include "harness/test.h"

static void put_u32(Buf *buf, uint32_t number)
{
    for (int shift = 24; shift >= 0; shift -= 8) buf_char(buf, (char)(number >> shift));
}

static void put_u64(Buf *buf, uint64_t number)
{
    put_u32(buf, (uint32_t)(number >> 32));
    put_u32(buf, (uint32_t)number);
}

static void put_header(Buf *buf, char version, uint32_t times, uint32_t types, uint32_t names)
{
    buf_text(buf, "TZif");
    buf_char(buf, version);
    buf_repeat(buf, '\0', 15 + 12);
    put_u32(buf, times);
    put_u32(buf, types);
    put_u32(buf, names);
}

/* A zone of two transitions between two types, the way a compiler of the database writes it. */
static Str zone_bytes(Buf *buf, const char *footer)
{
    put_header(buf, '2', 0, 1, 4);
    buf_repeat(buf, '\0', 6 + 4);
    put_header(buf, '2', 2, 2, 8);
    put_u64(buf, 1000);
    put_u64(buf, 2000);
    buf_bytes(buf, "\1\0", 2);
    put_u32(buf, (uint32_t)-3600);
    buf_bytes(buf, "\0\0", 2);
    put_u32(buf, 7200);
    buf_bytes(buf, "\1\4", 2);
    buf_bytes(buf, "AAA\0BBB\0", 8);
    buf_char(buf, '\n');
    buf_text(buf, footer);
    buf_char(buf, '\n');
    return buf_peek(buf);
}

TEST(a_zone_says_what_its_clocks_read, "")
{
    char storage[512];
    Buf buf = buf_on(storage, sizeof storage);
    Timezone zone;
    Error err;
    REQUIRE_OK(timezone_read(zone_bytes(&buf, "CCC-1"), &zone, &err), &err);
    static const struct {
        const char *name;
        int64_t at_s, from_s, until_s;
        int32_t offset_s;
        bool daylight;
        const char *abbreviation;
    } cases[] = {
        { "before everything the first type holds", INT64_MIN, INT64_MIN, 1000, -3600, false, "AAA" },
        { "the last second before a transition",    999, INT64_MIN, 1000, -3600, false, "AAA" },
        { "a transition begins at its second",      1000, 1000, 2000, 7200, true, "BBB" },
        { "the footer goes on behind the last",     2000, 2000, INT64_MAX, 3600, false, "CCC" },
        { "for ever",                               INT64_MAX, 2000, INT64_MAX, 3600, false, "CCC" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        ROW(cases[i].name);
        ZoneSpan span = timezone_at(&zone, cases[i].at_s);
        EXPECT_INT(span.from_s, cases[i].from_s);
        EXPECT_INT(span.until_s, cases[i].until_s);
        EXPECT_INT(span.offset_s, cases[i].offset_s);
        EXPECT(span.is_daylight == cases[i].daylight);
        EXPECT_STR(span.name, str_of(cases[i].abbreviation));
    }
}

/* Instants and offsets as the database's own programs print them for these rules. */
TEST(rules_of_the_footer_follow_the_calendar, "")
{
    static const struct { const char *footer; int64_t at_s; int32_t offset_s; const char *abbreviation; } cases[] = {
        { "EST5EDT,M3.2.0,M11.1.0",                1710053999, -18000, "EST" },     /* 2024-03-10, a second before 2 */
        { "EST5EDT,M3.2.0,M11.1.0",                1710054000, -14400, "EDT" },
        { "EST5EDT,M3.2.0,M11.1.0",                1730613599, -14400, "EDT" },     /* 2024-11-03 */
        { "EST5EDT,M3.2.0,M11.1.0",                1730613600, -18000, "EST" },
        { "IST-1GMT0,M10.5.0,M3.5.0/1",            1711846799, 0, "GMT" },          /* winter is Dublin's exception */
        { "IST-1GMT0,M10.5.0,M3.5.0/1",            1711846800, 3600, "IST" },
        { "<+1030>-10:30<+11>-11,M10.1.0,M4.1.0",  1712415599, 39600, "+11" },      /* half an hour, southern */
        { "<+1030>-10:30<+11>-11,M10.1.0,M4.1.0",  1712415600, 37800, "+1030" },
        { "EET-2EEST,M3.4.4/50,M10.4.4/50",        1711756800, 10800, "EEST" },     /* 50 hours into a Thursday */
        { "EET-2EEST,M3.4.4/50,M10.4.4/50",        1711756799, 7200, "EET" },
        { "<-02>2<-01>,M3.5.0/-1,M10.5.0/0",       1711846800, -3600, "-01" },      /* the evening before */
        { "<-02>2<-01>,M3.5.0/-1,M10.5.0/0",       1711846799, -7200, "-02" },
        { "AAA0BBB,J60/0,J61/0",                   1709251200, 3600, "BBB" },       /* 1 March, leap year or not */
        { "AAA0BBB,59/0,60/0",                     1709164800, 3600, "BBB" },       /* 29 February */
        { "XXX3EDT4,0/0,J365/23",                  1704067200, -14400, "EDT" },     /* always daylight */
        { "XXX3EDT4,0/0,J365/23",                  1719800000, -14400, "EDT" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        ROW(cases[i].footer);
        char storage[512];
        Buf buf = buf_on(storage, sizeof storage);
        Timezone zone;
        Error err;
        REQUIRE_OK(timezone_read(zone_bytes(&buf, cases[i].footer), &zone, &err), &err);
        ZoneSpan span = timezone_at(&zone, cases[i].at_s);
        EXPECT_INT(span.offset_s, cases[i].offset_s);
        EXPECT_STR(span.name, str_of(cases[i].abbreviation));
        EXPECT(span.from_s <= cases[i].at_s && cases[i].at_s < span.until_s);
        EXPECT_INT(timezone_at(&zone, span.from_s).offset_s, cases[i].offset_s);
        EXPECT_INT(timezone_at(&zone, span.until_s - 1).offset_s, cases[i].offset_s);
    }
}

TEST(data_that_is_no_zone_is_refused, "")
{
    char storage[512];
    Buf buf = buf_on(storage, sizeof storage);
    Str whole = zone_bytes(&buf, "EST5EDT,M3.2.0,M11.1.0");
    Timezone zone;
    Error err;
    for (size_t size = 0; size < whole.len; size++)
        EXPECT_INT(timezone_read(str_slice(whole, 0, size), &zone, &err), ERR_INVALID);

    static const struct { const char *name; size_t at; char byte; } damages[] = {
        { "another magic",                    0, 'X' },
        { "a count beyond the end",           98 - 44 + 33, '\1' },
        { "a transition to no type",          98 + 16, '\2' },
        { "transitions out of order",         98 + 6, '\xff' },
        { "a name beyond the names",          98 + 18 + 5, '\x9' },
    };
    for (size_t i = 0; i < sizeof damages / sizeof damages[0]; i++) {
        ROW(damages[i].name);
        char copy[512];
        memcpy(copy, whole.ptr, whole.len);
        copy[damages[i].at] = damages[i].byte;
        EXPECT_INT(timezone_read((Str){ copy, whole.len }, &zone, &err), ERR_INVALID);
    }

    static const char *const footers[] = { "E5", "EST", "EST5EDT", "EST5EDT,M13.1.0,M11.1.0", "EST5EDT,M3.2.0",
                                           "EST5x,", "<EST5", "EST168", "EST5EDT,M3.2.0,M11.1.0,", "EST5EDT,J0,J365" };
    for (size_t i = 0; i < sizeof footers / sizeof footers[0]; i++) {
        ROW(footers[i]);
        Buf other = buf_on(storage, sizeof storage);
        EXPECT_INT(timezone_read(zone_bytes(&other, footers[i]), &zone, &err), ERR_INVALID);
    }
}

TEST(names_stay_inside_the_database, "")
{
    static const char *const good[] = { "UTC", "Europe/Berlin", "America/Argentina/Buenos_Aires", "Etc/GMT+5",
                                        "EST5EDT" };
    static const char *const bad[] = { "", "/etc/passwd", "../x", "Europe/", "Europe//Berlin", "a b", "Europe/../x",
                                       "a\\b", "." };
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) EXPECT(timezone_name_is_valid(str_of(good[i])));
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) EXPECT(!timezone_name_is_valid(str_of(bad[i])));
}

TEST(utc_has_one_span, "")
{
    Timezone utc = timezone_utc();
    ZoneSpan span = timezone_at(&utc, 0);
    EXPECT_INT(span.offset_s, 0);
    EXPECT_STR(span.name, STR("UTC"));
    EXPECT_INT(span.from_s, INT64_MIN);
    EXPECT_INT(span.until_s, INT64_MAX);
}
