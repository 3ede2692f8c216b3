/* Mermaid flowcharts.
 *
 * Text stands in double quotes, but Mermaid reads it three times more: for directives (%%{...}%%) before it parses, as
 * Markdown and as HTML afterwards. Its own escape, #number; for a character, is resolved last of all, so every
 * character that could mean something to any of the readers is written that way.
 */
#include <inttypes.h>

#include "cli/draw/drawing.h"
#include "cli/draw/syntax.h"
#include "cli/draw/mark.h"

/* Characters that are punctuation to people only; the others below the letters of the world are written as numbers. */
static bool is_harmless(Str text, size_t at)
{
    char c = text.ptr[at];
    bool follows_word = at > 0 && ascii_is_alnum(text.ptr[at - 1]);
    bool precedes_word = at + 1 < text.len && ascii_is_alnum(text.ptr[at + 1]);
    if ((unsigned char)c >= 0x80 || ascii_is_alnum(c) || c == ' ' || c == ',' || c == '/' || c == '?') return true;
    if (c == '_' || c == '-') return follows_word && precedes_word;     /* else emphasis, a list or a rule */
    if (c == '.') return follows_word && precedes_word && !ascii_is_digit(text.ptr[at - 1]);    /* else "1. " */
    return false;
}

static void put_escaped(Buf *out, Str text)
{
    for (size_t i = 0; i < text.len; i++) {
        if (is_harmless(text, i)) buf_char(out, text.ptr[i]);
        else buf_format(out, "#%u;", (unsigned)(unsigned char)text.ptr[i]);
    }
}

static void put_name(Buf *out, Str name, uint32_t marks)
{
    put_escaped(out, name.len ? name : STR(" "));
    if (marks) buf_char(out, ' ');
    mark_print(out, marks, /* ascii= */ false);
}

static void mermaid_begin(Buf *out, Str title, Str summary)
{
    buf_text(out, "%% ");
    put_escaped(out, title);
    buf_text(out, ", ");
    put_escaped(out, summary);
    buf_text(out, "\nflowchart TD\n");
}

static void put_indent(Buf *out, uint32_t depth) { buf_repeat(out, ' ', 4 + 4 * (size_t)depth); }

static void mermaid_open(Buf *out, const SyntaxGroup *group)
{
    put_indent(out, group->depth);
    buf_format(out, "subgraph g%" PRIu32 "[\"", group->index);
    put_name(out, group->name, group->marks);
    buf_text(out, "\"]\n");
}

static void mermaid_close(Buf *out, uint32_t depth)
{
    put_indent(out, depth);
    buf_text(out, "end\n");
}

static const struct { const char *open, *close; } mermaid_shapes[SHAPE_COUNT] = {
    [SHAPE_TASK] = { "[\"", "\"]" },
    [SHAPE_ARTIFACT] = { "(\"", "\")" },
    [SHAPE_BRANCH] = { "{\"", "\"}" },
    [SHAPE_POINT] = { "((\"", "\"))" },
};

static void mermaid_node(Buf *out, const SyntaxNode *node)
{
    put_indent(out, node->depth);
    buf_format(out, "s%" PRIu32 "%s", node->step, mermaid_shapes[node->shape].open);
    put_name(out, node->name, node->marks);
    if (node->detail.len) {
        buf_text(out, "<br/>");
        put_escaped(out, node->detail);
    }
    buf_text(out, mermaid_shapes[node->shape].close);
    static const char *const classes[2][2] = { { "", ":::optional" }, { ":::output", ":::outputOptional" } };
    buf_text(out, classes[mark_has(node->marks, MARK_OUTPUT)][mark_has(node->marks, MARK_OPTIONAL)]);
    buf_char(out, '\n');
}

static const char *const mermaid_lines[LINE_COUNT] = { [LINE_FLOW] = "-->", [LINE_DATA] = "-.-", [LINE_LOOP] = "-.->" };

static void mermaid_edge(Buf *out, const SyntaxEdge *edge)
{
    buf_format(out, "    s%" PRIu32 " %s", edge->from, mermaid_lines[edge->kind]);
    if (edge->label.len) {
        buf_text(out, "|\"");
        put_escaped(out, edge->label);
        buf_text(out, "\"|");
    }
    buf_format(out, " s%" PRIu32 "\n", edge->to);
}

/* The legend is a node that no edge leads to. */
static void mermaid_end(Buf *out, uint32_t marks)
{
    if (mark_has(marks, MARK_OUTPUT) || mark_has(marks, MARK_OPTIONAL))
        buf_text(out, "    classDef output stroke-width:3px\n"
                      "    classDef optional stroke-dasharray:5 4\n"
                      "    classDef outputOptional stroke-width:3px,stroke-dasharray:5 4\n");
    if (marks == 0) return;
    buf_text(out, "    legend[\"");
    bool is_first = true;
    for (Mark i = 0; i < MARK_COUNT; i++) {
        if (!mark_has(marks, i)) continue;
        if (!is_first) buf_text(out, "<br/>");
        put_escaped(out, mark_sign(i, /* ascii= */ false));
        buf_char(out, ' ');
        buf_str(out, mark_meaning(i));
        is_first = false;
    }
    buf_text(out, "\"]:::legend\n    classDef legend fill:none,stroke:none\n");
}

Status draw_mermaid(const Drawing *drawing, Error *err)
{
    (void)err;
    static const Syntax syntax = {
        mermaid_begin, mermaid_open, mermaid_node, mermaid_close, mermaid_edge, mermaid_end,
    };
    syntax_write(drawing, &syntax);
    return OK;
}
