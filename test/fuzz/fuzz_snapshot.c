/* Reads any bytes as the snapshot of a run. What is accepted is a run that can be asked, written in the format that
 * it had and in today's, and read again as the same run; what is refused says why and leaves the run as it was. */
#include <string.h>

#include "core/run.h"
#include "fuzz/fuzz.h"
#include "value/json.h"

#define TASK(id) "{\"id\":\"" id "\",\"kind\":\"task\",\"name\":\"" id "\",\"run\":\"noop\"}"

static const char plan_text[] =
    "{\"format\":1,\"kind\":\"workflow\",\"id\":\"orders\",\"tenant\":\"acme\",\"jobs\":[],\"steps\":["
    TASK("a") "," TASK("b") "," TASK("c") "," TASK("d") "],\"edges\":[[0,1,\"order\"],[1,2,\"order\"],[2,3,\"order\"]],"
    "\"loops\":[{\"head\":1,\"tail\":2,\"max_iterations\":9,\"when\":\"true\",\"on_max\":\"fail\"}]}";

static void check_run(const Run *run, const Plan *plan, Str bytes)
{
    Run again;
    Buf same, today, twice;
    buf_init(&same, SIZE_MAX);
    buf_init(&today, SIZE_MAX);
    buf_init(&twice, SIZE_MAX);
    (void)run_due_ms(run);
    (void)run_is_parked(run);
    run_encode_like(run, plan, bytes, &same);           /* another one than ours may have written longer numbers */
    run_encode(run, &today);
    run_init(&again, plan, &run->id, run->run_no);
    FUZZ_HOLDS(run_decode(&again, plan, buf_peek(&today), NULL) == OK);
    run_encode(&again, &twice);
    FUZZ_HOLDS(str_is(buf_peek(&today), buf_peek(&twice)));
    run_deinit(&again);
    buf_deinit(&same);
    buf_deinit(&today);
    buf_deinit(&twice);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Str bytes = { (const char *)data, size };
    Arena arena;
    Plan plan;
    Value document;
    Run run;
    Error err = { 0 };
    Id id = id_make((uint8_t[ID_SIZE]){ 7 });
    arena_init(&arena, SIZE_MAX);
    FUZZ_HOLDS(json_parse(&arena, str_of(plan_text), &document, &err) == OK);
    FUZZ_HOLDS(plan_read(&arena, document, &plan, &err) == OK);
    run_init(&run, &plan, &id, 1);
    Status status = run_decode(&run, &plan, bytes, &err);
    if (status == OK) {
        check_run(&run, &plan, bytes);
    } else {
        FUZZ_HOLDS(err.text[0] != '\0');
        FUZZ_HOLDS(run.event_count == 0);
    }
    run_deinit(&run);
    arena_deinit(&arena);
    return 0;
}
