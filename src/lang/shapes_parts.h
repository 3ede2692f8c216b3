/* shapes_parts.h - the pieces by which the tables of tasks and of workflows hang together; for them alone. */
#ifndef LANG_SHAPES_PARTS_H
#define LANG_SHAPES_PARTS_H

#include "lang/shape.h"

extern const Type type_auth, type_backoff, type_gate, type_rate, type_retries, type_risk, type_step_list, type_template_list, type_terminate;

#endif
