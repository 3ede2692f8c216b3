#include <inttypes.h>

#include "base/limits.h"
#include "base/utf8.h"
#include "cli/draw/label.h"
#include "cli/draw/mark.h"
#include "cli/draw/svg.h"

Status draw_svg(const Drawing *drawing, Error *err)
{
    return drawing->plan->kind == PLAN_STEP_TREE ? svg_tree(drawing, err) : svg_layers(drawing, err);
}

Status svg_refuse(uint64_t count, Error *err)
{
    return error_set(err, ERR_LIMIT,
                     "a picture has at most DRAW_SVG_COUNT_MAX (%u) boxes, and this plan needs %" PRIu64
                     "; the formats text and dot have no such limit", DRAW_SVG_COUNT_MAX, count);
}

/* --- text -------------------------------------------------------------------------------------------------------- */

static const struct { const char *name; int32_t size; bool is_bold; } fonts[FONT_COUNT] = {
    [FONT_TITLE] = { "title", 18, true }, [FONT_NAME] = { "name", 14, true },   [FONT_ROW] = { "row", 13, false },
    [FONT_FAINT] = { "faint", 12, false }, [FONT_LABEL] = { "label", 12, false }, [FONT_MARK] = { "mark", 13, true },
    [FONT_LOOP] = { "loop-text", 12, false },
};

/* Hundredths of the font's size that a character is wide at most, in the usual sans-serif fonts. */
static int32_t char_width(uint32_t point, size_t columns)
{
    static const char narrow[] = " !'(),-./:;I[]`fijlrt|", wide[] = "%@MWmw";
    if (columns != 1) return columns == 0 ? 0 : 105;
    if (point >= 0x80) return point < 0x2000 ? 75 : 92;
    for (const char *c = narrow; *c; c++)
        if (point == (unsigned char)*c) return 42;
    for (const char *c = wide; *c; c++)
        if (point == (unsigned char)*c) return 100;
    return ascii_is_upper((char)point) ? 79 : 65;
}

int32_t svg_text_width(Str text, SvgFont font)
{
    int32_t width = 0;
    for (size_t at = 0; at < text.len;) {
        uint32_t point = 0;
        size_t size = utf8_decode(str_slice(text, at, text.len), &point);
        if (size == 0) size = 1;
        width += char_width(point, utf8_width(str_slice(text, at, at + size)));
        at += size;
    }
    width = width * fonts[font].size / 100;
    return fonts[font].is_bold ? width * 108 / 100 : width;
}

void svg_escape(Buf *out, Str text)
{
    for (size_t i = 0; i < text.len; i++) {
        switch (text.ptr[i]) {
        case '&': buf_text(out, "&amp;"); break;
        case '<': buf_text(out, "&lt;"); break;
        case '>': buf_text(out, "&gt;"); break;
        case '"': buf_text(out, "&quot;"); break;
        default: buf_char(out, text.ptr[i]);
        }
    }
}

static void put_text(Buf *out, SvgPoint at, const char *anchor, Str text, SvgFont font)
{
    buf_format(out, "<text class=\"%s\" x=\"%" PRId32 "\" y=\"%" PRId32 "\"%s>", fonts[font].name, at.x, at.y, anchor);
    svg_escape(out, text);
    buf_text(out, "</text>\n");
}

void svg_text(Buf *out, SvgPoint at, Str text, SvgFont font) { put_text(out, at, "", text, font); }

void svg_text_centered(Buf *out, SvgPoint at, Str text, SvgFont font)
{
    put_text(out, at, " text-anchor=\"middle\"", text, font);
}

int32_t svg_marks_width(uint32_t marks)
{
    char storage[64];
    Buf signs = buf_on(storage, sizeof storage);
    mark_print(&signs, marks, /* ascii= */ false);
    return marks ? 8 + svg_text_width(buf_peek(&signs), FONT_MARK) : 0;
}

void svg_marks(Buf *out, SvgPoint right, uint32_t marks)
{
    char storage[64];
    Buf signs = buf_on(storage, sizeof storage);
    mark_print(&signs, marks, /* ascii= */ false);
    if (marks) put_text(out, right, " text-anchor=\"end\"", buf_peek(&signs), FONT_MARK);
}

/* --- shapes ------------------------------------------------------------------------------------------------------ */

void svg_rect(Buf *out, SvgBox box, const char *classes)
{
    buf_format(out, "<rect class=\"%s\" x=\"%" PRId32 "\" y=\"%" PRId32 "\" width=\"%" PRId32 "\" height=\"%" PRId32
                    "\" rx=\"9\"/>\n", classes, box.x, box.y, box.width, box.height);
}

void svg_hexagon(Buf *out, SvgBox box)
{
    int32_t right = box.x + box.width, bottom = box.y + box.height, middle = box.y + box.height / 2;
    int32_t tip = box.height / 2 < SVG_POINT - 4 ? box.height / 2 : SVG_POINT - 4;
    buf_format(out, "<path class=\"branch\" d=\"M%" PRId32 " %" PRId32 "L%" PRId32 " %" PRId32 "H%" PRId32 "L%" PRId32
                    " %" PRId32 "L%" PRId32 " %" PRId32 "H%" PRId32 "Z\"/>\n",
               box.x, middle, box.x + tip, box.y, right - tip, right, middle, right - tip, bottom, box.x + tip);
}

void svg_arrow(Buf *out, SvgPoint tip, bool is_up, bool is_loop)
{
    int32_t base = is_up ? tip.y + SVG_ARROW : tip.y - SVG_ARROW;
    buf_format(out, "<path class=\"%s\" d=\"M%" PRId32 " %" PRId32 "L%" PRId32 " %" PRId32 "L%" PRId32 " %" PRId32
                    "Z\"/>\n", is_loop ? "loop-head" : "head", tip.x - 4, base, tip.x, tip.y, tip.x + 4, base);
}

void svg_path_begin(Buf *out, SvgPoint from, bool is_loop)
{
    buf_format(out, "<path class=\"%s\" d=\"M%" PRId32 " %" PRId32, is_loop ? "loop" : "edge", from.x, from.y);
}

void svg_path_down(Buf *out, SvgPoint from, SvgPoint to)
{
    int32_t middle = from.y + (to.y - from.y) / 2;
    if (from.x == to.x) buf_format(out, "V%" PRId32, to.y);
    else buf_format(out, "C%" PRId32 " %" PRId32 " %" PRId32 " %" PRId32 " %" PRId32 " %" PRId32, from.x, middle, to.x,
                    middle, to.x, to.y);
}

void svg_path_end(Buf *out) { buf_text(out, "\"/>\n"); }

/* --- the frame --------------------------------------------------------------------------------------------------- */

/* Not every program that shows pictures knows variables, so the colours of the dark are a second set of rules. */
static const char style[] =
    "<style>\n"
    ".maestro text{font-family:system-ui,'Segoe UI',Helvetica,Arial,'DejaVu Sans',sans-serif;fill:#1d2730}\n"
    ".maestro .title{font-size:18px;font-weight:600}\n"
    ".maestro .name{font-size:14px;font-weight:600}\n"
    ".maestro .row{font-size:13px;fill:#36424c}\n"
    ".maestro .faint{font-size:12px;fill:#64717c}\n"
    ".maestro .label{font-size:12px;fill:#7a5a00}\n"
    ".maestro .mark{font-size:13px;font-weight:600;fill:#1764a8}\n"
    ".maestro .loop-text{font-size:12px;fill:#7a3fb0}\n"
    ".maestro .page,.maestro .behind{fill:#ffffff}\n"
    ".maestro .box{fill:#f4f6f8;stroke:#8796a3;stroke-width:1.2}\n"
    ".maestro .leaf{fill:#ffffff}\n"
    ".maestro .group{fill:#7c8b98;fill-opacity:.07;stroke:#8796a3;stroke-width:1.2}\n"
    ".maestro .output{stroke:#1f7a3d;stroke-width:2.4}\n"
    ".maestro .optional{stroke-dasharray:5 4}\n"
    ".maestro .rule{stroke:#8796a3;stroke-opacity:.45}\n"
    ".maestro .branch{fill:#fff4d6;stroke:#a87900;stroke-width:1.2}\n"
    ".maestro .edge{fill:none;stroke:#64717c;stroke-width:1.4}\n"
    ".maestro .head{fill:#64717c}\n"
    ".maestro .loop{fill:none;stroke:#7a3fb0;stroke-width:1.4;stroke-dasharray:5 4}\n"
    ".maestro .loop-head{fill:#7a3fb0}\n"
    "@media (prefers-color-scheme:dark){\n"
    ".maestro text{fill:#e4e9ed}\n"
    ".maestro .row{fill:#c3ccd4}\n"
    ".maestro .faint{fill:#93a0ab}\n"
    ".maestro .label{fill:#e3b94f}\n"
    ".maestro .mark{fill:#6cb4f0}\n"
    ".maestro .loop-text{fill:#c39be8}\n"
    ".maestro .page,.maestro .behind{fill:#12171c}\n"
    ".maestro .box{fill:#1c242b;stroke:#596873}\n"
    ".maestro .leaf{fill:#232c34}\n"
    ".maestro .group{stroke:#596873}\n"
    ".maestro .output{stroke:#4fb573}\n"
    ".maestro .rule{stroke:#596873}\n"
    ".maestro .branch{fill:#3a2f10;stroke:#c79a2b}\n"
    ".maestro .edge{stroke:#93a0ab}\n"
    ".maestro .head{fill:#93a0ab}\n"
    ".maestro .loop{stroke:#c39be8}\n"
    ".maestro .loop-head{fill:#c39be8}\n"
    "}\n"
    "</style>\n";

/* The legend's signs flow from left to right; returns the height they take. `out` may be NULL, to measure. */
static int32_t put_legend(Buf *out, int32_t width, uint32_t marks)
{
    int32_t x = 0, y = marks ? SVG_ROW : 0;
    for (Mark i = 0; i < MARK_COUNT; i++) {
        if (!mark_has(marks, i)) continue;
        int32_t taken = 24 + svg_text_width(mark_meaning(i), FONT_FAINT);
        if (x > 0 && x + taken > width) {
            x = 0;
            y += SVG_ROW;
        }
        if (out) svg_text(out, (SvgPoint){ x, y }, mark_sign(i, /* ascii= */ false), FONT_MARK);
        if (out) svg_text(out, (SvgPoint){ x + 16, y }, mark_meaning(i), FONT_FAINT);
        x += taken;
    }
    return marks ? y + 10 : 0;
}

static int32_t whole_width(const Drawing *drawing, SvgSize size)
{
    Str title = label_clean(drawing->arena, drawing_title(drawing->plan), /* ascii= */ false);
    Str summary = drawing_summary(drawing->plan, drawing->arena);
    title = label_cut(drawing->arena, title, SVG_NAME_WIDTH, /* ascii= */ false);
    int32_t width = svg_text_width(title, FONT_TITLE), other = svg_text_width(summary, FONT_FAINT);
    if (width < other) width = other;
    return width < size.width ? size.width : width;
}

void svg_begin(const Drawing *drawing, SvgSize size, uint32_t marks)
{
    Buf *out = drawing->out;
    Str full = label_clean(drawing->arena, drawing_title(drawing->plan), /* ascii= */ false);
    Str title = label_cut(drawing->arena, full, SVG_NAME_WIDTH, /* ascii= */ false);
    Str summary = drawing_summary(drawing->plan, drawing->arena);
    int32_t inner = whole_width(drawing, size), width = inner + 2 * SVG_MARGIN;
    int32_t height = SVG_HEADING + size.height + put_legend(NULL, inner, marks) + 2 * SVG_MARGIN;
    char id_storage[16];
    Buf digits = buf_on(id_storage, sizeof id_storage);
    buf_hex(&digits, drawing->plan->digest.bytes, 6);
    Str id = buf_peek(&digits);
    buf_text(out, "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"maestro\"");
    buf_format(out, " width=\"%" PRId32 "\" height=\"%" PRId32 "\"", width, height);
    buf_format(out, " viewBox=\"0 0 %" PRId32 " %" PRId32 "\"", width, height);
    buf_format(out, " role=\"img\" aria-labelledby=\"t-%.*s d-%.*s\">\n", STR_ARG(id), STR_ARG(id));
    buf_format(out, "<title id=\"t-%.*s\">", STR_ARG(id));
    svg_escape(out, full);
    buf_format(out, "</title>\n<desc id=\"d-%.*s\">", STR_ARG(id));
    svg_escape(out, summary);
    buf_text(out, "</desc>\n");
    buf_text(out, style);
    buf_format(out, "<rect class=\"page\" width=\"%" PRId32 "\" height=\"%" PRId32 "\"/>\n", width, height);
    svg_text(out, (SvgPoint){ SVG_MARGIN, SVG_MARGIN + 16 }, title, FONT_TITLE);
    svg_text(out, (SvgPoint){ SVG_MARGIN, SVG_MARGIN + 35 }, summary, FONT_FAINT);
    buf_format(out, "<g transform=\"translate(%d %d)\">\n", SVG_MARGIN, SVG_MARGIN + SVG_HEADING);
}

void svg_end(const Drawing *drawing, SvgSize size, uint32_t marks)
{
    buf_text(drawing->out, "</g>\n");
    if (marks) {
        buf_format(drawing->out, "<g transform=\"translate(%d %" PRId32 ")\">\n", SVG_MARGIN,
                   SVG_MARGIN + SVG_HEADING + size.height + 10);
        put_legend(drawing->out, whole_width(drawing, size), marks);
        buf_text(drawing->out, "</g>\n");
    }
    buf_text(drawing->out, "</svg>\n");
}
