/* print.h - trees back to text.
 *
 * Two styles, each on one line for a rule. REGO_PRINT_CALLS shows operators as the calls they are, as messages and
 * traces of Rego tools do: `plus(x, 1)`, `internal.member_2(x, xs)`; whatever was left out in the source (the value true,
 * the body true) is shown. REGO_PRINT_SOURCE writes what an author would: operators, parentheses where they were, raw
 * strings as such; reading its text gives the same tree again.
 *
 * Owns:   nothing.
 * Fails:  by the buffer's sticky overflow.
 * Bounds: the tree's height.     Thread: pure, any.
 */
#ifndef REGO_PRINT_H
#define REGO_PRINT_H

#include "base/buf.h"
#include "rego/ast.h"

typedef enum RegoPrintStyle {
    REGO_PRINT_CALLS,
    REGO_PRINT_SOURCE,
} RegoPrintStyle;

void rego_print_term(Buf *buf, const RegoTerm *term, RegoPrintStyle style);
void rego_print_expr(Buf *buf, const RegoExpr *expr, RegoPrintStyle style);
void rego_print_body(Buf *buf, const RegoBody *body, RegoPrintStyle style);        /* a; b */
void rego_print_head(Buf *buf, const RegoHead *head, RegoPrintStyle style);
void rego_print_rule(Buf *buf, const RegoRule *rule, RegoPrintStyle style);        /* with its further branches */
void rego_print_module(Buf *buf, const RegoModule *module, RegoPrintStyle style);  /* without its comments */
void rego_print_ref(Buf *buf, RegoTerm *const *items, uint32_t count, RegoPrintStyle style);
void rego_print_quoted(Buf *buf, Str text);
bool rego_name_is_plain(Str text);         /* `.text` means the same as `["text"]` */

#endif
