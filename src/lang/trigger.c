#include "lang/trigger.h"

#include <inttypes.h>

#include "base/limits.h"
#include "lang/shape.h"

void trigger_check(Compiler *compiler, const Node *settings)
{
    const Node *rate = get_text(settings, "rate_limit"), *window = get_text(settings, "replay_window");
    int64_t count = TRIGGER_RATE_COUNT, per_ms = TRIGGER_RATE_MS, window_ms = TRIGGER_WINDOW_MS;
    if (rate && !rate_read(node_text(rate), &count, &per_ms)) return;              /* told already */
    if (window && !duration_read(node_text(window), &window_ms)) return;
    int64_t spans = 2 * window_ms / per_ms + 2, most = TRIGGER_REPLAY_COUNT_MAX / spans;
    if (count <= most) return;
    Diagnostic *diagnostic = diagnose(compiler->diagnostics, SEVERITY_ERROR, rate ? rate : window,
                                      "within the replay_window more requests would come than TRIGGER_REPLAY_COUNT_MAX (%u), which are remembered",
                                      TRIGGER_REPLAY_COUNT_MAX);
    if (most)
        diagnostic_help(compiler->diagnostics, diagnostic, "with this replay_window a rate_limit of %" PRId64
                        " in that time is possible; or shorten the window", most);
    else diagnostic_help(compiler->diagnostics, diagnostic, "shorten the replay_window");
}

void triggers_check(Compiler *compiler)
{
    const Node *triggers = get_list(compiler->root, "triggers");
    for (uint32_t i = 0; triggers && i < triggers->count; i++) {
        const Node *trigger = &triggers->items[i];
        for (uint32_t k = 0; trigger->kind == NODE_MAP && k < trigger->count; k++)
            if (node_value(trigger, k)->kind == NODE_MAP) trigger_check(compiler, node_value(trigger, k));
    }
}
