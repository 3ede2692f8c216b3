#include <stdio.h>

#include "cli/anchor_file.h"
#include "cli/human.h"
#include "cli/ledger_read.h"
#include "cli/workplace.h"

static const Option options[] = {
    { "key", 0, "FILE", NULL, "The key that signs, made where there is none; by default STORE.key beside the store." },
    STORE_OPTION,
    { NULL },
};

static ExitCode run(const Args *args)
{
    Store *store;
    Error err;
    const char *path = args_value(args, "key"), *beside = store_path(args->arena, store_url(args));
    if (!path && beside) path = arena_format(args->arena, "%s.key", beside).ptr;
    ExitCode code = store_open_existing(args, &store);
    if (code) return code;
    LedgerHead head;
    AnchorKey key;
    bool is_new;
    Status status = ledger_head(store, &head, &err);
    store_close(store);
    if (!status && !head.position) status = error_set(&err, ERR_NOT_FOUND, "the ledger is empty: there is nothing to anchor yet");
    if (!status && !path) status = error_set(&err, ERR_INVALID, "--key FILE is needed: the store has no file");
    if (!status) status = anchor_key_open(args->arena, path, &key, &is_new, &err);
    if (status) return fail(&err);
    if (is_new) fprintf(stderr, "maestro: made the key %s; whoever verifies needs %s.pub\n", path, path);
    char storage[ANCHOR_TEXT_SIZE_MAX + 1];
    Buf out = buf_on(storage, sizeof storage);
    Anchor anchor = anchor_make(&head, human_now_ms(), &key);
    anchor_print(&out, &anchor);
    if (!out.len || out.ptr[out.len - 1] != '\n') buf_char(&out, '\n');
    print_out(&out);
    return EXIT_CODE_OK;
}

const Verb command_ledger_anchor = {
    .name = "ledger anchor", .operands = "",
    .summary = "Prints where the ledger ends, signed.",
    .doc = "One line of JSON: position, hash and time with an Ed25519 signature. Kept where whoever writes the store cannot write, it\n"
           "proves later that nothing up to there was rewritten: 'maestro ledger verify --anchor FILE'. Several may lie in one file,\n"
           "a line each. The key is made with the first anchor and is its user's alone; FILE.pub beside it is for those who verify.",
    .examples = "maestro ledger anchor >> /mnt/elsewhere/anchors.jsonl",
    .options = options, .run = run,
};
