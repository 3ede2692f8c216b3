#include "rego/builtins/builtin.h"

#include <string.h>

#include "harness/test.h"

TEST(the_table_is_sorted_and_every_row_is_found, "")
{
    for (uint32_t i = 0; i < builtin_count(); i++) {
        const Builtin *builtin = builtin_at(i);
        ROW(builtin->name);
        if (i) EXPECT(strcmp(builtin_at(i - 1)->name, builtin->name) < 0);
        EXPECT(builtin_find(str_of(builtin->name)) == builtin);
        EXPECT(builtin->call != NULL);
        if (builtin->infix) EXPECT(builtin_find_infix(str_of(builtin->infix)) != NULL);
    }
    EXPECT(builtin_find(STR("no.such")) == NULL);
    EXPECT(builtin_find(STR("")) == NULL);
    EXPECT(builtin_find_infix(STR("no")) == NULL);
}
