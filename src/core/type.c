#include "core/type.h"

#include "value/number.h"

bool type_accepts(Str type, Value value)
{
    if (str_is(type, STR("integer"))) return value_is_number(value) && number_is_integer(value);
    return str_is_text(type, value_kind_name(value));
}
