/* template.h - the templates of Go (text/template), as far as data without methods can use them.
 *
 * A template is text with actions in double braces: values (.a.b, $x), pipelines (.a | printf "%q"), conditions, loops,
 * variables, named templates, comments and the builtin functions. template.c reads a text into the tree below,
 * template_run.c renders it.
 *
 * Owns:   nodes live in the context's arena and borrow the text.
 * Fails:  with BUILTIN_ERROR, "template: template:LINE: ..." in Go's words.
 * Bounds: TEMPLATE_DEPTH_MAX for actions inside one another and for templates that call templates.     Thread: any.
 */
#ifndef REGO_BUILTINS_TEMPLATE_H
#define REGO_BUILTINS_TEMPLATE_H

#include "rego/builtins/builtin.h"

typedef struct Node Node;
typedef struct Pipeline Pipeline;
typedef struct Command Command;
typedef struct Term Term;
typedef struct FieldName FieldName;
typedef struct NamedTemplate NamedTemplate;

struct FieldName {
    Str name;
    FieldName *next;
};

typedef enum TermKind {
    TERM_DOT,                    /* . or .a.b */
    TERM_VARIABLE,               /* $x or $x.a */
    TERM_FUNCTION,
    TERM_PIPELINE,               /* in parentheses, perhaps with fields behind */
    TERM_TEXT,
    TERM_INTEGER,
    TERM_REAL,                   /* `text` is JSON */
    TERM_TRUTH,
    TERM_NIL,
} TermKind;

struct Term {
    TermKind kind;
    Str text;                       /* of a string, name of a variable or function */
    int64_t integer;                /* also 0 or 1 for a boolean */
    FieldName *fields;
    Pipeline *pipeline;
    Str source;                     /* as it is written, for messages */
    Term *next;                  /* of the same command */
};

struct Command {
    Term *operands;
    Str source;
    Command *next;
};

struct Pipeline {
    Str variables[2];               /* declared or assigned in front: $i, $e := */
    uint32_t variable_count;
    bool is_assignment;             /* = instead of := */
    Command *commands;
    Str source;
};

typedef enum NodeKind {
    NODE_TEXT, NODE_ACTION, NODE_IF, NODE_WITH, NODE_RANGE, NODE_TEMPLATE, NODE_BREAK, NODE_CONTINUE,
} NodeKind;

struct Node {
    NodeKind kind;
    Str text;                       /* of NODE_TEXT, name for NODE_TEMPLATE */
    Str source;                     /* of that name, as it is written */
    Pipeline *pipeline;             /* may be NULL for NODE_TEMPLATE */
    Node *body, *otherwise;
    Node *next;
};

struct NamedTemplate {
    Str name;
    Node *body;
    NamedTemplate *next;
};

typedef struct Template {
    Str text;
    Node *body;
    NamedTemplate *named;           /* by define and block */
} Template;

BuiltinResult template_read(BuiltinContext *context, Str text, Template *out_template, Error *err);
BuiltinResult template_render(BuiltinContext *context, const Template *template, Value data, Buf *buf, Error *err);

#endif
