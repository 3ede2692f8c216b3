#include "cli/draw/mark.h"

/* The signs are taken from blocks that terminals draw one column wide; emoji would be two, on some of them. */
static const struct { Str sign, ascii, meaning; } marks[MARK_COUNT] = {
    [MARK_WHEN]         = { STR_INIT("?"), STR_INIT("?"), STR_INIT("runs on a condition") },
    [MARK_COMPENSATION] = { STR_INIT("↶"), STR_INIT("<"), STR_INIT("can be compensated") },
    [MARK_POLL]         = { STR_INIT("↻"), STR_INIT("@"), STR_INIT("polls") },
    [MARK_PAUSE]        = { STR_INIT("‖"), STR_INIT("="), STR_INIT("pauses afterwards") },
    [MARK_SIGNAL]       = { STR_INIT("⚑"), STR_INIT("!"), STR_INIT("waits for a signal") },
    [MARK_POLICY]       = { STR_INIT("§"), STR_INIT("$"), STR_INIT("under a policy") },
    [MARK_OUTPUT]       = { STR_INIT("★"), STR_INIT("*"), STR_INIT("output") },
    [MARK_OPTIONAL]     = { STR_INIT("○"), STR_INIT("o"), STR_INIT("optional") },
};

static const struct { const char *key; Mark mark; } keys[] = {
    { "when", MARK_WHEN },          { "compensation", MARK_COMPENSATION }, { "poll", MARK_POLL },
    { "pause_after", MARK_PAUSE },  { "wait_for_signal", MARK_SIGNAL },    { "policies", MARK_POLICY },
    { "policy", MARK_POLICY },      { "output", MARK_OUTPUT },             { "optional", MARK_OPTIONAL },
};

/* An absent, false or empty setting is none; the number 0 is one. */
static bool says_something(const Value *value)
{
    if (!value || value->kind == VALUE_NULL) return false;
    return value_is_number(*value) || value->count > 0;
}

uint32_t mark_set(Value settings, Value around)
{
    uint32_t set = 0;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const Value *here = value_get_text(settings, keys[i].key), *there = value_get_text(around, keys[i].key);
        bool is_inherited = here && there && value_equals(*here, *there);
        if (says_something(here) && !is_inherited) set |= 1u << keys[i].mark;
    }
    return set;
}

uint32_t mark_width(uint32_t set)
{
    uint32_t width = 0;
    for (Mark i = 0; i < MARK_COUNT; i++) width += mark_has(set, i);
    return width;
}

Str mark_sign(Mark mark, bool ascii) { return ascii ? marks[mark].ascii : marks[mark].sign; }
Str mark_meaning(Mark mark) { return marks[mark].meaning; }

void mark_print(Buf *buf, uint32_t set, bool ascii)
{
    for (Mark i = 0; i < MARK_COUNT; i++)
        if (mark_has(set, i)) buf_str(buf, mark_sign(i, ascii));
}
