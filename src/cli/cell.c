#include "cli/cell.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/limits.h"
#include "cli/bearer.h"
#include "lang/compile.h"
#include "secret/key_file.h"
#include "value/canonical.h"
#include "value/json.h"

#define CAPACITY_DEFAULT 64u
#define REPORT_RUNNER "cell/report"         /* as exec/worker/edge.h has it */

/* `work` has what the central server leased: whatever comes of it is its outcome, so that only a worker of the cell that falls silent is
 * replaced here. `tell` ends when the central server has answered. */
static const char definition[] =
    "workflow: %.*s\n"
    "tenant: %.*s\n"
    "description: A lease of the central server.\n"
    "params:\n"
    "  - { name: token, type: string }\n"
    "  - { name: run, type: string }\n"
    "  - { name: step, type: string }\n"
    "  - { name: lease_ms, type: integer }\n"
    "  - { name: effect_recorded, type: boolean }\n"
    "  - { name: sealed, type: string }\n"
    "jobs:\n"
    "  work:\n"
    "    tasks:\n"
    "      - name: attempt\n"
    "        run: %.*s\n"
    "        retries: { attempts: 4, delay: 1s, on: [lease-expired] }\n"
    "  tell:\n"
    "    needs: work\n"
    "    tasks:\n"
    "      - name: report\n"
    "        run: " REPORT_RUNNER "\n"
    "        input: \"${outputs.work.attempt}\"\n"
    "        retries: { attempts: 100, delay: 1s, on: [transient] }\n";

/* "lease-" and the runner, in the characters that the name of a workflow has. */
static Str workflow_of(Arena *arena, Str runner)
{
    Str name = arena_format(arena, "lease-%.*s", STR_ARG(runner));
    char *text = arena_bytes(arena, name.len);
    for (size_t i = 0; i < name.len; i++) text[i] = ascii_is_alnum(name.ptr[i]) || name.ptr[i] == '-' || name.ptr[i] == '_' ? name.ptr[i] : '-';
    return (Str){ text, name.len < NAME_SIZE_MAX ? name.len : NAME_SIZE_MAX };
}

/* What the central server says is a text and nothing else. */
static Str quoted(Arena *arena, Str text)
{
    Buf out;
    buf_init(&out, JSON_SIZE_MAX);
    json_print_string(&out, text);
    Str copy = arena_copy(arena, buf_peek(&out));
    buf_deinit(&out);
    return copy;
}

static Status make_plan(void *context, Arena *arena, Str tenant, Str runner, Str *out_document, Str *out_text, Error *err)
{
    const Catalog *catalog = context;
    Compiled compiled;
    Buf document;
    *out_text = arena_format(arena, definition, STR_ARG(workflow_of(arena, runner)), STR_ARG(quoted(arena, tenant)), STR_ARG(quoted(arena, runner)));
    compile(arena, *out_text, &(CompileOptions){ .file = STR("lease"), .format = TEXT_YAML, .catalog = catalog }, &compiled);
    if (!compiled.is_valid)
        return error_set(err, ERR_INVALID, "the cell cannot carry out the runner '%.*s': %.*s", STR_ARG(runner),
                         STR_ARG(compiled.diagnostics.count ? compiled.diagnostics.items[0].message : STR("it makes no plan")));
    buf_init(&document, PLAN_SIZE_MAX);
    Status status = canonical_print(&document, compiled.plan.document, err);
    if (!status) *out_document = arena_copy(arena, buf_peek(&document));
    buf_deinit(&document);
    return status;
}

/* In the log of the server, as one object. */
static void tell(void *context, Str line)
{
    Buf text;
    (void)context;
    buf_init(&text, JSON_SIZE_MAX);
    buf_text(&text, "{\"level\":\"warning\",\"message\":\"cell\",\"reason\":");
    json_print_string(&text, line);
    buf_text(&text, "}\n");
    (void)fwrite(text.ptr, 1, text.len, stderr);
    buf_deinit(&text);
}

ExitCode cell_check(const Args *args, Catalog *catalog)
{
    static const char *const others[] = { "central", "executor", "queue", "capacity", "token-file" };
    const char *name = args_value(args, "cell"), *central = args_value(args, "central");
    uint64_t capacity;
    for (size_t i = 0; !name && i < sizeof others / sizeof *others; i++)
        if (args_value(args, others[i])) {
            print_note("maestro: --%s is of a cell: say --cell NAME, too\n", others[i]);
            return EXIT_CODE_USAGE;
        }
    if (!name) return EXIT_CODE_OK;
    if (!central || !store_is_server(str_of(central))) {
        print_note("maestro: a cell needs its central server: --central http://HOST:PORT\n");
        return EXIT_CODE_USAGE;
    }
    if (!name_is_valid(str_of(name), /* dotted= */ true) || strlen(name) > NAME_SIZE_MAX) {
        print_note("maestro: --cell takes a name of letters, digits, '-', '_' and '.', and not '%s'\n", name);
        return EXIT_CODE_USAGE;
    }
    if (!args_number(args, "capacity", CAPACITY_DEFAULT, 1, WORKER_ITEM_COUNT_MAX, &capacity)) return EXIT_CODE_USAGE;
    Str bearer;
    Error err;
    if (bearer_read(args, &bearer, &err)) return fail(&err);
    (void)catalog_add_runner(catalog, STR(REPORT_RUNNER), STR("central"));
    return EXIT_CODE_OK;
}

ExitCode cell_begin(const Args *args, const Catalog *catalog, Workplace *place)
{
    const char *name = args_value(args, "cell"), *executor = args_value(args, "executor");
    static Str queues[WORKER_QUEUE_COUNT_MAX];      /* as long as the cell pulls */
    uint64_t capacity;
    Error err;
    if (!name) return EXIT_CODE_OK;
    if (!args_number(args, "capacity", CAPACITY_DEFAULT, 1, WORKER_ITEM_COUNT_MAX, &capacity)) return EXIT_CODE_USAGE;
    CellErrand errand = { .name = str_of(name), .server = str_of(args_value(args, "central")), .executor = str_of(executor ? executor : name),
                          .queues = queues, .queue_count = queues_read(args, queues), .capacity = (uint32_t)capacity, .host = place->host,
                          .store = place->store, .plan = make_plan, .told = tell, .context = (void *)(uintptr_t)catalog };
    Status status = bearer_read(args, &errand.bearer, &err);
    if (!status) status = key_file_make(key_file_path(args->arena, store_path(args->arena, store_url(args))), &errand.key, &err);
    if (!status) status = adapters.cell_start(&errand, &place->crew, &err);
    seal_key_wipe(&errand.key);
    return status ? fail(&err) : EXIT_CODE_OK;
}
