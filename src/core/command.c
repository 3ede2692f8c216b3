#include "core/command.h"

static const char *const command_names[COMMAND_KIND_COUNT] = {
    [COMMAND_START] = "start",       [COMMAND_ACCEPT] = "accept",   [COMMAND_REPORT] = "report",
    [COMMAND_EFFECT] = "effect",     [COMMAND_COST] = "cost",       [COMMAND_SIGNAL] = "signal", [COMMAND_TRIGGER] = "trigger",
    [COMMAND_TIMER] = "timer",       [COMMAND_ORPHANED] = "orphaned", [COMMAND_SPENT] = "spent", [COMMAND_RECOVER] = "recover",
    [COMMAND_RELEASE] = "release",
    [COMMAND_PAUSE] = "pause",       [COMMAND_RESUME] = "resume",   [COMMAND_CANCEL] = "cancel",
    [COMMAND_RESOLVE] = "resolve",   [COMMAND_RETRY_FROM] = "retry-from", [COMMAND_COMPENSATE] = "compensate",
    [COMMAND_RETRY_COMPENSATION] = "retry-compensation", [COMMAND_SKIP_COMPENSATION] = "skip-compensation",
    [COMMAND_REBIND] = "rebind",
};

static const char *const signal_names[SIGNAL_KIND_COUNT] = {
    [SIGNAL_HEALTH] = "health",     [SIGNAL_ANOMALY] = "anomaly",   [SIGNAL_MILESTONE] = "milestone",
    [SIGNAL_APPROVAL] = "approval", [SIGNAL_OPERATOR] = "operator",
};

const char *command_kind_name(CommandKind kind)
{
    return command_names[kind];
}

const char *signal_kind_name(SignalKind kind)
{
    return signal_names[kind];
}

bool signal_kind_find(Str name, SignalKind *out_kind)
{
    for (int kind = 0; kind < SIGNAL_KIND_COUNT; kind++) {
        if (!str_is_text(name, signal_names[kind])) continue;
        *out_kind = (SignalKind)kind;
        return true;
    }
    return false;
}
