/* guardrails.h - the policies that a command's runs are subject to: those of --policy and those that definitions name.
 *
 * Owns:   the guard is the caller's, until guard_close(); it borrows the catalog.
 * Fails:  with the exit code, after printing the reason.     Thread: the main one.
 */
#ifndef CLI_GUARDRAILS_H
#define CLI_GUARDRAILS_H

#include "cli/command.h"
#include "policy/guard.h"

#define POLICY_OPTION { "policy", 0, "PATH", NULL, \
                        "A policy that is asked at every hook of every run; not with --server, which has its own; see docs/policy.md.", \
                        .repeats = true }

/* --policy of a command whose runs are a server's: that has its own, and would not ask this one. EXIT_CODE_OK where none was given, or no
 * server is meant. */
ExitCode guardrails_refuse_client(const Args *args);
/* Where a plan is given, every policy that it names has to be usable. */
ExitCode guardrails_open(const Args *args, const Catalog *catalog, const Plan *plan, Guard **out_guard);

#endif
