#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli/draw/draw.h"
#include "cli/load.h"
#include "os/file.h"

static const char *const formats[] = { "text", "mermaid", "dot", "svg", NULL };

static const Option options[] = {
    { "format", 'f', "FORMAT", formats, "What to draw: text for a terminal, mermaid, dot, or svg for a document." },
    { "output", 'o', "FILE", NULL, "Writes to a file instead of standard output." },
    { "ascii", 0, NULL, NULL, "Draws text without box characters." },
    { NULL },
};

/* The terminal's width, or that of $COLUMNS, or 80. */
static uint32_t columns(void)
{
    struct winsize size;
    uint64_t number;
    if (isatty(STDOUT_FILENO) && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col) return size.ws_col;
    if (str_to_u64(str_of(getenv("COLUMNS")), &number) && number >= 20 && number <= 1000) return (uint32_t)number;
    return 80;
}

static ExitCode run(const Args *args)
{
    Loaded loaded;
    ExitCode code = load_plan(args, args->operands[0], &loaded);
    if (code) return code;
    const char *file = args_value(args, "output"), *format = args_value(args, "format");
    DrawOptions draw = { .width = columns(),
                         .ascii = args_flag(args, "ascii"),
                         .color = !file && args_color(args, STDOUT_FILENO) };
    draw_format_from(str_of(format ? format : "text"), &draw.format);
    Arena scratch;
    Buf out;
    Error err;
    arena_init(&scratch, SIZE_MAX);
    buf_init(&out, 256u << 20);
    Status status = draw_plan(&loaded.compiled.plan, &draw, &scratch, &out, &err);
    if (!status && file) status = file_write(file, buf_peek(&out), &err);
    else if (!status) print_tinted(&out);
    buf_deinit(&out);
    arena_deinit(&scratch);
    return status ? fail(&err) : EXIT_CODE_OK;
}

const Verb command_visualize = {
    .name = "visualize",
    .operands = "FILE",
    .operand_count_min = 1,
    .operand_count_max = 1,
    .summary = "Draws the graph of a definition.",
    .doc =
        "Draws jobs with their tasks, artifacts, or nested steps, and what leads from one to the next. The text drawing fits\n"
        "the terminal; svg is a picture for a document; mermaid and dot are for other programs.",
    .examples = "  maestro visualize order.yaml\n  maestro visualize --format svg -o order.svg order.yaml",
    .options = options,
    .run = run,
};
