/* review_read.h - policies with the reviews of their versions, of a store or of a server, and a review recorded with either.
 *
 * Of a server the policies are those that it has. Beside a store they are those that --runners registers, and reviews are the store's.
 *
 * Owns:   documents live in the arena of the arguments.
 * Fails:  with the exit code, after printing the reason.     Thread: the main one; no other may exist before.
 */
#ifndef CLI_REVIEW_READ_H
#define CLI_REVIEW_READ_H

#include "cli/command.h"
#include "lang/catalog.h"
#include "lang/production.h"

typedef struct ReviewWish {
    Str tenant, policy, digest, reviewer, verdict, comment;
} ReviewWish;      /* tenant: empty: for every one that it can be */

/* What counts for a tenant: as GET /api/policies has it. */
ExitCode review_list(const Args *args, const Catalog *catalog, Str tenant, Value *out_policies);
ExitCode review_record(const Args *args, const ReviewWish *wish);
/* The same for the readiness checklist: `policies` of review_list(), which live as long as the facts. */
ProductionFacts review_facts(const Args *args, const Value *policies);

#endif
