/* Graphviz. Names are quoted strings, in which Graphviz itself knows two escapes: backslashes and HTML entities. */
#include <inttypes.h>

#include "cli/draw/drawing.h"
#include "cli/draw/syntax.h"
#include "cli/draw/mark.h"

static void put_escaped(Buf *out, Str text)
{
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] == '"' || text.ptr[i] == '\\') buf_char(out, '\\');
        if (text.ptr[i] == '&') buf_text(out, "&amp;");
        else buf_char(out, text.ptr[i]);
    }
}

static void put_name(Buf *out, Str name, uint32_t marks)
{
    put_escaped(out, name);
    if (marks) buf_char(out, ' ');
    mark_print(out, marks, /* ascii= */ false);
}

static void dot_begin(Buf *out, Str title, Str summary)
{
    buf_text(out, "digraph \"");
    put_escaped(out, title);
    buf_text(out, "\" {\n"
                  "    graph [rankdir=TB, newrank=true, nodesep=0.35, ranksep=0.45,\n"
                  "           fontname=\"Helvetica\", fontsize=12, labelloc=t, label=\"");
    put_escaped(out, title);
    buf_text(out, "\\n");
    put_escaped(out, summary);
    buf_text(out, "\"];\n"
                  "    node [shape=box, style=\"rounded,filled\", fillcolor=\"#ffffff\", color=\"#5b6770\",\n"
                  "          fontname=\"Helvetica\", fontsize=11, height=0.36, margin=\"0.15,0.06\"];\n"
                  "    edge [color=\"#5b6770\", fontname=\"Helvetica\", fontsize=10, arrowsize=0.7];\n");
}

static void put_indent(Buf *out, uint32_t depth) { buf_repeat(out, ' ', 4 + 4 * (size_t)depth); }

static void dot_open(Buf *out, const SyntaxGroup *group)
{
    put_indent(out, group->depth);
    buf_format(out, "subgraph cluster_%" PRIu32 " {\n", group->index);
    put_indent(out, group->depth + 1);
    buf_text(out, "graph [label=\"");
    put_name(out, group->name, group->marks);
    buf_text(out, "\", labeljust=l, style=\"rounded,filled\", fillcolor=\"#f3f5f7\", color=\"#9aa5ad\"];\n");
}

static void dot_close(Buf *out, uint32_t depth)
{
    put_indent(out, depth);
    buf_text(out, "}\n");
}

static const char *const dot_shapes[SHAPE_COUNT] = {
    [SHAPE_TASK] = "",
    [SHAPE_ARTIFACT] = "",
    [SHAPE_BRANCH] = ", shape=diamond, style=filled, fillcolor=\"#fff4d6\", color=\"#a87900\", margin=\"0.02,0.02\"",
    [SHAPE_POINT] = ", shape=point, width=0.08, height=0.08",
};

static void dot_node(Buf *out, const SyntaxNode *node)
{
    put_indent(out, node->depth);
    buf_format(out, "s%" PRIu32 " [label=\"", node->step);
    put_name(out, node->name, node->marks);
    if (node->detail.len) {
        buf_text(out, "\\n");
        put_escaped(out, node->detail);
    }
    buf_char(out, '"');
    buf_text(out, dot_shapes[node->shape]);
    if (mark_has(node->marks, MARK_OPTIONAL)) buf_text(out, ", style=\"rounded,filled,dashed\"");
    if (mark_has(node->marks, MARK_OUTPUT)) buf_text(out, ", penwidth=2, color=\"#1f7a3d\"");
    buf_text(out, "];\n");
}

static const char *const dot_lines[LINE_COUNT] = {
    [LINE_FLOW] = "",
    [LINE_DATA] = "style=dotted, constraint=false",
    [LINE_LOOP] = "style=dashed, color=\"#7a3fb0\", fontcolor=\"#7a3fb0\", dir=back",
};

/* A loop is laid from its head to its tail, with its arrow turned round: Graphviz may fail on cycles through groups. */
static void dot_edge(Buf *out, const SyntaxEdge *edge)
{
    bool is_loop = edge->kind == LINE_LOOP;
    uint32_t from = is_loop ? edge->to : edge->from, to = is_loop ? edge->from : edge->to;
    buf_format(out, "    s%" PRIu32 " -> s%" PRIu32, from, to);
    if (edge->label.len || edge->kind != LINE_FLOW) {
        buf_text(out, " [label=\"");
        put_escaped(out, edge->label);
        buf_text(out, edge->kind == LINE_FLOW ? "\"" : "\", ");
        buf_text(out, dot_lines[edge->kind]);
        buf_text(out, "]");
    }
    buf_text(out, ";\n");
}

/* The legend stands beside the graph, in a node that no edge leads to. */
static void dot_end(Buf *out, uint32_t marks)
{
    if (marks) {
        buf_text(out, "    legend [shape=plaintext, style=\"\", fontsize=10, label=\"");
        for (Mark i = 0; i < MARK_COUNT; i++) {
            if (!mark_has(marks, i)) continue;
            buf_str(out, mark_sign(i, /* ascii= */ false));
            buf_char(out, ' ');
            buf_str(out, mark_meaning(i));
            buf_text(out, "\\l");
        }
        buf_text(out, "\"];\n");
    }
    buf_text(out, "}\n");
}

Status draw_dot(const Drawing *drawing, Error *err)
{
    (void)err;
    static const Syntax syntax = { dot_begin, dot_open, dot_node, dot_close, dot_edge, dot_end };
    syntax_write(drawing, &syntax);
    return OK;
}
