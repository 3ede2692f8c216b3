#include "api/decision_terms.h"

enum { TERM_SCOPE = 1, TERM_MODE = 2, TERM_STEP = 4, TERM_INCLUDE_STEP = 8, TERM_STEPS = 16, TERM_UNKNOWN = 32, TERM_PARAMETERS = 64,
       TERM_VERSION = 128 };

/* The documents write FULL, and full is the same (C-49). */
static const char *const decision_words[] = { "RETRY", "RETRY_FROM_STEP", "COMPENSATE", "CANCEL", "MARK_RESOLVED", "retry",
                                              "retry_from_step", "compensate", "cancel", "mark_resolved", NULL };
static const char *const scope_words[] = { "FULL", "PARTIAL", "FROM_STEP", "full", "partial", "from_step", NULL };
static const char *const mode_words[] = { "RETRY_ONLY", "COMPENSATE_THEN_RETRY", "retry_only", "compensate_then_retry", NULL };
static const char *const effect_words[] = { "hold", "compensate", "leave", NULL };

static const struct { unsigned term; const char *name, *sent; const char *const *words; } terms[] = {
    { TERM_SCOPE, "scope", "scope", scope_words },       { TERM_MODE, "mode", "mode", mode_words },
    { TERM_STEP, "step", "name", NULL },                 { TERM_INCLUDE_STEP, "includeStep", "includes", NULL },
    { TERM_STEPS, "steps", "payload", NULL },            { TERM_UNKNOWN, "unknownEffects", "unknown", effect_words },
    { TERM_PARAMETERS, "parameters", "payload", NULL },  { TERM_VERSION, "version", "revision", NULL },
};

/* A petition has one payload: no decision takes both steps and parameters. */
static const unsigned taken[DECISION_KIND_COUNT] = {
    [DECISION_RETRY] = TERM_VERSION,
    [DECISION_RETRY_FROM_STEP] = TERM_STEP | TERM_MODE | TERM_INCLUDE_STEP | TERM_UNKNOWN | TERM_PARAMETERS | TERM_VERSION,
    [DECISION_COMPENSATE] = TERM_SCOPE | TERM_STEP | TERM_STEPS | TERM_UNKNOWN,
};

bool decision_read(Call *call, Value body, DecisionKind *out_decision)
{
    BodyFindings found = { .call = call };
    body_find_word(&found, body, "decision", decision_words);
    return body_is_right(&found) && decision_kind_find(value_get_string(body, "decision", STR("")), out_decision);
}

static void find_not_taken(BodyFindings *found, const char *name, unsigned term, DecisionKind decision)
{
    char storage[128];
    Buf others = buf_on(storage, sizeof storage);
    for (unsigned i = 0; i < DECISION_KIND_COUNT; i++)
        if (taken[i] & term) buf_format(&others, "%s%s", others.len ? " and " : "", decision_kind_name((DecisionKind)i));
    body_find(found, arena_format(&found->call->arena, "/%s", name), "is no term of %s; %.*s take%s it", decision_kind_name(decision),
              STR_ARG(buf_peek(&others)), str_find(buf_peek(&others), ' ', 0) < others.len ? "" : "s");
}

static void find_no_step(BodyFindings *found, Value body, const char *what)
{
    if (!str_trim(value_get_string(body, "step", STR(""))).len) body_find(found, STR("/step"), "is missing: %s", what);
}

/* Which steps are meant is said by the scope: one that does not fit it would be left out, and more undone than was wanted. */
static void look_at_scope(BodyFindings *found, Value body, MemberList *members)
{
    bool has_step = value_get_text(body, "step"), has_steps = value_get_text(body, "steps"), has_scope = value_get_text(body, "scope");
    Str word = has_scope ? value_get_string(body, "scope", STR("")) : has_steps ? STR("PARTIAL") : STR("FULL");
    CompensationScope scope;
    if (!compensation_scope_find(word, &scope)) return;             /* that is told already */
    if (!has_scope) add_member(members, "scope", value_string(word));
    if (has_step && scope != SCOPE_FROM_STEP) body_find(found, STR("/step"), "is taken with the scope FROM_STEP alone");
    if (has_steps && scope != SCOPE_PARTIAL) body_find(found, STR("/steps"), "is taken with the scope PARTIAL alone");
    if (scope == SCOPE_FROM_STEP) find_no_step(found, body, "it names the step from which on is undone");
    if (scope == SCOPE_PARTIAL && !has_steps) body_find(found, STR("/steps"), "is missing: it names the steps that are undone");
}

/* Nothing is undone without: a step that is meant to be would stay as it is. */
static void look_at_mode(BodyFindings *found, Value body)
{
    RetryMode mode;
    bool undoes = retry_mode_find(value_get_string(body, "mode", STR("")), &mode) && mode == COMPENSATE_THEN_RETRY;
    if (value_get_bool(body, "includeStep", false) && !undoes)
        body_find(found, STR("/includeStep"), "is taken with the mode COMPENSATE_THEN_RETRY alone");
}

static void look_at_version(BodyFindings *found, Value body)
{
    const Value *version = value_get_text(body, "version");
    if (version && (version->integer < 1 || version->integer > UINT32_MAX)) body_find(found, STR("/version"), "is a number from 1");
}

bool decision_add_terms(Call *call, Value body, DecisionKind decision, MemberList *members)
{
    BodyFindings found = { .call = call };
    Str reason = value_get_string(body, "reason", STR(""));
    for (size_t i = 0; i < sizeof terms / sizeof *terms; i++) {
        const Value *value = value_get_text(body, terms[i].name);
        if (!value) continue;
        if (!(taken[decision] & terms[i].term)) find_not_taken(&found, terms[i].name, terms[i].term, decision);
        else if (terms[i].words) body_find_word(&found, body, terms[i].name, terms[i].words);
        add_member(members, terms[i].sent, *value);
    }
    look_at_version(&found, body);
    if (decision == DECISION_RETRY_FROM_STEP) find_no_step(&found, body, "it names the step to go back to");
    if (decision == DECISION_RETRY_FROM_STEP) look_at_mode(&found, body);
    if (decision == DECISION_COMPENSATE) look_at_scope(&found, body, members);
    if (reason.len) add_member(members, "reason", value_string(reason));
    return body_is_right(&found);
}
