/* Cron expressions: reading one ends, gives sets within their bounds, and the same sets for the same seed. */
#include <string.h>

#include "core/cron.h"
#include "fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Str text = { (const char *)data, size };
    Cron first, second;
    Error err;
    memset(&first, 0, sizeof first);
    memset(&second, 0, sizeof second);
    if (cron_parse(text, STR("seed"), &first, &err)) {
        FUZZ_HOLDS(err.column >= 1 && err.column <= size + 1 && err.text[0]);
        return 0;
    }
    FUZZ_HOLDS(cron_parse(text, STR("seed"), &second, &err) == OK);
    FUZZ_HOLDS(memcmp(&first, &second, sizeof first) == 0);
    FUZZ_HOLDS(first.minutes && first.minutes >> 60 == 0 && first.seconds && first.seconds >> 60 == 0);
    FUZZ_HOLDS(first.hours && first.hours >> 24 == 0 && first.months && !(first.months & ~0x1ffeu) && !(first.days & 1u));
    return 0;
}
