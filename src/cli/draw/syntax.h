/* syntax.h - a plan as statements of a language for graphs: the walk that Mermaid and Graphviz share.
 *
 * Those programs lay the picture out themselves, so they are told every step and every edge as the plan has them: jobs
 * and sequences are groups, steps are nodes, and nothing is merged or left out. (Jobs that picture.h cannot show as
 * boxes are no groups here either: Graphviz fails on groups that need each other by turns.) What a statement looks like
 * is the language's own, as a table of functions; all text reaches it clean and unescaped.
 *
 * Owns:   nothing.     Fails: never; the caller looks at the buffer.
 * Bounds: linear in the plan, beside those of reduce.h.     Thread: pure, any.
 */
#ifndef CLI_DRAW_SYNTAX_H
#define CLI_DRAW_SYNTAX_H

#include <stdint.h>

#include "base/buf.h"
#include "base/str.h"
#include "cli/draw/drawing.h"

typedef enum SyntaxShape { SHAPE_TASK, SHAPE_ARTIFACT, SHAPE_BRANCH, SHAPE_POINT, SHAPE_COUNT } SyntaxShape;

typedef struct SyntaxNode {
    uint32_t step, depth;               /* depth: groups around it */
    Str name, detail;                   /* detail is empty, or a second line */
    uint32_t marks;
    SyntaxShape shape;
} SyntaxNode;

typedef struct SyntaxGroup {
    uint32_t index, depth;              /* index: no two groups have the same */
    Str name;
    uint32_t marks;
} SyntaxGroup;

typedef enum SyntaxLine {
    LINE_FLOW,
    LINE_DATA,                          /* only says that data flows, along a way that other edges make anyway */
    LINE_LOOP,                          /* from its tail back to its head, labelled with its bound */
    LINE_COUNT
} SyntaxLine;

typedef struct SyntaxEdge {
    uint32_t from, to;                  /* steps */
    Str label;                          /* empty, or the key of a case, or a bound */
    SyntaxLine kind;
} SyntaxEdge;

typedef struct Syntax {
    void (*begin)(Buf *out, Str title, Str summary);
    void (*open)(Buf *out, const SyntaxGroup *group);
    void (*node)(Buf *out, const SyntaxNode *node);
    void (*close)(Buf *out, uint32_t depth);
    void (*edge)(Buf *out, const SyntaxEdge *edge);
    void (*end)(Buf *out, uint32_t marks);                  /* those that occur, for a legend */
} Syntax;

void syntax_write(const Drawing *drawing, const Syntax *syntax);

#endif
