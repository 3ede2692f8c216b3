#include "cli/shell_word.h"

#include <string.h>

void shell_word(Buf *out, Str word)
{
    bool is_bare = word.len > 0;
    for (size_t i = 0; i < word.len; i++)
        is_bare = is_bare && (ascii_is_alnum(word.ptr[i]) || memchr("-_./:=@%+,", word.ptr[i], 10));
    if (is_bare) {
        buf_str(out, word);
        return;
    }
    buf_char(out, '\'');
    for (size_t i = 0; i < word.len; i++) {
        if (word.ptr[i] == '\'') buf_text(out, "'\\''");
        else buf_char(out, word.ptr[i]);
    }
    buf_char(out, '\'');
}

void shell_option(Buf *out, const char *name, const char *value)
{
    buf_format(out, " --%s ", name);
    shell_word(out, str_of(value));
}

void shell_store(Buf *out, const Args *args)
{
    const char *store = args_value(args, "store"), *server = args_value(args, "server");
    if (store) shell_option(out, "store", store);
    if (server) shell_option(out, "server", server);
}

Str shell_command(const Args *args, const char *verb, const char *operands)
{
    Buf line;
    buf_init(&line, SIZE_MAX);
    buf_format(&line, "maestro %s %s", verb, operands);
    shell_store(&line, args);
    Str text = arena_copy(args->arena, buf_peek(&line));
    buf_deinit(&line);
    return text;
}
