/* timezone.h - from an instant to the clock on the wall, by the data of the IANA database.
 *
 * A zone is the compiled form that systems carry (TZif, RFC 9636), read where it stands: opening one checks it and
 * remembers where its tables are, looking up is a binary search in them. Behind the last transition the rule in the
 * footer goes on for ever. This file reads no files: the bytes come from a ZoneSource of the caller.
 *
 * Owns:   nothing; a Timezone borrows the bytes.
 * Fails:  timezone_read() with ERR_INVALID for what is no TZif of version 1 to 4 or contradicts itself.
 * Bounds: the size of the bytes; a look-up takes their logarithm.     Thread: pure, any.
 */
#ifndef BASE_TIMEZONE_H
#define BASE_TIMEZONE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "base/str.h"

/* Where zones come from. `read` gives the bytes of "Europe/Berlin", valid as long as the source is; empty where it
 * knows no such zone. It is asked for names that timezone_name_is_valid() accepts. */
typedef struct ZoneSource {
    Str (*read)(void *owner, Str name);
    void *owner;
} ZoneSource;

/* One of the two changes a year that a footer describes. */
typedef struct ZoneChange {
    uint8_t form;                   /* a ChangeForm of timezone.c */
    int16_t day;                    /* of the year, or of the week */
    int8_t week, month;
    int32_t time_s;                 /* on the wall before the change; may be negative or beyond a day */
} ZoneChange;

typedef struct ZoneRule {
    bool is_present, has_daylight;
    Str standard_name, daylight_name;
    int32_t standard_s, daylight_s; /* east of Greenwich */
    ZoneChange begin, end;          /* of daylight saving */
} ZoneRule;

typedef struct Timezone {
    const uint8_t *times;           /* of transitions, big-endian, time_size bytes each */
    const uint8_t *kinds;           /* which type begins at each */
    const uint8_t *types;           /* six bytes each: offset, daylight, place of the name */
    const char *names;
    uint32_t time_count, type_count, name_size;
    uint8_t time_size;
    ZoneRule rule;
} Timezone;

/* A stretch of time through which the offset does not change. */
typedef struct ZoneSpan {
    int64_t from_s, until_s;        /* the second one is outside; INT64_MIN and INT64_MAX where it has no end */
    int32_t offset_s;               /* east of Greenwich */
    bool is_daylight;
    Str name;                       /* "CET" */
} ZoneSpan;

bool            timezone_name_is_valid(Str name);       /* no path out of the database: "Area/Place" */
Timezone        timezone_utc(void);
MUST_USE Status timezone_read(Str tzif, Timezone *out_zone, Error *err);
ZoneSpan        timezone_at(const Timezone *zone, int64_t unix_s);

#endif
