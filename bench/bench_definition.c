/* How validating and planning grows with the size of a definition: bench-definition [--json]
 *
 * A generated workflow (a chain of jobs, each reading the output of the one before) and a generated runbook (pairs of a
 * source and a transform) at 1,000, 10,000 and 100,000 steps, each in a process of its own, so that its peak of memory is
 * its own. Reported per step, and as a ratio to the smallest size: 1.0 throughout is linear. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "lang/compile.h"

typedef struct Measured {
    double ns_per_step;
    int64_t peak_bytes, base_bytes, text_bytes;
    bool is_valid;
} Measured;

static void make_workflow(Buf *out, uint32_t count)
{
    buf_text(out, "workflow: generated\nparams: [{ name: x, type: string, default: a }]\njobs:\n");
    for (uint32_t i = 0; i < count; i++) {
        buf_format(out, "  job-%u:\n", i);
        if (i) buf_format(out, "    needs: [job-%u]\n", i - 1);
        buf_format(
            out,
            "    tasks:\n      - name: task-%u\n        run: noop\n        timeout: 30s\n        retries: { attempts: 3 }\n",
            i);
        if (i) buf_format(out, "        input: { x: \"${params.x}\", last: \"${outputs.task-%u.total}\" }\n", i - 1);
        if (i % 10 == 5)
            buf_text(
                out,
                "        terminate_when: { condition: output.total == 0, state: succeeded, reason: nothing is left }\n");
    }
}

static void make_runbook(Buf *out, uint32_t count)
{
    buf_text(out, "name: Generated\ndescription: Pairs of a source and what is found in it\nartifacts:\n");
    for (uint32_t i = 0; i < count; i++) {
        if (i % 2 == 0)
            buf_format(out, "  a%u:\n    source: { type: filesystem_connector, properties: { path: ./data/%u } }\n", i,
                       i);
        else
            buf_format(out,
                       "  a%u:\n    inputs: [a%u]\n    transform: { type: personal_data_analyser }\n    output: true\n",
                       i, i - 1);
    }
}

static double now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static int64_t peak_bytes(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss * 1024;
}

static Measured measure(void (*make)(Buf *, uint32_t), uint32_t count)
{
    Measured measured = { 0 };
    Arena arena;
    Catalog catalog;
    Compiled compiled;
    Buf text;
    buf_init(&text, SIZE_MAX);
    make(&text, count);
    arena_init(&arena, SIZE_MAX);
    catalog_init(&catalog, &arena);
    measured.base_bytes = peak_bytes();
    measured.text_bytes = (int64_t)text.len;
    double begin = now_ns();
    compile(&arena, buf_peek(&text), &(CompileOptions){ .file = STR("generated"), .catalog = &catalog }, &compiled);
    measured.ns_per_step = (now_ns() - begin) / count;
    measured.peak_bytes = peak_bytes();
    measured.is_valid = compiled.is_valid;
    return measured;
}

/* In a child, so that one size does not leave its memory to the next. */
static bool measure_apart(void (*make)(Buf *, uint32_t), uint32_t count, Measured *out)
{
    int ends[2], status = 1;
    if (pipe(ends) != 0) return false;
    pid_t child = fork();
    if (child == 0) {
        Measured measured = measure(make, count);
        ssize_t put = write(ends[1], &measured, sizeof measured);
        _exit(put == (ssize_t)sizeof measured ? 0 : 1);
    }
    close(ends[1]);
    bool is_read = read(ends[0], out, sizeof *out) == (ssize_t)sizeof *out;
    close(ends[0]);
    return child > 0 && waitpid(child, &status, 0) == child && status == 0 && is_read && out->is_valid;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*make)(Buf *, uint32_t);
    } kinds[] = { { "workflow", make_workflow }, { "runbook", make_runbook } };
    static const uint32_t sizes[] = { 1000, 10000, 100000 };
    bool as_json = argc > 1 && strcmp(argv[1], "--json") == 0;
    if (!as_json)
        printf("%-10s %9s %12s %8s %14s %8s\n", "definition", "steps", "ns a step", "ratio", "bytes a step", "ratio");
    for (size_t k = 0; k < 2; k++) {
        double first_ns = 0, first_bytes = 0;
        for (size_t i = 0; i < 3; i++) {
            Measured measured;
            if (!measure_apart(kinds[k].make, sizes[i], &measured)) {
                fprintf(stderr, "bench-definition: %s of %u steps does not compile\n", kinds[k].name, sizes[i]);
                return 1;
            }
            double bytes = (double)(measured.peak_bytes - measured.base_bytes) / sizes[i];
            if (i == 0) {
                first_ns = measured.ns_per_step;
                first_bytes = bytes > 0 ? bytes : 1;
            }
            if (as_json)
                printf(
                    "{\"definition\":\"%s\",\"steps\":%u,\"ns_per_step\":%.0f,\"ns_ratio\":%.2f,\"peak_bytes_per_step\":%.0f,\"bytes_ratio\":%.2f,\"text_bytes\":%" PRId64
                    "}\n",
                    kinds[k].name, sizes[i], measured.ns_per_step, measured.ns_per_step / first_ns, bytes,
                    bytes / first_bytes, measured.text_bytes);
            else
                printf("%-10s %9u %12.0f %8.2f %14.0f %8.2f\n", kinds[k].name, sizes[i], measured.ns_per_step,
                       measured.ns_per_step / first_ns, bytes, bytes / first_bytes);
        }
    }
    return 0;
}
