/* format_term.h - terms, expressions and bodies as the formatter writes them: inside a line that is already begun. */
#ifndef REGO_FORMAT_TERM_H
#define REGO_FORMAT_TERM_H

#include "rego/format_lines.h"

void format_term(FormatLines *lines, const RegoTerm *term);
void format_ref(FormatLines *lines, RegoTerm *const *items, uint32_t count);
/* Operands of a function's head or of a call, in parentheses; from `begin` to `end` they stand in the source. */
void format_operands(FormatLines *lines, RegoTerm *const *items, uint32_t count, uint32_t begin, uint32_t end);
void format_expr(FormatLines *lines, const RegoExpr *expr);
/* Lines of a body, indented by one more, up to what stands before `end`; `head_row` is that of the brace before them. */
void format_body_lines(FormatLines *lines, const RegoBody *body, uint32_t head_row, uint32_t end);

#endif
