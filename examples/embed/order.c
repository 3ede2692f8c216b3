/* order.c - a shop with Maestro inside: charges an order, ships it, and does neither twice.
 *
 *     order ID [STORE]
 *
 * Kill it while it ships and start it again: the run goes on where it was, and the card is not charged again. Start it once
 * more when it is done: it prints the result, and nothing is done at all. Needs maestro.h and libmaestro, nothing else.
 */
#include <maestro.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const char workflow[] =
    "workflow: order\n"
    "params: [{ name: id, type: string }]\n"
    "jobs:\n"
    "  pay:\n"
    "    tasks: [{ name: charge, run: orders/charge, input: { order: \"${params.id}\" } }]\n"
    "  send:\n"
    "    needs: [pay]\n"
    "    tasks: [{ name: ship, run: orders/ship, input: { receipt: \"${outputs.charge.receipt}\" } }]\n";

/* Quick: the engine's own thread calls it. A real one would talk to a bank, and not be quick. */
static MaestroStatus charge(void *context, const MaestroAttempt *attempt, MaestroCall *call)
{
    (void)context;
    printf("charging the card for %s\n", attempt->input);
    fflush(stdout);
    return maestro_call_output(call, "{\"receipt\": \"R-1\"}");
}

/* On a worker's thread: it takes its time, and stops when it is told to. */
static MaestroStatus ship(void *context, const MaestroAttempt *attempt, MaestroCall *call)
{
    const long *ship_ms = context;
    printf("shipping, attempt %u, with key %s\n", (unsigned)attempt->number, attempt->key);
    fflush(stdout);
    for (long waited_ms = 0; waited_ms < *ship_ms; waited_ms += 10) {
        if (maestro_call_is_ended(call)) return maestro_call_fail(call, MAESTRO_UNAVAILABLE, "the shop closes");
        nanosleep(&(struct timespec){ .tv_nsec = 10 * 1000 * 1000 }, NULL);
    }
    return maestro_call_output(call, "{\"parcel\": 42}");
}

static int complain(const char *what, const MaestroError *err)
{
    fprintf(stderr, "order: %s: %s (%s)\n", what, err->text, maestro_status_name(err->status));
    return 1;
}

/* The same key gives the same run, in this process or in the next one. */
static int place_order(Maestro *maestro, const char *id)
{
    MaestroError err;
    MaestroDefinition *definition;
    MaestroSubmitted run;
    MaestroRunState state;
    char params[128], key[128], *json;
    if (strlen(id) > 64 || strcspn(id, "\"\\") != strlen(id)) {
        fprintf(stderr, "order: '%s' is no id\n", id);
        return 2;
    }
    snprintf(params, sizeof params, "{\"id\": \"%s\"}", id);
    snprintf(key, sizeof key, "order-%s", id);
    if (maestro_compile(maestro, workflow, "order.yaml", &definition, /* out_report= */ NULL, &err))
        return complain("the workflow", &err);
    MaestroStatus status = maestro_submit(maestro, definition, &(MaestroSubmit){ .params = params, .key = key }, &run, &err);
    maestro_definition_free(definition);
    if (status) return complain("the order", &err);
    printf("%s run %s\n", run.is_repeat ? "going on with" : "new", run.id);
    fflush(stdout);
    if (maestro_wait(maestro, run.id, MAESTRO_FOREVER, &state, &err)) return complain("waiting", &err);
    if (maestro_run_outputs(maestro, run.id, &json, &err)) return complain("the result", &err);
    printf("%s: %s\n", maestro_run_state_name(state), json);
    maestro_free(json);
    return state == MAESTRO_RUN_SUCCEEDED ? 0 : 1;
}

int main(int argc, char **argv)
{
    const char *ship_text = getenv("ORDER_SHIP_MS");
    long ship_ms = ship_text ? strtol(ship_text, NULL, 10) : 5000;
    const MaestroRunner runners[] = {
        { .name = "orders/charge", .run = charge, .is_quick = true },
        { .name = "orders/ship", .run = ship, .context = &ship_ms },
    };
    if (argc < 2) {
        fprintf(stderr, "usage: order ID [STORE]\n");
        return 2;
    }
    const MaestroOptions options = { .store = argc > 2 ? argv[2] : "sqlite:orders.db", .runners = runners,
                                     .runner_count = sizeof runners / sizeof *runners, .actor = "program:order" };
    Maestro *maestro;
    MaestroError err;
    if (maestro_open(&options, &maestro, &err)) return complain("opening the store", &err);
    int code = place_order(maestro, argv[1]);
    maestro_close(maestro, /* drain_ms= */ 1000, /* err= */ NULL);
    return code;
}
