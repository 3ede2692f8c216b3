#include <string.h>

#include "cli/command.h"

static const char *const shells[] = { "bash", "zsh", "fish", NULL };

static void words_of(Buf *out, const Verb *command)
{
    for (const Option *option = command->options; option && option->name; option++)
        buf_format(out, "--%s ", option->name);
    for (const Option *option = common_options; option->name; option++) buf_format(out, "--%s ", option->name);
}

/* Options with a fixed list of values, for every command that has one. */
static void bash_values(Buf *out)
{
    const Verb *command;
    for (size_t i = 0; (command = command_at(i)); i++)
        for (const Option *option = command->options; option && option->name; option++) {
            if (!option->words) continue;
            buf_format(out, "        '%s:--%s') COMPREPLY=($(compgen -W '", command->name, option->name);
            for (const char *const *word = option->words; *word; word++) buf_format(out, "%s ", *word);
            buf_text(out, "' -- \"$current\")); return ;;\n");
        }
    buf_text(out, "        *:--color) COMPREPLY=($(compgen -W 'auto always never' -- \"$current\")); return ;;\n");
}

/* Behind a command that has commands comes one of them; both words together are the name that options belong to. */
static void bash_inner(Buf *out)
{
    for (const Verb *const *command = commands; *command; command++) {
        if (!(*command)->commands) continue;
        buf_format(out, "    if [ \"$verb\" = %s ]; then\n        if [ \"$COMP_CWORD\" -eq 2 ]; then COMPREPLY=($(compgen -W '",
                   (*command)->name);
        for (const Verb *const *inner = (*command)->commands; *inner; inner++) buf_format(out, "%s ", command_word(*inner));
        buf_text(out, "' -- \"$current\")); return; fi\n        verb=\"$verb ${COMP_WORDS[2]}\"\n    fi\n");
    }
}

static void bash(Buf *out)
{
    buf_text(
        out,
        "# bash completion for maestro: source this file, or put it where bash-completion looks.\n"
        "_maestro() {\n"
        "    local current=\"${COMP_WORDS[COMP_CWORD]}\" previous=\"${COMP_WORDS[COMP_CWORD-1]}\" verb=\"${COMP_WORDS[1]}\"\n"
        "    if [ \"$COMP_CWORD\" -eq 1 ]; then\n        COMPREPLY=($(compgen -W '");
    for (const Verb *const *command = commands; *command; command++) buf_format(out, "%s ", (*command)->name);
    buf_text(out, "' -- \"$current\")); return\n    fi\n");
    bash_inner(out);
    buf_text(out, "    case \"$verb:$previous\" in\n");
    bash_values(out);
    buf_text(out, "    esac\n    case \"$current\" in -*)\n        case \"$verb\" in\n");
    const Verb *command;
    for (size_t i = 0; (command = command_at(i)); i++) {
        buf_format(out, "        '%s') COMPREPLY=($(compgen -W '", command->name);
        words_of(out, command);
        buf_text(out, "' -- \"$current\")) ;;\n");
    }
    buf_text(
        out,
        "        esac; return ;;\n    esac\n    COMPREPLY=($(compgen -f -- \"$current\"))\n}\ncomplete -o filenames -F _maestro "
        "maestro\n");
}

static void zsh_inner(Buf *out, const Verb *command)
{
    if (!command->commands) return;
    buf_format(out, "    if [[ \"$verb\" == %s ]]; then\n        verbs=(\n", command->name);
    for (const Verb *const *inner = command->commands; *inner; inner++)
        buf_format(out, "            '%s:%s'\n", command_word(*inner), (*inner)->summary);
    buf_text(out, "        )\n        if (( CURRENT == 3 )); then _describe command verbs; return; fi\n        verb=\"$verb "
                  "$words[3]\"\n    fi\n");
}

static void zsh(Buf *out)
{
    buf_text(out,
             "#compdef maestro\n# zsh completion for maestro: put this file as _maestro into a directory of $fpath.\n"
             "_maestro() {\n    local -a verbs\n    verbs=(\n");
    for (const Verb *const *command = commands; *command; command++)
        buf_format(out, "        '%s:%s'\n", (*command)->name, (*command)->summary);
    buf_text(out,
             "    )\n    if (( CURRENT == 2 )); then _describe command verbs; return; fi\n    local verb=\"$words[2]\"\n");
    for (const Verb *const *command = commands; *command; command++) zsh_inner(out, *command);
    buf_text(out, "    case \"$verb\" in\n");
    const Verb *command;
    for (size_t i = 0; (command = command_at(i)); i++) {
        buf_format(out, "    '%s') [[ \"$PREFIX\" == -* ]] && compadd -- ", command->name);
        words_of(out, command);
        buf_text(out, "|| _files ;;\n");
    }
    buf_text(out, "    esac\n}\n_maestro \"$@\"\n");
}

/* Every word of the command's name was typed. */
static void fish_condition(Buf *out, const Verb *command)
{
    buf_text(out, " -n '");
    for (const char *word = command->name; *word;) {
        size_t size = strcspn(word, " ");
        buf_format(out, "%s__fish_seen_subcommand_from %.*s", word == command->name ? "" : "; and ", (int)size, word);
        word += size + (word[size] == ' ');
    }
    buf_char(out, '\'');
}

static void fish_option(Buf *out, const Verb *command, const Option *option)
{
    buf_text(out, "complete -c maestro");
    if (command) fish_condition(out, command);
    buf_format(out, " -l %s", option->name);
    if (option->letter) buf_format(out, " -s %c", option->letter);
    if (option->words) {
        buf_text(out, " -x -a '");
        for (const char *const *word = option->words; *word; word++) buf_format(out, "%s ", *word);
        buf_char(out, '\'');
    } else if (option->value) {
        buf_text(out, " -r");
    }
    buf_format(out, " -d \"%s\"\n", option->doc);
}

static void fish(Buf *out)
{
    buf_text(out, "# fish completion for maestro: put this file into ~/.config/fish/completions.\n");
    for (const Verb *const *command = commands; *command; command++)
        buf_format(out, "complete -c maestro -n __fish_use_subcommand -f -a %s -d \"%s\"\n", (*command)->name,
                   (*command)->summary);
    for (const Verb *const *command = commands; *command; command++)
        for (const Verb *const *inner = (*command)->commands; inner && *inner; inner++) {
            buf_text(out, "complete -c maestro");
            fish_condition(out, *command);
            buf_format(out, " -f -a %s -d \"%s\"\n", command_word(*inner), (*inner)->summary);
        }
    const Verb *command;
    for (size_t i = 0; (command = command_at(i)); i++)
        for (const Option *option = command->options; option && option->name; option++) fish_option(out, command, option);
    for (const Option *option = common_options; option->name; option++) fish_option(out, NULL, option);
}

static ExitCode run(const Args *args)
{
    static void (*const writers[])(Buf *) = { bash, zsh, fish };
    for (unsigned i = 0; shells[i]; i++) {
        if (strcmp(shells[i], args->operands[0]) != 0) continue;
        Buf out;
        buf_init(&out, 1u << 20);
        writers[i](&out);
        print_out(&out);
        buf_deinit(&out);
        return EXIT_CODE_OK;
    }
    print_note("maestro: there is no completion for '%s'; there is for bash, zsh and fish\n", args->operands[0]);
    return EXIT_CODE_USAGE;
}

const Verb command_completion = {
    .name = "completion",
    .operands = "bash|zsh|fish",
    .operand_count_min = 1,
    .operand_count_max = 1,
    .summary = "Prints what a shell needs to complete commands.",
    .doc = "The output goes where the shell looks for completions, or is read at its start.",
    .examples =
        "  source <(maestro completion bash)\n  maestro completion fish > ~/.config/fish/completions/maestro.fish",
    .run = run,
};
