#include "cli/ask.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "cli/print.h"

#define ASK_SIZE_MAX 4096u

bool ask_is_possible(void) { return isatty(STDIN_FILENO) && isatty(STDERR_FILENO) && isatty(STDOUT_FILENO); }

bool ask_text(Arena *arena, const char *question, Str *out_answer)
{
    char line[ASK_SIZE_MAX];
    print_note("%s", question);
    if (!fgets(line, sizeof line, stdin)) {
        print_note("\n");
        return false;
    }
    Str text = { line, strcspn(line, "\n") };
    while (text.len && text.ptr[0] == ' ') text = str_slice(text, 1, text.len);
    while (text.len && text.ptr[text.len - 1] == ' ') text.len--;
    *out_answer = arena_copy(arena, text);
    return true;
}

/* Until the end of the line; ^C and ^D come as bytes here, and mean that there is no answer. */
static bool read_hidden(char *out, size_t size, size_t *out_size)
{
    for (*out_size = 0;;) {
        char byte;
        ssize_t got = read(STDIN_FILENO, &byte, 1);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0 || byte == 3 || byte == 4) return false;
        if (byte == '\n' || byte == '\r') return true;
        if (*out_size == size) return false;
        out[(*out_size)++] = byte;
    }
}

bool ask_hidden(const char *question, char *out, size_t size, size_t *out_size)
{
    struct termios shown, hidden;
    if (tcgetattr(STDIN_FILENO, &shown)) return false;
    hidden = shown;
    hidden.c_lflag &= (tcflag_t)~(ECHO | ECHONL | ISIG);
    if (tcsetattr(STDIN_FILENO, TCSAFLUSH, &hidden)) return false;
    print_note("%s", question);
    bool is_read = read_hidden(out, size, out_size);
    (void)tcsetattr(STDIN_FILENO, TCSAFLUSH, &shown);
    print_note("\n");
    return is_read;
}

bool ask_yes(Arena *arena, const char *question)
{
    Str answer;
    return ask_text(arena, question, &answer) && (str_is_text(answer, "y") || str_is_text(answer, "yes"));
}

bool ask_number(Arena *arena, const char *question, const Str *titles, uint32_t count, uint32_t *out_number)
{
    for (;;) {
        Str answer;
        uint64_t number;
        if (!ask_text(arena, question, &answer) || str_is_text(answer, "q")) return false;
        if (!str_to_u64(answer, &number)) number = 0;
        for (uint32_t i = 0; i < count && !number; i++)
            if (str_is(answer, titles[i])) number = i + 1u;
        if (number >= 1 && number <= count) {
            *out_number = (uint32_t)number;
            return true;
        }
        print_note("a number from 1 to %u, a name of the list, or q to leave it as it is\n", count);
    }
}
