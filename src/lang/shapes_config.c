/* The keys of runners.yaml, and of a plug-in component's manifest. */
#include "lang/shapes.h"
#include "lang/shapes_parts.h"

static const EnumName executor_kinds[] = {
    { "native", NULL }, { "process", NULL },    { "http", NULL }, { "worker", NULL },
    { "slurm", NULL },  { "kubernetes", NULL }, { NULL, NULL },
};
static const Type type_executor_kind = { .kind = TYPE_ENUM, .names = executor_kinds, .what = "a kind of executor" };
static const EnumName tenancies[] = { { "shared", NULL }, { "dedicated", NULL }, { NULL, NULL } };
static const Type type_tenancy = { .kind = TYPE_ENUM, .names = tenancies, .what = "a tenancy" };
static const EnumName trusts[] = { { "none", NULL }, { "enrolled", NULL }, { "attested", NULL }, { NULL, NULL } };
static const Type type_trust = { .kind = TYPE_ENUM, .names = trusts, .what = "a trust level" };

/* A text is a line for the shell: it must not become a list of one, which is a program. */
static const Type type_command_list = { .kind = TYPE_LIST, .item = &type_line, .what = "a list of texts" };
static const Type *const command_forms[] = { &type_text, &type_command_list, NULL };
static const Type type_command = { .kind = TYPE_EITHER, .either = command_forms, .what = "a line for the shell, or a list of texts" };

static const Field breaker_fields[] = {
    { "failures", &type_positive, "Failures in a row by which it opens.", .otherwise = "5" },
    { "open", &type_duration, "How long it stays open before one attempt tries.", .otherwise = "\"30s\"" },
    { NULL },
};
static const Shape shape_breaker = { "circuit breaker", "When attempts are held back, for each tenant.", breaker_fields, NULL, NULL };
static const Type type_breaker = { .kind = TYPE_OBJECT, .shape = &shape_breaker, .what = "a circuit breaker" };

static const Field runner_fields[] = {
    { "description", &type_text, "What it does." },
    { "command", &type_command, "For a process executor: the program and its arguments, or a line for the shell." },
    { "url", &type_line, "Where the task document is posted, for an http executor." },
    { "queue", &type_ref, "The queue that workers pull from." },
    { "image", &type_line, "The container image, for kubernetes." },
    { "settings", &type_any, "What else the executor needs." },
    { "breaker", &type_breaker, "A circuit for each tenant, which opens where it fails again and again; left out, none." },
    { "rate", &type_rate, "How many attempts begin in a time, of all tenants." },
    { "input_schema", &type_schema, "What it takes." },
    { "output_schema", &type_schema, "What it gives." },
    { "timeout", &type_duration, "The timeout of tasks that declare none." },
    { NULL },
};
static const Shape shape_runner = { "runner", "What a `run:` names.", runner_fields, NULL, NULL };
static const Type type_runner = { .kind = TYPE_OBJECT, .shape = &shape_runner };
static const Type type_runners = {
    .kind = TYPE_MAP, .item = &type_runner, .dotted = true, .what = "a mapping of runner names to runners"
};

static const Field executor_fields[] = {
    { "kind", &type_executor_kind, "How it carries out work.", FIELD_REQUIRED },
    { "description", &type_text, "What it is." },
    { "region", &type_ref, "Where it is." },
    { "cloud", &type_ref, "In which cloud." },
    { "tenancy", &type_tenancy, "Whether tenants share it.", .otherwise = "\"shared\"" },
    { "tenants", &type_names, "Whose work it takes; everybody's where it is left out." },
    { "cost", &type_money, "What an hour of an attempt costs its tenant." },
    { "capacity", &type_positive, "How many attempts it carries at a time." },
    { "lease", &type_duration,
      "For workers: how long one may be silent before its attempt is given up; for services that call back: how long after the server was gone.",
      .otherwise = "\"30s\"" },
    { "callback", &type_line, "For http: where services reach this server; their runners may then complete later." },
    { "trust", &type_trust, "How far it is trusted.", .otherwise = "\"enrolled\"" },
    { "capabilities", &type_refs, "What it has that work may require." },
    { "labels", &type_labels, "Labels." },
    { "runners", &type_runners, "The runners it offers.", FIELD_REQUIRED },
    { NULL },
};
static const Shape shape_executor = { "executor", "A place that offers runners.", executor_fields, NULL, NULL };
static const Type type_executor = { .kind = TYPE_OBJECT, .shape = &shape_executor };
static const Type type_executors = { .kind = TYPE_MAP,
                                     .item = &type_executor,
                                     .what = "a mapping of executor names to executors" };

static const EnumName phases[] = {
    { "pre-flight", NULL }, { "mid-flight", NULL }, { "post-flight", NULL }, { NULL, NULL }
};
static const Type type_phase = { .kind = TYPE_ENUM, .names = phases, .what = "a phase" };
static const Type type_phases = { .kind = TYPE_LIST, .item = &type_phase, .lone = true, .what = "a list of phases" };
static const Field policy_fields[] = {
    { "description", &type_text, "What it demands." },
    { "file", &type_line, "The Rego module, beside this file." },
    { "phases", &type_phases, "When it is asked.", .otherwise = "[\"pre-flight\"]" },
    { "reviewed_by", &type_line, "Who has reviewed it." },
    { NULL },
};
static const Shape shape_policy = { "policy", "A named policy.", policy_fields, NULL, NULL };
static const Type type_policy = { .kind = TYPE_OBJECT, .shape = &shape_policy };
static const Type type_policies = {
    .kind = TYPE_MAP, .item = &type_policy, .dotted = true, .what = "a mapping of policy names to policies"
};

static const Type type_windows = {
    .kind = TYPE_MAP, .item = &type_texts, .dotted = true, .what = "a mapping of window sets to windows"
};
static const Field calendar_fields[] = {
    { "include", &type_texts, "Days that belong to it." },
    { "exclude", &type_texts, "Days that do not." },
    { "weekdays", &type_texts, "Days of the week that belong to it." },
    { NULL },
};
static const Shape shape_calendar = { "calendar", "A named set of days.", calendar_fields, NULL, NULL };
static const Type type_calendar = { .kind = TYPE_OBJECT, .shape = &shape_calendar };
static const Type type_calendars = {
    .kind = TYPE_MAP, .item = &type_calendar, .dotted = true, .what = "a mapping of calendars"
};

static const Type type_cores = { .kind = TYPE_NUMBER, .min = 1 };
static const Field bridge_fields[] = {
    { "from", &type_name, "The tenant that may send them.", FIELD_REQUIRED },
    { "signals", &type_texts, "Names of signals; one that ends with `*` stands for all that begin so.", FIELD_REQUIRED },
    { NULL },
};
static const Shape shape_bridge = { "bridge", "Signals of another tenant that runs of this one take.", bridge_fields, NULL, NULL };
static const Type type_bridge = { .kind = TYPE_OBJECT, .shape = &shape_bridge };
static const Type type_bridges = { .kind = TYPE_LIST, .item = &type_bridge, .what = "a list of bridges" };
static const Field tenant_fields[] = {
    { "weight", &type_positive, "Its share beside others that want the same: 2 is twice the share of 1.", .otherwise = "1" },
    { "max_concurrency", &type_positive, "Attempts that it has under way at a time; left out, no bound, here and below." },
    { "cpu", &type_cores, "Cores of all of them together, as their jobs declare." },
    { "memory_mb", &type_positive, "Megabytes of all of them together; every job with programs has to declare its own." },
    { "runtime", &type_timeout, "Time that its attempts may take together in a window." },
    { "cost", &type_money, "What they may cost in a window." },
    { "window", &type_timeout, "How long a window is; one begins at each multiple of it since 1970.", .otherwise = "\"30d\"" },
    { "bridges", &type_bridges, "Signals of other tenants that its runs take; others are refused." },
    { NULL },
};
static const Shape shape_tenant = { "tenant", "What a tenant may have.", tenant_fields, NULL, NULL };
static const Type type_tenant = { .kind = TYPE_OBJECT, .shape = &shape_tenant };
static const Type type_tenants = { .kind = TYPE_MAP, .item = &type_tenant, .what = "a mapping of tenants" };

static const Field dispatch_fields[] = {
    { "cooperatives", &type_count, "How many cooperative sub-routines may stand beside a primary; spawn budgets follow from it.", .otherwise = "2" },
    { NULL },
};
static const Shape shape_dispatch = { "dispatch", "How attempts leave the engine.", dispatch_fields, NULL, NULL };
static const Type type_dispatch = { .kind = TYPE_OBJECT, .shape = &shape_dispatch };

static const Field config_fields[] = {
    { "executors", &type_executors, "Places that offer runners." },
    { "tenants", &type_tenants, "Shares and limits of tenants." },
    { "dispatch", &type_dispatch, "How attempts leave the engine." },
    { "policies", &type_policies, "Policies that definitions may name." },
    { "windows", &type_windows, "Window sets that schedules may name." },
    { "calendars", &type_calendars, "Calendars that schedules may name." },
    { "schemas", &type_schemas, "JSON Schemas that definitions may name." },
    { NULL },
};
const Shape shape_config = { "configuration",
                             "What definitions find by name: runners, policies, windows, calendars, schemas.",
                             config_fields, NULL, NULL };
const Type type_config = { .kind = TYPE_OBJECT, .shape = &shape_config };

static const Field component_fields[] = {
    { "name", &type_ref, "The component's type.", FIELD_REQUIRED },
    { "description", &type_text, "What it does." },
    { "input_schema", &type_ref, "The schema it takes; an analyser has one." },
    { "output_schema", &type_ref, "The schema it gives.", FIELD_REQUIRED },
    { "properties", &type_schema, "A JSON Schema of its properties." },
    { "command", &type_texts, "The program that does the work.", FIELD_REQUIRED },
    { NULL },
};
const Shape shape_component = { "component", "A connector or analyser that a runbook may name.", component_fields, NULL,
                                NULL };
const Type type_component = { .kind = TYPE_OBJECT, .shape = &shape_component };
