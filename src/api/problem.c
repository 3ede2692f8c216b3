#include "api/problem.h"

#include <inttypes.h>

#include "api/problem_pages.h"
#include "base/check.h"
#include "value/json.h"

static const ProblemInfo infos[PROBLEM_KIND_COUNT] = {
#define PROBLEM(NAME, error, type, title, status) { error, type, title, status },
#include "api/problems.def"
};

static const Str pages[PROBLEM_KIND_COUNT] = {
#define PROBLEM(NAME, error, type, title, status) STR_INIT(PROBLEM_PAGE_##NAME),
#include "api/problems.def"
};

const ProblemInfo *problem_info(ProblemKind kind) { return &infos[kind]; }
Str problem_page(ProblemKind kind) { return pages[kind]; }

ProblemKind problem_of(Status status)
{
    static const ProblemKind kinds[STATUS_COUNT] = {
        [ERR_INVALID] = PROBLEM_INVALID,   [ERR_DENIED] = PROBLEM_DENIED, [ERR_NOT_FOUND] = PROBLEM_NOT_FOUND,
        [ERR_CONFLICT] = PROBLEM_CONFLICT, [ERR_LIMIT] = PROBLEM_LIMIT,   [ERR_UNAVAILABLE] = PROBLEM_UNAVAILABLE,
        [ERR_CORRUPT] = PROBLEM_CORRUPT,
    };
    CHECK(status != OK);
    return kinds[status];
}

bool problem_find(Str type, ProblemKind *out_kind)
{
    for (unsigned i = 0; i < PROBLEM_KIND_COUNT; i++) {
        if (!str_is_text(type, infos[i].type)) continue;
        *out_kind = (ProblemKind)i;
        return true;
    }
    return false;
}

void problem_print_json(Buf *out, ProblemKind kind, Str detail, Str instance, const ProblemField *fields, uint32_t field_count)
{
    const ProblemInfo *info = &infos[kind];
    buf_format(out, "{\"error\":\"%s\",\"type\":\"" PROBLEM_TYPE_PREFIX "%s\",\"title\":\"%s\",\"status\":%u,\"detail\":",
               info->error, info->type, info->title, info->status);
    json_print_string(out, detail);
    if (instance.len) {
        buf_text(out, ",\"instance\":");
        json_print_string(out, instance);
    }
    for (uint32_t i = 0; i < field_count; i++) {
        buf_text(out, i ? ",{\"pointer\":" : ",\"errors\":[{\"pointer\":");
        json_print_string(out, fields[i].pointer);
        buf_text(out, ",\"detail\":");
        json_print_string(out, fields[i].detail);
        if (fields[i].line) buf_format(out, ",\"line\":%" PRIu32 ",\"column\":%" PRIu32, fields[i].line, fields[i].column);
        buf_char(out, '}');
    }
    if (field_count) buf_char(out, ']');
    buf_text(out, "}");
}
