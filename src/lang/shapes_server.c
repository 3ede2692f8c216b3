/* The keys of a server's file: what `maestro server --config` takes, named as its options are. */
#include "lang/shapes.h"
#include "lang/shapes_parts.h"

#include "base/limits.h"

static const Type type_rate_per_s = { .kind = TYPE_INT, .min = 1, .max = API_RATE_PER_S_MAX };

static const Type type_tenant_rate_per_s = { .kind = TYPE_INT, .min = 1, .max = API_TENANT_RATE_FACTOR * API_RATE_PER_S_MAX };

static const Type type_executions = { .kind = TYPE_INT, .min = 5, .max = 1 << 24 };

static const Type type_memory_mb = { .kind = TYPE_INT, .min = ENGINE_SIZE_MB_MIN, .max = ENGINE_SIZE_MB_MAX };

static const Field tls_fields[] = {
    { "cert", &type_line, "Certificate chain as PEM; read again on SIGHUP.", FIELD_REQUIRED },
    { "key", &type_line, "Its private key as PEM; the same.", FIELD_REQUIRED },
    { NULL },
};
static const Shape shape_tls = { "tls", "With it HTTPS is served.", tls_fields, NULL, NULL };
static const Type type_tls = { .kind = TYPE_OBJECT, .shape = &shape_tls, .what = "certificate and key" };

static const EnumName log_levels[] = { { "error", NULL }, { "warning", NULL }, { "info", NULL }, { "debug", NULL }, { NULL, NULL } };
static const Type type_log_level = { .kind = TYPE_ENUM, .names = log_levels, .what = "a level of the log" };
static const Field log_fields[] = {
    { "level", &type_log_level, "The last that is logged; warning where it is left out." },
    { "requests", &type_bool, "Every request is logged, and not only those that are refused or fail." },
    { NULL },
};
static const Shape shape_log = { "log", "What the server says on standard error.", log_fields, NULL, NULL };
static const Type type_log = { .kind = TYPE_OBJECT, .shape = &shape_log, .what = "settings of the log" };

static const Type type_lines = { .kind = TYPE_LIST, .item = &type_line, .lone = true, .what = "a list of texts" };

static const Type type_cell_capacity = { .kind = TYPE_INT, .min = 1, .max = WORKER_ITEM_COUNT_MAX };
static const Field cell_fields[] = {
    { "name", &type_ref, "What the central server knows it by.", FIELD_REQUIRED },
    { "central", &type_line, "The central server: http://HOST:PORT, or https.", FIELD_REQUIRED },
    { "executor", &type_ref, "The worker executor of the central server; the name of the cell where it is left out." },
    { "queues", &type_refs, "The queues to take work from; all of the executor where they are left out." },
    { "capacity", &type_cell_capacity, "How many leases it holds at a time; 64 where it is left out." },
    { "token_file", &type_line, "Its credential at the central server." },
    { NULL },
};
static const Shape shape_cell = { "cell", "With it the server is a cell.", cell_fields, NULL, NULL };
static const Type type_cell = { .kind = TYPE_OBJECT, .shape = &shape_cell, .what = "settings of a cell" };

static const Field server_fields[] = {
    { "listen", &type_line, "Where to listen: ADDRESS:PORT; 127.0.0.1:8080 where it is left out." },
    { "store", &type_line, "The store: sqlite:PATH." },
    { "runners", &type_line, "The file that registers runners, policies, windows and calendars." },
    { "policy", &type_lines, "Policies that are asked at every hook of every run." },
    { "public", &type_line, "Where others reach it: what steps are told." },
    { "access", &type_line, "A policy that decides who may do what, in place of the built-in one." },
    { "shell", &type_bool, "Definitions may use the runner shell: whatever they say is run as the user of the server." },
    { "rate", &type_rate_per_s, "Requests a second that one key may send." },
    { "tenant_rate", &type_tenant_rate_per_s, "The same of all keys of a tenant together; four times `rate` where it is left out." },
    { "max_executions", &type_executions, "Executions in memory at a time; from four fifths of it on new ones are refused." },
    { "max_memory", &type_memory_mb, "Megabytes for executions and what waits for them; from four fifths of it on new ones are refused." },
    { "tls", &type_tls, "Certificate and key: HTTPS is served." },
    { "log", &type_log, "What the server says on standard error." },
    { "otlp", &type_line, "The collector that traces are sent to: OTLP over HTTP, as http://collector:4318." },
    { "cell", &type_cell, "It carries out leases of a central server, also while that is away." },
    { NULL },
};
const Shape shape_server = { "server", "How a server runs. Paths are taken from the folder of the file.", server_fields, NULL, NULL };
const Type type_server = { .kind = TYPE_OBJECT, .shape = &shape_server, .what = "settings of a server" };
