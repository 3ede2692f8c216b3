#include "core/cron.h"

#include <string.h>

#include "base/utf8.h"
#include "value/canonical.h"

typedef enum CronField { SECOND, MINUTE, HOUR, DAY, MONTH, WEEKDAY, FIELD_COUNT } CronField;

typedef struct FieldRule {
    const char *what;
    uint8_t min, max;
    const char *names;          /* three letters each, the first standing for `min` */
} FieldRule;

static const FieldRule rules[FIELD_COUNT] = {
    [SECOND] = { "second", 0, 59, "" },
    [MINUTE] = { "minute", 0, 59, "" },
    [HOUR] = { "hour", 0, 23, "" },
    [DAY] = { "day of month", 1, 31, "" },
    [MONTH] = { "month", 1, 12, "JANFEBMARAPRMAYJUNJULAUGSEPOCTNOVDEC" },
    [WEEKDAY] = { "day of week", 0, 7, "SUNMONTUEWEDTHUFRISAT" },
};

typedef struct Scan {
    Str text;                   /* one field */
    size_t at;
    size_t begin;               /* of the field within the expression */
    CronField field;
    uint64_t set;
    Str seed;
    Cron *cron;
    Error *err;
} Scan;

static Status refuse(const Scan *scan, const char *what)
{
    return error_at(scan->err, ERR_INVALID, 1, (uint32_t)(scan->begin + scan->at + 1), "%s: %s",
                    rules[scan->field].what, what);
}

static char peek(const Scan *scan)
{
    return scan->at < scan->text.len ? scan->text.ptr[scan->at] : '\0';
}

static bool take(Scan *scan, char c)
{
    if (peek(scan) != c) return false;
    scan->at++;
    return true;
}

static bool ends_part(const Scan *scan)
{
    return scan->at == scan->text.len || peek(scan) == ',';
}

static char upper(char c) { return ascii_is_lower(c) ? (char)(c - 'a' + 'A') : c; }

/* A number, or the name of a month or day. */
static Status read_number(Scan *scan, unsigned *out)
{
    const FieldRule *rule = &rules[scan->field];
    size_t from = scan->at;
    while (ascii_is_digit(peek(scan))) scan->at++;
    if (scan->at > from) {
        uint64_t number;
        Str digits = str_slice(scan->text, from, scan->at);
        if (digits.len > 4 || !str_to_u64(digits, &number)) return refuse(scan, "the number is too long");
        *out = (unsigned)number;
        return OK;
    }
    for (unsigned i = 0; *rule->names && scan->at + 3 <= scan->text.len && rule->names[3 * i]; i++) {
        bool matches = true;
        for (unsigned j = 0; j < 3; j++) matches &= upper(scan->text.ptr[scan->at + j]) == rule->names[3 * i + j];
        if (!matches) continue;
        scan->at += 3;
        *out = rule->min + i;
        return OK;
    }
    return refuse(scan, *rule->names ? "expected a number, a name, or *" : "expected a number or *");
}

static Status in_range(const Scan *scan, unsigned number)
{
    const FieldRule *rule = &rules[scan->field];
    if (number >= rule->min && number <= rule->max) return OK;
    return error_at(scan->err, ERR_INVALID, 1, (uint32_t)(scan->begin + 1), "%s: %u is not from %u to %u", rule->what,
                    number, rule->min, rule->max);
}

static Status read_step(Scan *scan, unsigned *out_step)
{
    *out_step = 1;
    if (!take(scan, '/')) return OK;
    if (!ascii_is_digit(peek(scan))) return refuse(scan, "a step is a number");
    Status status = read_number(scan, out_step);
    if (!status && *out_step == 0) return refuse(scan, "a step is at least 1");
    return status;
}

static void add_range(Scan *scan, unsigned low, unsigned high, unsigned step)
{
    for (unsigned n = low; n <= high; n += step) scan->set |= UINT64_C(1) << n;
}

/* A step on * in the day of week runs over Sunday to Saturday once. */
static unsigned field_top(CronField field)
{
    return field == WEEKDAY ? 6 : rules[field].max;
}

/* The hash of the seed and the field: stable for a workflow, spread over workflows. */
static uint64_t seed_hash(const Scan *scan)
{
    char storage[1024];
    size_t size = scan->seed.len < sizeof storage - 1 ? scan->seed.len : sizeof storage - 1;
    if (size) memcpy(storage, scan->seed.ptr, size);
    storage[size] = (char)scan->field;
    Digest digest = digest_of((Str){ storage, size + 1 });
    uint64_t hash;
    memcpy(&hash, digest.bytes, sizeof hash);
    return hash;
}

/* H, H/n, H(a-b), H(a-b)/n. A hashed day of month stays within 1-28, which every month has. */
static Status read_hashed(Scan *scan)
{
    unsigned low = rules[scan->field].min, high = scan->field == DAY ? 28 : field_top(scan->field), step;
    if (take(scan, '(')) {
        Status status = read_number(scan, &low);
        if (!status && !take(scan, '-')) status = refuse(scan, "H( needs a range such as H(0-29)");
        if (!status) status = read_number(scan, &high);
        if (!status && !take(scan, ')')) status = refuse(scan, "a ')' is missing");
        if (!status) status = in_range(scan, low);
        if (!status) status = in_range(scan, high);
        if (!status && low > high) status = refuse(scan, "the range runs backwards");
        if (status) return status;
    }
    bool stepped = peek(scan) == '/';
    Status status = read_step(scan, &step);
    if (status) return status;
    if (stepped && step > high - low + 1) return refuse(scan, "the step is larger than the range");
    uint64_t hash = seed_hash(scan);
    if (stepped) add_range(scan, low + (unsigned)(hash % step), high, step);
    else scan->set |= UINT64_C(1) << (low + (unsigned)(hash % (high - low + 1)));
    return OK;
}

/* L, L-3, LW: day of month. */
static Status read_last_day(Scan *scan)
{
    scan->at++;
    if (take(scan, 'W') || take(scan, 'w')) {
        scan->cron->last_workday = true;
    } else if (take(scan, '-')) {
        unsigned offset;
        Status status = read_number(scan, &offset);
        if (status) return status;
        if (offset == 0 || offset > 30) return refuse(scan, "L- takes 1 to 30 days");
        scan->cron->last_day = true;
        scan->cron->last_day_offset = (uint8_t)offset;
    } else {
        scan->cron->last_day = true;
    }
    return ends_part(scan) ? OK : refuse(scan, "nothing may follow L here");
}

/* Behind a single number: 15W, 5L, FRI#2. True in *out_taken where one of them stood there. */
static Status read_suffix(Scan *scan, unsigned number, bool *out_taken)
{
    char c = upper(peek(scan));
    *out_taken = true;
    if (c == 'W' && scan->field == DAY) {
        scan->at++;
        scan->cron->near_workdays |= UINT32_C(1) << number;
    } else if (c == 'L' && scan->field == WEEKDAY) {
        scan->at++;
        scan->cron->last_weekdays |= (uint8_t)(1u << number % 7);
    } else if (c == '#' && scan->field == WEEKDAY) {
        scan->at++;
        unsigned nth = 0;
        if (!ascii_is_digit(peek(scan))) return refuse(scan, "# is followed by 1 to 5");
        Status status = read_number(scan, &nth);
        if (status) return status;
        if (nth < 1 || nth > 5) return refuse(scan, "# is followed by 1 to 5");
        scan->cron->nth_weekdays[number % 7] |= (uint8_t)(1u << nth);
    } else {
        *out_taken = false;
    }
    return OK;
}

static Status read_part(Scan *scan)
{
    unsigned low, high, step;
    char c = peek(scan);
    if (c == '*' || (c == '?' && (scan->field == DAY || scan->field == WEEKDAY))) {
        scan->at++;
        Status status = read_step(scan, &step);
        if (status) return status;
        add_range(scan, rules[scan->field].min, field_top(scan->field), step);
        return OK;
    }
    if (c == 'H') {
        scan->at++;
        return read_hashed(scan);
    }
    if (upper(c) == 'L' && scan->field == DAY) return read_last_day(scan);
    Status status = read_number(scan, &low);
    if (!status) status = in_range(scan, low);
    if (status) return status;
    bool taken;
    status = read_suffix(scan, low, &taken);
    if (status || taken) return status;
    high = low;
    bool ranged = take(scan, '-');
    if (ranged) {
        status = read_number(scan, &high);
        if (!status) status = in_range(scan, high);
        if (status) return status;
        if (high < low) return refuse(scan, "the range runs backwards");
    }
    bool stepped = peek(scan) == '/';
    status = read_step(scan, &step);
    if (status) return status;
    if (stepped && !ranged) high = field_top(scan->field) > low ? field_top(scan->field) : low;
    add_range(scan, low, high, step);
    return OK;
}

static Status read_field(Scan *scan)
{
    do {
        Status status = read_part(scan);
        if (status) return status;
    } while (take(scan, ','));
    if (scan->at < scan->text.len) return refuse(scan, "this character has no meaning here");
    return OK;
}

static void store_field(Cron *cron, CronField field, uint64_t set, Str text)
{
    bool is_bare = str_is(text, STR("*")) || str_is(text, STR("?"));
    switch (field) {
    case SECOND: cron->seconds = set; break;
    case MINUTE:
        cron->minutes = set;
        cron->is_fixed = text.ptr[0] != '*';
        break;
    case HOUR:
        cron->hours = (uint32_t)set;
        cron->is_fixed &= text.ptr[0] != '*';
        break;
    case DAY:
        cron->days = (uint32_t)set;
        cron->any_day = is_bare;
        break;
    case MONTH: cron->months = (uint32_t)set; break;
    case WEEKDAY:
        cron->weekdays = (uint8_t)((set | set >> 7) & 0x7f);        /* 7 is Sunday too */
        cron->any_weekday = is_bare;
        break;
    case FIELD_COUNT: break;
    }
}

static const struct { Str macro, text; } macros[] = {
    { STR_INIT("@yearly"), STR_INIT("0 0 1 1 *") },   { STR_INIT("@annually"), STR_INIT("0 0 1 1 *") },
    { STR_INIT("@monthly"), STR_INIT("0 0 1 * *") },  { STR_INIT("@weekly"), STR_INIT("0 0 * * 0") },
    { STR_INIT("@daily"), STR_INIT("0 0 * * *") },    { STR_INIT("@midnight"), STR_INIT("0 0 * * *") },
    { STR_INIT("@hourly"), STR_INIT("0 * * * *") },
};

static bool is_same_word(Str a, Str b)
{
    if (a.len != b.len) return false;
    for (size_t i = 0; i < a.len; i++)
        if (ascii_to_lower(a.ptr[i]) != b.ptr[i]) return false;
    return true;
}

Status cron_parse(Str text, Str seed, Cron *out_cron, Error *err)
{
    Str trimmed = str_trim(text);
    if (trimmed.len && trimmed.ptr[0] == '@') {
        for (size_t i = 0; i < sizeof macros / sizeof *macros; i++)
            if (is_same_word(trimmed, macros[i].macro)) return cron_parse(macros[i].text, seed, out_cron, err);
        return error_at(err, ERR_INVALID, 1, 1, "there is no macro '%.*s'", STR_ARG(utf8_head(trimmed, 40)));
    }

    Str fields[FIELD_COUNT];
    size_t begins[FIELD_COUNT], count = 0;
    for (size_t at = 0; at < text.len;) {
        while (at < text.len && (text.ptr[at] == ' ' || text.ptr[at] == '\t')) at++;
        size_t from = at;
        while (at < text.len && text.ptr[at] != ' ' && text.ptr[at] != '\t') at++;
        if (at == from) break;
        if (count == FIELD_COUNT)
            return error_at(err, ERR_INVALID, 1, (uint32_t)from + 1, "there are more than six fields");
        begins[count] = from;
        fields[count++] = str_slice(text, from, at);
    }
    if (count < 5)
        return error_at(err, ERR_INVALID, 1, 1, "five fields are needed (minute hour day month weekday), here are %zu",
                        count);

    Cron cron = { .seconds = 1 };
    size_t skip = FIELD_COUNT - count;          /* without seconds the first field is the minute */
    for (size_t i = 0; i < count; i++) {
        Scan scan = { .text = fields[i],
                      .begin = begins[i],
                      .field = (CronField)(i + skip),
                      .seed = seed,
                      .cron = &cron,
                      .err = err };
        Status status = read_field(&scan);
        if (status) return status;
        store_field(&cron, scan.field, scan.set, fields[i]);
    }
    *out_cron = cron;
    return OK;
}

/* Days of the month restrict alone only where the weekday does not: otherwise either may match. */
bool cron_can_fire(const Cron *cron)
{
    static const unsigned char days[] = { 0, 31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
    bool by_day_alone = !cron->any_day && cron->any_weekday;
    if (!by_day_alone || cron->last_day || cron->last_workday) return true;
    for (unsigned month = 1; month <= 12; month++) {
        uint32_t possible = (uint32_t)((UINT64_C(1) << (days[month] + 1)) - 2);
        if ((cron->months >> month & 1) && ((cron->days | cron->near_workdays) & possible)) return true;
    }
    return false;
}
