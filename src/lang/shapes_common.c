/* Types that several tables use. */
#include "base/limits.h"
#include "lang/shapes.h"

const Type type_name = { .kind = TYPE_NAME, .what = "a name" };
const Type type_ref = { .kind = TYPE_NAME, .what = "a name", .dotted = true };
const Type type_text = { .kind = TYPE_TEXT };
const Type type_line = { .kind = TYPE_TEXT, .min = 1, .max = 1024 };
const Type type_bool = { .kind = TYPE_BOOL };
const Type type_condition = { .kind = TYPE_CONDITION };
const Type type_template = { .kind = TYPE_TEMPLATE };
const Type type_any = { .kind = TYPE_ANY };
const Type type_schema = { .kind = TYPE_SCHEMA };
const Type type_duration = { .kind = TYPE_DURATION };
const Type type_timeout = { .kind = TYPE_DURATION, .min = 1 };
const Type type_duration_or_seconds = { .kind = TYPE_DURATION, .seconds = true, .min = 1 };
const Type type_true = { .kind = TYPE_BOOL, .only_true = true };
const Type type_money = { .kind = TYPE_MONEY };
const Type type_number = { .kind = TYPE_NUMBER };
const Type type_positive = { .kind = TYPE_INT, .min = 1, .max = 1000000 };
const Type type_count = { .kind = TYPE_INT, .min = 0, .max = 1000000 };
const Type type_names = { .kind = TYPE_LIST, .item = &type_name, .lone = true, .what = "a name or a list of names" };
const Type type_refs = { .kind = TYPE_LIST, .item = &type_ref, .lone = true, .what = "a name or a list of names" };
const Type type_some_refs = {
    .kind = TYPE_LIST, .item = &type_ref, .lone = true, .min = 1, .what = "a name or a list of names"
};
const Type type_texts = { .kind = TYPE_LIST, .item = &type_line, .lone = true, .what = "a text or a list of texts" };
const Type type_labels = {
    .kind = TYPE_MAP, .item = &type_text, .dotted = true, .what = "a mapping of labels to texts"
};
const Type type_schemas = {
    .kind = TYPE_MAP, .item = &type_schema, .dotted = true, .what = "a mapping of names to JSON Schemas"
};

static const EnumName failure_modes[] = { { "fail-fast", NULL }, { "continue-independent", NULL }, { NULL, NULL } };
const Type type_failure_mode = { .kind = TYPE_ENUM, .names = failure_modes, .what = "a failure mode" };

static const EnumName priorities[] = {
    { "low", NULL }, { "normal", NULL }, { "high", NULL }, { "critical", NULL }, { NULL, NULL }
};
const Type type_priority = { .kind = TYPE_ENUM, .names = priorities, .what = "a priority" };
