#include "cli/draw/draw.h"

#include "base/limits.h"
#include "cli/draw/drawing.h"
#include "cli/draw/label.h"

static const struct {
    const char *name;
    Status (*draw)(const Drawing *drawing, Error *err);
} formats[DRAW_FORMAT_COUNT] = {
    [DRAW_TEXT]    = { "text", draw_text },
    [DRAW_MERMAID] = { "mermaid", draw_mermaid },
    [DRAW_DOT]     = { "dot", draw_dot },
    [DRAW_SVG]     = { "svg", draw_svg },
};

const char *draw_format_name(DrawFormat format) { return formats[format].name; }

bool draw_format_from(Str name, DrawFormat *out_format)
{
    for (DrawFormat i = 0; i < DRAW_FORMAT_COUNT; i++) {
        if (!str_is_text(name, formats[i].name)) continue;
        *out_format = i;
        return true;
    }
    return false;
}

Status draw_plan(const Plan *plan, const DrawOptions *options, Arena *scratch, Buf *out, Error *err)
{
    uint32_t width = options->width ? options->width : DRAW_WIDTH_DEFAULT;
    if (width < DRAW_WIDTH_MIN) width = DRAW_WIDTH_MIN;
    if (width > DRAW_WIDTH_MAX) width = DRAW_WIDTH_MAX;
    Drawing drawing = {
        .plan = plan, .arena = scratch, .out = out, .width = width, .color = options->color, .ascii = options->ascii,
    };
    Status status = formats[options->format].draw(&drawing, err);
    if (!status && buf_overflowed(out))
        status = error_set(err, ERR_LIMIT, "the drawing exceeds the %zu bytes there are for it", out->size_max);
    return status;
}

/* --- what every format says of a plan ---------------------------------------------------------------------------- */

Str drawing_title(const Plan *plan)
{
    return value_get_string(plan->document, "name", plan->id);
}

static void count_add(Buf *buf, uint32_t count, const char *one, const char *many)
{
    buf_text(buf, ", ");
    label_count(buf, count);
    buf_char(buf, ' ');
    buf_text(buf, count == 1 ? one : many);
}

Str drawing_summary(const Plan *plan, Arena *arena)
{
    char storage[128];
    Buf buf = buf_on(storage, sizeof storage);
    buf_text(&buf, plan_kind_name(plan->kind));
    if (plan->job_count) count_add(&buf, plan->job_count, "job", "jobs");
    if (plan->kind == PLAN_RUNBOOK) count_add(&buf, plan->step_count, "artifact", "artifacts");
    else count_add(&buf, plan->step_count, "step", "steps");
    return arena_copy(arena, buf_peek(&buf));
}
