#include "view/revision_row.h"

#include "base/check.h"
#include "base/limits.h"
#include "value/canonical.h"

static Str print_member(Arena *arena, Value document, const char *name)
{
    const Value *member = value_get_text(document, name);
    Buf buf;
    Error err;
    buf_init(&buf, PLAN_SIZE_MAX);
    CHECK(canonical_print(&buf, member ? *member : value_array(NULL, 0), &err) == OK);     /* it was read from canonical JSON */
    Str text = arena_copy(arena, buf_peek(&buf));
    buf_deinit(&buf);
    return text;
}

void revision_row_describe(Arena *arena, Value document, Str workflow, Cell *cells)
{
    Str description = value_get_string(document, "description", STR(""));
    cells[REVISIONS_name] = cell_text(arena_copy(arena, value_get_string(document, "name", workflow)));
    cells[REVISIONS_description] = description.len ? cell_text(arena_copy(arena, description)) : cell_null();
    cells[REVISIONS_parameters] = cell_text(print_member(arena, document, "params"));
    cells[REVISIONS_steps] = cell_text(print_member(arena, document, "steps"));
}
