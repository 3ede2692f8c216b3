/* The keys of a runbook: artifacts, and what produces them. */
#include "lang/shapes.h"

static const Field component_use_fields[] = {
    { "type", &type_ref, "The component.", FIELD_REQUIRED },
    { "properties", &type_any, "Its settings.", .otherwise = "{}" },
    { NULL },
};
static const Shape shape_source = { "source", "The connector that gives an artifact its content.", component_use_fields,
                                    NULL, NULL };
static const Type type_source = { .kind = TYPE_OBJECT, .shape = &shape_source };
static const Shape shape_transform = { "transform", "The analyser that makes an artifact out of others.",
                                       component_use_fields, NULL, NULL };
static const Type type_transform = { .kind = TYPE_OBJECT, .shape = &shape_transform };

static const EnumName merges[] = { { "concatenate", NULL }, { NULL, NULL } };
static const Type type_merge = { .kind = TYPE_ENUM, .names = merges, .what = "a merge" };
static const EnumName modes[] = { { "child", NULL }, { NULL, NULL } };
static const Type type_mode = { .kind = TYPE_ENUM, .names = modes, .what = "a mode" };

static const Field execute_fields[] = {
    { "mode", &type_mode, "The input artifact is executed as a child runbook.", .otherwise = "\"child\"" },
    { "timeout", &type_duration_or_seconds, "The child's own timeout." },
    { "cost_limit", &type_money, "The child's own cost limit." },
    { NULL },
};
static const Shape shape_execute = { "execution", "Executes the input artifact, a runbook itself.", execute_fields,
                                     NULL, NULL };
static const Type type_execute = { .kind = TYPE_OBJECT, .shape = &shape_execute };

static const Type type_inputs = {
    .kind = TYPE_LIST, .item = &type_name, .lone = true, .min = 1, .what = "an artifact or a list of artifacts"
};
static const Type type_schema_name = { .kind = TYPE_NAME, .what = "the name of a schema", .dotted = true };

static const Field artifact_fields[] = {
    { "name", &type_line, "What people see." },
    { "description", &type_text, "What it represents." },
    { "contact", &type_line, "Who is responsible for it." },
    { "owner", &type_line, "Who owns it." },
    { "source", &type_source, "The connector that gives its content." },
    { "inputs", &type_inputs, "The artifacts it is made of." },
    { "transform", &type_transform, "The analyser that makes it." },
    { "merge", &type_merge, "How several inputs become one.", .otherwise = "\"concatenate\"" },
    { "input_schema", &type_schema_name, "What enters the transform, where it is not what the components say." },
    { "output_schema", &type_schema_name, "What the artifact finally is, where it is not what the components say." },
    { "output", &type_bool, "Whether it is a result of the runbook.", .otherwise = "false" },
    { "optional", &type_bool, "Whether the runbook may succeed without it.", .otherwise = "false" },
    { "execute", &type_execute, "Executes the input artifact as a child runbook." },
    { NULL },
};
static const char *const artifact_origin[] = { "source", "inputs", NULL };
const Shape shape_artifact = { "artifact", "A piece of data, from a source or made of other artifacts.",
                               artifact_fields, artifact_origin, NULL };
static const Type type_artifact = { .kind = TYPE_OBJECT, .shape = &shape_artifact };
static const Type type_artifacts = {
    .kind = TYPE_MAP, .item = &type_artifact, .min = 1, .what = "a mapping of artifact ids to artifacts"
};

static const Type type_child_depth = { .kind = TYPE_INT, .min = 0, .max = 100 };
static const Field config_fields[] = {
    { "timeout", &type_duration_or_seconds, "The deadline of the whole execution." },
    { "cost_limit", &type_money, "The most that models may cost." },
    { "max_concurrency", &type_positive, "How many artifacts are produced at a time.", .otherwise = "10" },
    { "max_child_depth", &type_child_depth, "How deep child runbooks may nest.", .otherwise = "3" },
    { NULL },
};
static const Shape shape_limits = { "configuration", "Limits of an execution.", config_fields, NULL, NULL };
static const Type type_limits = { .kind = TYPE_OBJECT, .shape = &shape_limits };

static const Field runbook_fields[] = {
    { "name", &type_line, "What the runbook is called.", FIELD_REQUIRED },
    { "description", &type_text, "What it is for.", FIELD_REQUIRED },
    { "contact", &type_line, "Who is responsible for it." },
    { "owner", &type_line, "Who owns it." },
    { "tenant", &type_name, "Whose it is.", .otherwise = "\"default\"" },
    { "namespace", &type_name, "The same as tenant.", .as = "tenant" },
    { "labels", &type_labels, "Labels for audits and searches." },
    { "policies", &type_refs, "Policies that apply to every artifact." },
    { "policy", &type_refs, "The same as policies.", .as = "policies" },
    { "config", &type_limits, "Limits of an execution.",
      .otherwise = "{\"max_child_depth\":3,\"max_concurrency\":10}" },
    { "failure_mode", &type_failure_mode, "Whether independent artifacts go on when one fails.",
      .otherwise = "\"continue-independent\"" },
    { "artifacts", &type_artifacts, "What is produced.", FIELD_REQUIRED },
    { NULL },
};
const Shape shape_runbook = { "runbook", "A runbook: artifacts and how each is made.", runbook_fields, NULL, NULL };
const Type type_runbook = { .kind = TYPE_OBJECT, .shape = &shape_runbook };
