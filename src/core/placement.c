#include "core/placement.h"

#include "base/limits.h"

#define PART_BEST 1000u
#define HOME_SCORE 10000u               /* above what all parts together reach */
#define COST_UNIT_MICRO 10000           /* a hundredth: so that what costs nothing has a share, too */

static const char *const reason_names[PLACEMENT_REASON_COUNT] = {
    [PLACEMENT_FITS] = "lower score", [PLACEMENT_TENANT] = "not for tenant", [PLACEMENT_REGION] = "region",
    [PLACEMENT_CLOUD] = "cloud", [PLACEMENT_TENANCY] = "tenancy", [PLACEMENT_CAPABILITY] = "lacks",
    [PLACEMENT_SOVEREIGNTY] = "data sovereignty", [PLACEMENT_HELD] = "circuit or rate", [PLACEMENT_REFUSING] = "refuses",
    [PLACEMENT_FULL] = "no room", [PLACEMENT_FAILED] = "the last try failed there",
};

const char *placement_reason_name(PlacementReason reason) { return reason_names[reason]; }

uint32_t placement_mark(Str name)
{
    uint32_t mark = UINT32_C(0x811c9dc5);
    for (size_t i = 0; i < name.len; i++) mark = (mark ^ (uint8_t)name.ptr[i]) * UINT32_C(0x01000193);
    return mark ? mark : 1;
}

/* --- constraints ------------------------------------------------------------------------------------------------------- */

static bool list_has(Value list, Str name)
{
    for (uint32_t i = 0; list.kind == VALUE_ARRAY && i < list.count; i++)
        if (list.items[i].kind == VALUE_STRING && str_is(value_text(list.items[i]), name)) return true;
    return false;
}

/* Data that may be in `eu` may be in `eu-west`. */
static bool is_within(Str region, Str tag)
{
    bool is_longer = region.len > tag.len && str_starts(region, tag);
    return str_is(region, tag) || (is_longer && (region.ptr[tag.len] == '-' || region.ptr[tag.len] == '.'));
}

static bool sovereign(Value tags, Str region)
{
    for (uint32_t i = 0; tags.kind == VALUE_ARRAY && i < tags.count; i++)
        if (tags.items[i].kind == VALUE_STRING && is_within(region, value_text(tags.items[i]))) return true;
    return false;
}

static PlacementReason wrong(Candidate *candidate, PlacementReason reason, Str what)
{
    candidate->what = what;
    return reason;
}

static PlacementReason check_requires(Candidate *candidate, Value names)
{
    for (uint32_t i = 0; names.kind == VALUE_ARRAY && i < names.count; i++)
        if (!list_has(candidate->site->capabilities, value_text(names.items[i])))
            return wrong(candidate, PLACEMENT_CAPABILITY, value_text(names.items[i]));
    return PLACEMENT_FITS;
}

/* One object of constraints; those that `bound` has are met there and not here. */
static PlacementReason check_part(Candidate *candidate, Value part, Value bound)
{
    const Site *site = candidate->site;
    const Value *regions = value_get_text(bound, "regions") ? NULL : value_get_text(part, "regions");
    const Value *clouds = value_get_text(bound, "clouds") ? NULL : value_get_text(part, "clouds");
    const Value *needs = value_get_text(bound, "requires") ? NULL : value_get_text(part, "requires");
    const Value *tags = value_get_text(part, "data_sovereignty");
    if (regions && !list_has(*regions, site->region)) return wrong(candidate, PLACEMENT_REGION, site->region);
    if (clouds && !list_has(*clouds, site->cloud)) return wrong(candidate, PLACEMENT_CLOUD, site->cloud);
    if (str_is(value_get_string(part, "tenancy", STR("shared")), STR("dedicated")) && !site->is_dedicated)
        return wrong(candidate, PLACEMENT_TENANCY, STR("shared"));
    if (tags && tags->count && !sovereign(*tags, site->region)) return wrong(candidate, PLACEMENT_SOVEREIGNTY, site->region);
    return needs ? check_requires(candidate, *needs) : PLACEMENT_FITS;
}

static PlacementReason check_site(const PlacementAsk *ask, Candidate *candidate)
{
    if (!candidate->site) return PLACEMENT_FITS;
    if (candidate->site->tenants.kind == VALUE_ARRAY && !list_has(candidate->site->tenants, ask->tenant))
        return wrong(candidate, PLACEMENT_TENANT, ask->tenant);
    PlacementReason reason = PLACEMENT_FITS;
    for (uint32_t i = 0; ask->terms && i < ask->terms->count && !reason; i++) reason = check_part(candidate, ask->terms->parts[i], ask->bound);
    return reason || ask->bound.kind != VALUE_OBJECT ? reason : check_part(candidate, ask->bound, value_null());
}

/* --- scores ------------------------------------------------------------------------------------------------------------- */

static uint32_t required_count(const PlacementAsk *ask)
{
    const Value *bound = value_get_text(ask->bound, "requires");
    uint32_t count = bound && bound->kind == VALUE_ARRAY ? bound->count : 0;
    for (uint32_t i = 0; !bound && ask->terms && i < ask->terms->count; i++) {
        const Value *names = value_get_text(ask->terms->parts[i], "requires");
        if (names && names->kind == VALUE_ARRAY) count += names->count;
    }
    return count;
}

/* Who has more than is needed is left to who needs it. */
static uint32_t fit_part(const Site *site, uint32_t required)
{
    uint32_t has = site && site->capabilities.kind == VALUE_ARRAY ? site->capabilities.count : 0;
    return PART_BEST / (1 + (has > required ? has - required : 0));
}

static int64_t cost_of(const Candidate *candidate)
{
    return COST_UNIT_MICRO + (candidate->site && candidate->site->cost_micro > 0 ? candidate->site->cost_micro : 0);
}

static void score_all(const PlacementAsk *ask, Candidate *candidates, uint32_t count)
{
    uint32_t required = required_count(ask);
    int64_t cheapest = INT64_MAX;
    uint64_t fastest = UINT64_MAX;
    for (uint32_t i = 0; i < count; i++) {
        if (candidates[i].reason) continue;
        if (cost_of(&candidates[i]) < cheapest) cheapest = cost_of(&candidates[i]);
        if (candidates[i].latency_ms < fastest) fastest = candidates[i].latency_ms;
    }
    for (uint32_t i = 0; i < count; i++) {
        Candidate *candidate = &candidates[i];
        if (candidate->reason) continue;
        uint32_t room = candidate->taken < PART_BEST ? PART_BEST - candidate->taken : 0;
        candidate->score = fit_part(candidate->site, required) + (uint32_t)(PART_BEST * (fastest + 1) / ((uint64_t)candidate->latency_ms + 1))
                         + (uint32_t)(PART_BEST * (uint64_t)cheapest / (uint64_t)cost_of(candidate)) + room;
        if (candidate->is_home && !candidate->is_last) candidate->score += HOME_SCORE;
    }
}

static uint32_t best_of(const Candidate *candidates, uint32_t count, bool is_last_too)
{
    uint32_t best = PLACEMENT_NONE;
    for (uint32_t i = 0; i < count; i++) {
        if (candidates[i].reason || (candidates[i].is_last && !is_last_too)) continue;
        if (best == PLACEMENT_NONE || candidates[i].score > candidates[best].score) best = i;
    }
    return best;
}

uint32_t placement_choose(const PlacementAsk *ask, Candidate *candidates, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        PlacementReason reason = check_site(ask, &candidates[i]);
        if (reason) candidates[i].reason = reason;              /* I26: whoever does not meet them is out, whatever its health */
    }
    score_all(ask, candidates, count);
    uint32_t chosen = best_of(candidates, count, /* is_last_too= */ false);
    if (chosen == PLACEMENT_NONE) return best_of(candidates, count, /* is_last_too= */ true);
    for (uint32_t i = 0; i < count; i++)
        if (candidates[i].is_last && !candidates[i].reason) candidates[i].reason = PLACEMENT_FAILED;
    return chosen;
}

bool placement_may_wait(const Candidate *candidates, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (candidates[i].reason == PLACEMENT_FITS || candidates[i].reason >= PLACEMENT_HELD) return true;
    return false;
}

/* --- reasons ------------------------------------------------------------------------------------------------------------- */

static void print_rejected(Buf *out, const Candidate *candidate, uint32_t nth)
{
    buf_text(out, nth ? ", " : "not ");
    buf_str(out, candidate->name);
    buf_text(out, ": ");
    buf_text(out, reason_names[candidate->reason]);
    bool is_unknown = candidate->reason == PLACEMENT_REGION || candidate->reason == PLACEMENT_CLOUD || candidate->reason == PLACEMENT_SOVEREIGNTY;
    if (candidate->what.len) buf_char(out, ' '), buf_str(out, candidate->what);
    else if (is_unknown) buf_text(out, " not told");
}

void placement_print(Buf *out, const Candidate *candidates, uint32_t count, uint32_t chosen)
{
    uint32_t rejected = 0, scored = 0;
    if (chosen != PLACEMENT_NONE) {
        buf_format(out, "%.*s %u", STR_ARG(candidates[chosen].name), candidates[chosen].score);
        scored++;
    }
    for (uint32_t i = 0; i < count; i++)
        if (i != chosen && !candidates[i].reason)
            buf_format(out, "%s%.*s %u", scored++ ? ", " : "", STR_ARG(candidates[i].name), candidates[i].score);
    for (uint32_t i = 0; i < count; i++) {
        if (!candidates[i].reason || candidates[i].reason == PLACEMENT_TENANT) continue;       /* to the tenant there is no such executor */
        if (!rejected && scored) buf_text(out, "; ");
        print_rejected(out, &candidates[i], rejected++);
    }
    for (uint32_t i = 0; i < count && chosen != PLACEMENT_NONE; i++)
        if (candidates[i].is_last && i != chosen) buf_format(out, "; rerouted from %.*s", STR_ARG(candidates[i].name));
}

/* --- what a person binds a run to ------------------------------------------------------------------------------------------ */

Status placement_check_bound(Value bound, Error *err)
{
    if (bound.kind != VALUE_OBJECT) return error_set(err, ERR_INVALID, "a placement is an object with any of regions, clouds, requires");
    for (uint32_t i = 0; i < bound.count; i++) {
        Str key = value_text(bound.members[i].key);
        Value names = bound.members[i].value;
        bool is_known = str_is_text(key, "regions") || str_is_text(key, "clouds") || str_is_text(key, "requires");
        if (!is_known) return error_set(err, ERR_INVALID, "a placement has regions, clouds and requires, and no '%.*s'", STR_ARG(key));
        if (names.kind != VALUE_ARRAY || names.count == 0 || names.count > PLACEMENT_NAME_COUNT_MAX)
            return error_set(err, ERR_INVALID, "'%.*s' is a list of 1 to PLACEMENT_NAME_COUNT_MAX (%u) names",
                             STR_ARG(key), PLACEMENT_NAME_COUNT_MAX);
        for (uint32_t j = 0; j < names.count; j++)
            if (names.items[j].kind != VALUE_STRING || names.items[j].count == 0 || names.items[j].count > NAME_SIZE_MAX)
                return error_set(err, ERR_INVALID, "a name in '%.*s' is a text of 1 to NAME_SIZE_MAX (%u) bytes", STR_ARG(key), NAME_SIZE_MAX);
    }
    return OK;
}
