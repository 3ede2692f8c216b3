#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/check.h"
#include "cli/command.h"
#include "lang/suggest.h"

static const char *const color_words[] = { "auto", "always", "never", NULL };

const Option common_options[] = {
    { "runners", 0, "FILE", NULL, "Where runners, policies, windows and calendars are registered." },
    { "server", 0, "URL", NULL, "A server whose store is meant, as http://HOST:PORT; $MAESTRO_SERVER, and $MAESTRO_TOKEN has the key." },
    { "ca", 0, "FILE", NULL, "Certificates of the authorities that a server of https:// is believed by, as PEM; $MAESTRO_CA." },
    { "color", 0, "WHEN", color_words, "Colour: auto, always or never." },
    { "help", 'h', NULL, NULL, "Shows this help." },
    { NULL },
};

/* --- looking up ------------------------------------------------------------------------------------------------- */

static bool is_option(const Option *option, Str name, char letter)
{
    return letter ? option->letter == letter : str_is_text(name, option->name);
}

/* Where the value of an option is kept, or NULL for one that does not exist; *out_option is its row. */
static const char **option_place(Args *args, Str name, char letter, const Option **out_option)
{
    for (size_t i = 0; args->command->options && args->command->options[i].name; i++) {
        *out_option = &args->command->options[i];
        if (is_option(*out_option, name, letter)) return &args->values[i];
    }
    for (size_t i = 0; common_options[i].name; i++) {
        *out_option = &common_options[i];
        if (is_option(*out_option, name, letter)) return &args->common[i];
    }
    return NULL;
}

const char *args_value(const Args *args, const char *option)
{
    for (size_t i = 0; args->command->options && args->command->options[i].name; i++)
        if (strcmp(args->command->options[i].name, option) == 0) return args->values[i];
    for (size_t i = 0; common_options[i].name; i++)
        if (strcmp(common_options[i].name, option) == 0) return args->common[i];
    return NULL;
}

/* --- refusals --------------------------------------------------------------------------------------------------- */

static bool usage_error(const Verb *command, const char *format, const char *what, const char *hint)
{
    char storage[1024];
    Buf usage = buf_on(storage, sizeof storage);
    command_usage(command, &usage);
    bool has_hint = hint && *hint;
    print_note("maestro: %s '%s'%s%s\nusage: %.*s\nTry 'maestro help %s'.\n", format, what, has_hint ? "; " : "",
               has_hint ? hint : "", STR_ARG(buf_peek(&usage)), command->name);
    return false;
}

static bool refuse_option(const Verb *command, const char *word, Str name)
{
    Suggestion suggestion = suggest_begin(name);
    for (const Option *option = command->options; option && option->name; option++)
        suggest_offer(&suggestion, str_of(option->name));
    for (const Option *option = common_options; option->name; option++)
        suggest_offer(&suggestion, str_of(option->name));
    char hint[128] = "";
    if (suggestion.best.len) snprintf(hint, sizeof hint, "did you mean '--%.*s'?", STR_ARG(suggestion.best));
    return usage_error(command, "there is no option", word, hint);
}

static bool is_word(const Option *option, const char *value)
{
    for (const char *const *word = option->words; word && *word; word++)
        if (strcmp(*word, value) == 0) return true;
    return option->words == NULL;
}

static bool refuse_word(const Verb *command, const Option *option, const char *value)
{
    char storage[256];
    Buf hint = buf_on(storage, sizeof storage);
    buf_format(&hint, "--%s takes ", option->name);
    for (const char *const *word = option->words; *word; word++)
        buf_format(&hint, "%s%s", word == option->words ? "" : word[1] ? ", " : " or ", *word);
    buf_char(&hint, '\0');
    return usage_error(command, "there is no value", value, hint.ptr);
}

bool args_number(const Args *args, const char *option, uint64_t otherwise, uint64_t min, uint64_t max, uint64_t *out_number)
{
    const char *value = args_value(args, option);
    char hint[128];
    *out_number = otherwise;
    if (!value) return true;
    if (str_to_u64(str_of(value), out_number) && *out_number >= min && *out_number <= max) return true;
    snprintf(hint, sizeof hint, "--%s takes a whole number from %" PRIu64 " to %" PRIu64, option, min, max);
    return usage_error(args->command, "there is no such number:", value, hint);
}

/* --- parsing ---------------------------------------------------------------------------------------------------- */

typedef struct Words {
    int count;
    char **items;
    int at;
} Words;

static bool set_option(Args *args, const Option *option, const char **place, const char *value, Words *words)
{
    if (!option->value) {
        if (value) return usage_error(args->command, "this option takes no value:", option->name, NULL);
        *place = "";
        return true;
    }
    if (!value && words->at + 1 < words->count) value = words->items[++words->at];
    if (!value) return usage_error(args->command, "a value is missing behind the option", option->name, NULL);
    if (!is_word(option, value)) return refuse_word(args->command, option, value);
    if (args->given_count == ARGS_GIVEN_COUNT_MAX)
        return usage_error(args->command, "there is one option too many:", option->name, NULL);
    args->given[args->given_count++] = (ArgsGiven){ option, value };
    *place = value;
    return true;
}

void args_add(Args *args, const char *name, const char *value)
{
    const Option *option;
    const char **place = option_place(args, str_of(name), 0, &option);
    CHECK(place);
    CHECK(args->given_count < ARGS_GIVEN_COUNT_MAX);
    if (option->value) args->given[args->given_count++] = (ArgsGiven){ option, value };
    *place = value;
}

static bool take_long(Args *args, Words *words)
{
    const char *word = words->items[words->at], *equals = strchr(word, '=');
    Str name = { word + 2, equals ? (size_t)(equals - word - 2) : strlen(word + 2) };
    const Option *option;
    const char **place = option_place(args, name, 0, &option);
    if (!place) return refuse_option(args->command, word, name);
    return set_option(args, option, place, equals ? equals + 1 : NULL, words);
}

/* -o FILE, -oFILE, and several flags in one word. */
static bool take_short(Args *args, Words *words)
{
    const char *word = words->items[words->at];
    for (const char *letter = word + 1; *letter; letter++) {
        const Option *option;
        const char **place = option_place(args, STR(""), *letter, &option);
        if (!place) return refuse_option(args->command, word, str_of(word + 1));
        if (option->value) return set_option(args, option, place, letter[1] ? letter + 1 : NULL, words);
        *place = "";
    }
    return true;
}

static bool take_operand(Args *args, const char *word)
{
    if (args->operand_count == ARGS_OPERAND_COUNT_MAX || args->operand_count == args->command->operand_count_max)
        return usage_error(args->command, "there is one operand too many:", word, NULL);
    args->operands[args->operand_count++] = word;
    return true;
}

bool args_parse(const Verb *command, int argc, char **argv, Args *out)
{
    Words words = { argc, argv, 0 };
    out->command = command;
    bool only_operands = false;
    for (; words.at < words.count; words.at++) {
        const char *word = words.items[words.at];
        bool is_fine;
        if (only_operands || word[0] != '-' || word[1] == '\0') is_fine = take_operand(out, word);
        else if (strcmp(word, "--") == 0) is_fine = only_operands = true;
        else is_fine = word[1] == '-' ? take_long(out, &words) : take_short(out, &words);
        if (!is_fine) return false;
    }
    if (!args_flag(out, "help") && out->operand_count < command->operand_count_min)
        return usage_error(command, "an operand is missing:", command->operands, NULL);
    return true;
}

/* --- printing --------------------------------------------------------------------------------------------------- */

bool args_color(const Args *args, int fd)
{
    const char *wish = args_value(args, "color");
    if (wish && strcmp(wish, "auto") != 0) return strcmp(wish, "always") == 0;
    const char *terminal = getenv("TERM");
    return isatty(fd) && !getenv("NO_COLOR") && terminal && strcmp(terminal, "dumb") != 0;
}
